-- Wireshark dissector for what is xoff's own: frames of the local experimental EtherType 0x88b5
-- (docs/link-delay.md, docs/hop-control.md) and selective NAKs in RoCEv2 (docs/selective-repeat.md).
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
