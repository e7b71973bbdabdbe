#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
cd "$(dirname "$0")" || exit 1
exec ./xoff selftest --format tap13 "$@"
