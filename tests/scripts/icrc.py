"""Recomputes the ICRC of every RoCEv2 packet of a capture with scapy's RoCE layer.

Usage: icrc.py CAPTURE

Prints how many packets of each BTH opcode were right, as JSON. Exits with 1, naming the first packets,
if an ICRC is wrong.
"""

import collections
import json
import struct
import sys

from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader

ROCE_PORT = 4791
MAC_CONTROL = 0x8808
# Ethernet and IPv4 without options.
IPV4_HEADERS = 14 + 20


def main(path):
    right = collections.Counter()
    wrong = []
    for number, (frame, _) in enumerate(RawPcapNgReader(path), start=1):
        packet = Ether(frame)
        if packet.type == MAC_CONTROL:
            continue
        if UDP not in packet or packet[UDP].dport != ROCE_PORT or BTH not in packet:
            wrong.append(f"packet {number} is not RoCEv2: {packet.summary()}")
            continue
        # Telemetry lies behind the datagram; scapy would take it for payload.
        bth = Ether(frame[: IPV4_HEADERS + packet[UDP].len])[BTH]
        found, computed = struct.pack("!I", bth.icrc), bth.compute_icrc(b"")
        if found == computed:
            right[bth.opcode] += 1
        else:
            wrong.append(f"packet {number}: ICRC {found.hex()}, computed {computed.hex()}")
    print(json.dumps(right))
    for line in wrong[:10]:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
