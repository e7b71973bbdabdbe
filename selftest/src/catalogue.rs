//! Catalogue of the tests.
//!
//! A new test is a function in a module beside this one and a line of `CATALOGUE`; a test that is a scenario is a file
//! in `scenarios/` and a function in `fabric.rs`. It also needs the table in docs/kernel-ci.md and a fault that it must
//! find in `tests/tests/kernel/selftest_faults.rs`.

use super::bench::{Bench, Ended};
use super::{evidence, fabric, hooks, live_program, redirect, ring, turmoil, xsk};

/// A test.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Name of the test: subject and aspect.
    pub name: &'static str,
    /// Purpose of the test, in one line.
    pub about: &'static str,
    /// Runs the test.
    pub run: fn(&mut Bench<'_>) -> Result<(), Ended>,
}

/// All tests, in the order in which they run.
pub const CATALOGUE: &[Test] = &[
    Test {
        name: "xdp.native",
        about: "native XDP on veth: attached in the driver; bytes, order, no loss",
        run: hooks::native_xdp,
    },
    Test {
        name: "xdp.generic",
        about: "generic XDP on veth: attached in the stack; bytes, order, no loss",
        run: hooks::generic_xdp,
    },
    Test {
        name: "tc.ingress",
        about: "TC ingress by clsact: bytes, order, no loss",
        run: hooks::clsact,
    },
    Test {
        name: "tc.tcx",
        about: "TC ingress by a TCX link: bytes, order, no loss",
        run: hooks::tcx,
    },
    Test {
        name: "tc.egress",
        about: "TC egress by clsact: the program sees each frame and byte that leaves",
        run: hooks::egress,
    },
    Test {
        name: "xsk.copy",
        about: "AF_XDP in copy mode, both ways: bytes, order, no loss",
        run: xsk::copy_mode,
    },
    Test {
        name: "xsk.need-wakeup",
        about: "AF_XDP with need-wakeup: the kernel asks for a kick and waits for it",
        run: xsk::need_wakeup,
    },
    Test {
        name: "xsk.multi-buffer",
        about: "AF_XDP with packets in several frames, through native XDP with frags",
        run: xsk::multi_buffer,
    },
    Test {
        name: "ring.load",
        about: "the BPF ring buffer, filled to the brim and as a stream: each record once, in order",
        run: ring::load,
    },
    Test {
        name: "map.mmapable",
        about: "mapped arrays under load: stores are read, counters never go back",
        run: ring::mapped_arrays,
    },
    Test {
        name: "map.devices",
        about: "native XDP redirects to a device map: bytes, order, no loss",
        run: redirect::device_map,
    },
    Test {
        name: "map.processors",
        about: "native XDP redirects to a processor map: bytes, order, no loss",
        run: redirect::processor_map,
    },
    Test {
        name: "prog.test-run",
        about: "BPF_PROG_TEST_RUN of an attached program does what frames on the wire do",
        run: live_program::test_run,
    },
    Test {
        name: "mac-control",
        about: "MAC control frames to 01:80:C2:00:00:01 cross veth both ways, and are not forwarded",
        run: live_program::mac_control,
    },
    Test {
        name: "netns.teardown",
        about: "namespaces go under traffic, with interfaces and programs",
        run: turmoil::teardown,
    },
    Test {
        name: "link.flap",
        about: "a link goes down and up under traffic; afterwards all is as before",
        run: turmoil::flap,
    },
    Test {
        name: "xdp.attach-detach",
        about: "a program is detached and attached under traffic; afterwards all is as before",
        run: turmoil::attach_and_detach,
    },
    Test {
        name: "fabric.native",
        about: "an incast on a leaf-spine at native XDP, with the tables of the memory datapath",
        run: fabric::native,
    },
    Test { name: "fabric.generic", about: "the same at generic XDP", run: fabric::generic },
    Test { name: "fabric.tc", about: "the same at TC ingress", run: fabric::tc },
    Test { name: "fabric.tap", about: "the same over tap devices", run: fabric::tap },
    Test {
        name: "qos.shaped-egress",
        about: "bytes in equal bytes out through a shaped port, by PFC",
        run: fabric::shaped_egress,
    },
    Test {
        name: "qos.pause-counters",
        about: "PAUSE frames are counted for each priority, the same at both ends",
        run: fabric::pause_counters,
    },
    Test {
        name: "qos.lossless-and-lossy",
        about: "the lossy priority loses, the lossless one beside it does not",
        run: fabric::lossless_and_lossy,
    },
    Test {
        name: "qos.headroom",
        about: "each lossless priority uses its headroom, and no more",
        run: fabric::headroom,
    },
    Test {
        name: "kernel.log",
        about: "the kernel's log has no warning and no bug while the tests before this one ran",
        run: evidence::kernel_log,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_is_documented() {
        let text = include_str!("../../docs/kernel-ci.md");
        let missing = CATALOGUE.iter().find(|test| !text.contains(&format!("`{}`", test.name)));
        assert!(missing.is_none(), "docs/kernel-ci.md lacks {missing:?}");
    }

    #[test]
    fn names_are_unique_and_fit_a_glob_and_a_result_line() {
        let names: BTreeSet<_> = CATALOGUE.iter().map(|test| test.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        assert!(names.iter().all(|name| name.chars().all(fits)), "{names:?}");
        assert!(CATALOGUE.iter().all(|test| !test.about.contains(['\n', '#'])));
    }
}
