-- Wireshark dissectors for what is xoff's own: frames of the local experimental EtherType 0x88b5 (docs/link-delay.md,
-- docs/hop-control.md), selective NAKs in RoCEv2 (docs/selective-repeat.md), what packets say of their flow
-- (docs/flow-hints.md), and the telemetry behind RoCEv2 datagrams and in TCP options (docs/telemetry.md).
-- Try it: tshark -X lua_script:dissectors/xoff.lua -r capture.pcapng

local ETHER_TYPE = 0x88b5
local LINK_DELAY, HOP_CONTROL = 1, 2
local REQUEST, RESPONSE = 1, 2
local QUEUE, QUEUES, FLOWS, RATE = 1, 2, 3, 4
local SELECTOR_END = 4 -- protocol and kind
local LINK_DELAY_END = 36 -- without padding
local HOP_CONTROL_END = 24 -- likewise
local MOST_QUEUES, MOST_PRIORITIES, MOST_FLOWS = 128, 8, 4

local protocols = { [LINK_DELAY] = "link delay", [HOP_CONTROL] = "hop control" }
local link_delay_kinds = { [REQUEST] = "request", [RESPONSE] = "response" }
local hop_control_kinds =
  { [QUEUE] = "a queue", [QUEUES] = "all queues", [FLOWS] = "flows", [RATE] = "a rate" }
local states = { [0] = "resumes", [1] = "pauses" }

local xoff = Proto("xoff", "xoff")
local protocol = ProtoField.uint16("xoff.protocol", "Protocol", base.DEC, protocols)

local link_delay = {
  kind = ProtoField.uint16("xoff.link_delay.kind", "Kind", base.DEC, link_delay_kinds),
  sequence = ProtoField.uint32("xoff.link_delay.sequence", "Sequence"),
  t1 = ProtoField.uint64("xoff.link_delay.t1", "Request sent (t1, ns)"),
  t2 = ProtoField.uint64("xoff.link_delay.t2", "Request received (t2, ns)"),
  t3 = ProtoField.uint64("xoff.link_delay.t3", "Response sent (t3, ns)"),
  response_time = ProtoField.uint32("xoff.link_delay.response_time", "PFC response time (ns)"),
}
local hop_control = {
  message = ProtoField.none("xoff.hop_control", "Hop control"),
  kind = ProtoField.uint16("xoff.hop_control.kind", "Kind", base.DEC, hop_control_kinds),
  queue = ProtoField.uint8("xoff.hop_control.queue", "Queue"),
  priority = ProtoField.uint8("xoff.hop_control.priority", "Priority"),
  state = ProtoField.uint8("xoff.hop_control.state", "State", base.DEC, states),
  count = ProtoField.uint8("xoff.hop_control.count", "Flows"),
  paused = ProtoField.bytes("xoff.hop_control.paused", "Paused queues (queue 0 is the lowest bit)"),
  flow = ProtoField.uint32("xoff.hop_control.flow", "Flow", base.HEX),
  rate = ProtoField.uint32("xoff.hop_control.rate", "Rate (kbit/s)"),
}

local fields = { protocol }
for _, group in ipairs({ link_delay, hop_control }) do
  for _, field in pairs(group) do
    fields[#fields + 1] = field
  end
end
xoff.fields = fields

local malformed = ProtoExpert.new(
  "xoff.malformed", "Not a frame of xoff", expert.group.MALFORMED, expert.severity.ERROR)
xoff.experts = { malformed }

-- Each returns what the frame says in a line, or nil and what is wrong with it.

local function dissect_link_delay(buffer, tree)
  local kind = link_delay_kinds[buffer(2, 2):uint()]
  if not kind then
    return nil, "Unknown kind of link delay frame"
  end
  if buffer:len() < LINK_DELAY_END then
    return nil, "Shorter than a link delay frame"
  end
  tree:add(link_delay.kind, buffer(2, 2))
  tree:add(link_delay.sequence, buffer(4, 4))
  tree:add(link_delay.t1, buffer(8, 8))
  if kind == link_delay_kinds[RESPONSE] then
    tree:add(link_delay.t2, buffer(16, 8))
    tree:add(link_delay.t3, buffer(24, 8))
    tree:add(link_delay.response_time, buffer(32, 4))
  end
  return string.format("link delay %s %d", kind, buffer(4, 4):uint())
end

-- The numbers of the queues whose bit is set.
local function paused_queues(data)
  local queues = {}
  for queue = 0, MOST_QUEUES - 1 do
    local byte = data(15 - math.floor(queue / 8), 1)
    if byte:bitfield(7 - queue % 8, 1) == 1 then
      queues[#queues + 1] = queue
    end
  end
  return #queues > 0 and table.concat(queues, " ") or "none"
end

local function dissect_hop_control(buffer, tree)
  local kind = buffer(2, 2):uint()
  if not hop_control_kinds[kind] then
    return nil, "Unknown kind of hop control frame"
  end
  if buffer:len() < HOP_CONTROL_END then
    return nil, "Shorter than a hop control frame"
  end
  tree:add(hop_control.message, buffer(2, HOP_CONTROL_END - 2))
  tree:add(hop_control.kind, buffer(2, 2))
  local subject, state, count = buffer(4, 1):uint(), buffer(5, 1):uint(), buffer(6, 1):uint()
  local data = buffer(8, 16)
  local verb = states[state]
  if kind == QUEUES then
    local queues = paused_queues(data)
    tree:add(hop_control.paused, data):append_text(": " .. queues)
    return "hop control paused queues " .. queues
  end
  tree:add(kind == QUEUE and hop_control.queue or hop_control.priority, buffer(4, 1))
  if subject >= (kind == QUEUE and MOST_QUEUES or MOST_PRIORITIES) then
    return nil, "A queue or priority that does not exist"
  end
  if kind == RATE then
    tree:add(hop_control.rate, data(0, 4))
    return string.format("hop control priority %d at %d kbit/s", subject, data(0, 4):uint())
  end
  tree:add(hop_control.state, buffer(5, 1))
  if not verb then
    return nil, "Neither pauses nor resumes"
  end
  if kind == QUEUE then
    return string.format("hop control %s queue %d", verb, subject)
  end
  tree:add(hop_control.count, buffer(6, 1))
  if count > MOST_FLOWS then
    return nil, "More flows than a frame has room for"
  end
  local flows = ""
  for flow = 0, count - 1 do
    tree:add(hop_control.flow, data(4 * flow, 4))
    flows = flows .. string.format(" %08x", data(4 * flow, 4):uint())
  end
  return string.format("hop control %s of priority %d flows%s", verb, subject, flows)
end

local dissectors = { [LINK_DELAY] = dissect_link_delay, [HOP_CONTROL] = dissect_hop_control }

function xoff.dissector(buffer, packet, root)
  packet.cols.protocol = "xoff"
  local tree = root:add(xoff, buffer())
  if buffer:len() < SELECTOR_END then
    tree:add_proto_expert_info(malformed, "Shorter than any frame of xoff")
    return
  end
  tree:add(protocol, buffer(0, 2))
  local dissect = dissectors[buffer(0, 2):uint()]
  if not dissect then
    tree:add_proto_expert_info(malformed, "Unknown protocol")
    return
  end
  local line, wrong = dissect(buffer, tree)
  if line then
    packet.cols.info = line
  else
    tree:add_proto_expert_info(malformed, wrong)
  end
end

DissectorTable.get("ethertype"):add(ETHER_TYPE, xoff)

-- Selective NAKs. Wireshark's own dissector has read the packet; this one says what the NAK code means.

local SELECTIVE_NAK = 0x7f

local selective_nak = Proto("xoff_selective_nak", "xoff selective NAK")
local selective_nak_fields = {
  expected = ProtoField.uint24("xoff_selective_nak.expected", "Expected PSN"),
  arrived = ProtoField.uint24("xoff_selective_nak.arrived", "Arrived PSN"),
}
selective_nak.fields = selective_nak_fields

local syndrome = Field.new("infiniband.aeth.syndrome")
local message_sequence_number = Field.new("infiniband.aeth.msn")
local packet_sequence_number = Field.new("infiniband.bth.psn")

function selective_nak.dissector(_, packet, root)
  local kind = syndrome()
  if not kind or kind.value ~= SELECTIVE_NAK then
    return
  end
  local expected, arrived = packet_sequence_number(), message_sequence_number()
  local tree = root:add(selective_nak)
  tree:add(selective_nak_fields.expected, expected.range)
  tree:add(selective_nak_fields.arrived, arrived.range)
  packet.cols.info:append(
    string.format(" selective NAK expects %d, has %d", expected.value, arrived.value))
end

register_postdissector(selective_nak)

-- What a packet says of its flow, in its IPv4 header. A code is a float: five bits of exponent, eleven of significand.

local REMAINING_KEPT = 11
local INCAST_LABEL, FIRST_RTT = 1, 2

local xoff_flow = Proto("xoff_flow", "xoff flow")
local flow_fields = {
  remaining = ProtoField.uint64("xoff_flow.remaining", "Left to send (B)"),
  incast = ProtoField.bool("xoff_flow.incast", "Of an incast"),
  first_rtt = ProtoField.bool("xoff_flow.first_rtt", "Of the first round trip"),
}
xoff_flow.fields = flow_fields

local identification, dscp = Field.new("ip.id"), Field.new("ip.dsfield.dscp")
local whole, roce_port = Field.new("ip.flags.df"), Field.new("udp.dstport")
local client_port, server_port = Field.new("tcp.srcport"), Field.new("tcp.dstport")

-- The ports of an emulated TCP connection, in either order.
local function of_connection(one, other)
  local low, high = math.min(one, other), math.max(one, other)
  return low >= 49152 and low <= 57343 and high >= 61440 and high <= 63487
end

local function of_emulated_host()
  local roce, client, server = roce_port(), client_port(), server_port()
  return roce and roce.value == 4791 or client and server and of_connection(client.value, server.value)
end

function xoff_flow.dissector(_, _, root)
  local code, class, unbroken = identification(), dscp(), whole()
  -- What other programs send has identifications and code points of its own.
  if not code or not class or not of_emulated_host() or not unbroken.value then
    return
  end
  local incast = bit.band(class.value, INCAST_LABEL) ~= 0
  local first_rtt = bit.band(class.value, FIRST_RTT) ~= 0
  if code.value == 0 and not incast and not first_rtt then
    return
  end
  local shift = bit.rshift(code.value, REMAINING_KEPT) - 1
  local bytes = UInt64(code.value)
  if shift > 0 then
    bytes = UInt64(code.value - bit.lshift(shift, REMAINING_KEPT)):lshift(shift)
  end
  local tree = root:add(xoff_flow)
  if code.value ~= 0 then
    tree:add(flow_fields.remaining, code.range, bytes)
  end
  tree:add(flow_fields.incast, class.range, incast)
  tree:add(flow_fields.first_rtt, class.range, first_rtt)
end

register_postdissector(xoff_flow)

-- Telemetry: a UDP option (RFC 9868) between the end of the UDP datagram and the end of the IP packet, behind the
-- checksum of options, or a TCP option behind the time stamps.

local ROCE_PORT = 4791
local UDP = { kind = 127, most_hops = 8 }
local TCP = { kind = 253, most_hops = 3 }
local EXID = 0x584f
local OPTION_CHECKSUM, OPTION_HEADER, STAMP = 2, 6, 8
local TCP_HEADER, TCP_TIME_STAMPS = 20, 10
local ECHO, EXCEEDED = 1, 2
local RATE_UNIT, TRANSMITTED_UNIT, QUEUE_UNIT = 3906250, 128, 16

local xoff_telemetry = Proto("xoff_telemetry", "xoff telemetry")
local option = {
  room = ProtoField.uint8("xoff_telemetry.room", "Room for stamps"),
  hops = ProtoField.uint8("xoff_telemetry.hops", "Stamps"),
  echo = ProtoField.bool("xoff_telemetry.echo", "Echo", 8, nil, ECHO),
  exceeded = ProtoField.bool("xoff_telemetry.exceeded", "Path longer than the room", 8, nil, EXCEEDED),
  stamp = ProtoField.none("xoff_telemetry.stamp", "Stamp"),
  rate = ProtoField.uint64("xoff_telemetry.rate", "Rate (bit/s)"),
  time = ProtoField.uint32("xoff_telemetry.time", "Time (ns, modulo 2^24)"),
  transmitted = ProtoField.uint32("xoff_telemetry.transmitted", "Transmitted (B, modulo 2^27)"),
  queue = ProtoField.uint32("xoff_telemetry.queue", "Queue (B)"),
}
local option_fields = {}
for _, field in pairs(option) do
  option_fields[#option_fields + 1] = field
end
xoff_telemetry.fields = option_fields

local malformed_telemetry = ProtoExpert.new(
  "xoff_telemetry.malformed", "Not telemetry", expert.group.MALFORMED, expert.severity.ERROR)
xoff_telemetry.experts = { malformed_telemetry }

local ip_length, udp_length, udp_port =
  Field.new("ip.len"), Field.new("udp.length"), Field.new("udp.dstport")
local tcp_header_length = Field.new("tcp.hdr_len")

-- The numbers in these two are floats: the exponent, and as many bits of the significand behind the first.

local function rate_of(code)
  return (16 + code % 16) * 2 ^ math.floor(code / 16) * RATE_UNIT
end

local function queue_of(code)
  local exponent, fraction = math.floor(code / 256), code % 256
  return (exponent == 0 and fraction or (256 + fraction) * 2 ^ (exponent - 1)) * QUEUE_UNIT
end

local function dissect_stamp(buffer, tree, number)
  local rate, time = rate_of(buffer(0, 1):uint()), buffer(1, 3):uint()
  local transmitted = buffer(4, 4):bitfield(0, 20) * TRANSMITTED_UNIT
  local queue = queue_of(buffer(4, 4):bitfield(20, 12))
  local stamp = tree:add(option.stamp, buffer())
  stamp:append_text(string.format(" %d: %.4g Gbit/s, %d ns, %d B transmitted, %d B queued",
    number, rate / 1e9, time, transmitted, queue))
  stamp:add(option.rate, buffer(0, 1), UInt64(rate % 2 ^ 32, math.floor(rate / 2 ^ 32)))
  stamp:add(option.time, buffer(1, 3))
  stamp:add(option.transmitted, buffer(4, 3), transmitted)
  stamp:add(option.queue, buffer(6, 2), queue)
end

local function dissect_option(carrier, buffer, tree)
  local length = buffer:len()
  if length < OPTION_HEADER then
    return "Shorter than telemetry"
  end
  if buffer(0, 1):uint() ~= carrier.kind or buffer(2, 2):uint() ~= EXID then
    return "Another option"
  end
  local room = (length - OPTION_HEADER) / STAMP
  local told = buffer(1, 1):uint()
  if told ~= length or room ~= math.floor(room) or room < 1 or room > carrier.most_hops then
    return "Room for part of a stamp, for none, or for more than there can be"
  end
  tree:add(option.room, buffer(1, 1), room)
  tree:add(option.echo, buffer(4, 1))
  tree:add(option.exceeded, buffer(4, 1))
  tree:add(option.hops, buffer(5, 1))
  local hops = buffer(5, 1):uint()
  if hops > room then
    return "More stamps than room"
  end
  for hop = 1, hops do
    dissect_stamp(buffer(OPTION_HEADER + STAMP * (hop - 1), STAMP):tvb(), tree, hop)
  end
end

local function dissect_surplus(buffer, tree)
  if buffer:len() < OPTION_CHECKSUM then
    return "Shorter than telemetry"
  end
  if buffer(0, OPTION_CHECKSUM):uint() ~= 0 then
    return "A checksum of options without one of the datagram"
  end
  return dissect_option(UDP, buffer(OPTION_CHECKSUM):tvb(), tree)
end

local function dissect_segment(buffer, tree)
  return dissect_option(TCP, buffer, tree)
end

-- Where a frame's telemetry lies, and who reads it; nothing of a frame without.
local function find_telemetry(buffer)
  local length, datagram, port = ip_length(), udp_length(), udp_port()
  if length and datagram and port and port.value == ROCE_PORT then
    return datagram.offset - 4 + datagram.value, length.offset - 2 + length.value, dissect_surplus
  end
  local header = tcp_header_length()
  if header then
    local segment = header.offset - 12
    local first = segment + TCP_HEADER + TCP_TIME_STAMPS
    local last = segment + header.value
    -- The carrier's kind, with its identifier: nothing else that hosts send has both there.
    if last - first >= OPTION_HEADER and last <= buffer:len()
      and buffer(first, 1):uint() == TCP.kind and buffer(first + 2, 2):uint() == EXID then
      return first, last, dissect_segment
    end
  end
end

function xoff_telemetry.dissector(buffer, packet, root)
  local first, last, dissect = find_telemetry(buffer)
  if not first or first >= last or last > buffer:len() then
    return
  end
  local bytes = buffer(first, last - first)
  local tree = root:add(xoff_telemetry, bytes)
  local wrong = dissect(bytes:tvb(), tree)
  if wrong then
    tree:add_proto_expert_info(malformed_telemetry, wrong)
  end
end

register_postdissector(xoff_telemetry)
