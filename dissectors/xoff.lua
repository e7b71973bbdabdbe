-- Wireshark dissector for the frames of xoff's own: local experimental EtherType 0x88b5.
-- docs/link-delay.md specifies them. Try it: tshark -X lua_script:dissectors/xoff.lua -r capture.pcapng

local ETHER_TYPE = 0x88b5
local LINK_DELAY = 1
local REQUEST, RESPONSE = 1, 2
local FIELDS_END = 36 -- without padding

local protocols = { [LINK_DELAY] = "link delay" }
local kinds = { [REQUEST] = "request", [RESPONSE] = "response" }

local xoff = Proto("xoff", "xoff")
local fields = {
  protocol = ProtoField.uint16("xoff.protocol", "Protocol", base.DEC, protocols),
  kind = ProtoField.uint16("xoff.link_delay.kind", "Kind", base.DEC, kinds),
  sequence = ProtoField.uint32("xoff.link_delay.sequence", "Sequence"),
  t1 = ProtoField.uint64("xoff.link_delay.t1", "Request sent (t1, ns)"),
  t2 = ProtoField.uint64("xoff.link_delay.t2", "Request received (t2, ns)"),
  t3 = ProtoField.uint64("xoff.link_delay.t3", "Response sent (t3, ns)"),
  response_time = ProtoField.uint32("xoff.link_delay.response_time", "PFC response time (ns)"),
}
xoff.fields = fields

local malformed = ProtoExpert.new(
  "xoff.malformed", "Not a frame of xoff", expert.group.MALFORMED, expert.severity.ERROR)
xoff.experts = { malformed }

function xoff.dissector(buffer, packet, root)
  packet.cols.protocol = "xoff"
  local tree = root:add(xoff, buffer())
  if buffer:len() < FIELDS_END then
    tree:add_proto_expert_info(malformed, "Shorter than a link delay frame")
    return
  end
  tree:add(fields.protocol, buffer(0, 2))
  local kind = kinds[buffer(2, 2):uint()]
  if buffer(0, 2):uint() ~= LINK_DELAY or not kind then
    tree:add_proto_expert_info(malformed, "Unknown protocol or kind")
    return
  end
  tree:add(fields.kind, buffer(2, 2))
  tree:add(fields.sequence, buffer(4, 4))
  tree:add(fields.t1, buffer(8, 8))
  if kind == kinds[RESPONSE] then
    tree:add(fields.t2, buffer(16, 8))
    tree:add(fields.t3, buffer(24, 8))
    tree:add(fields.response_time, buffer(32, 4))
  end
  packet.cols.info = string.format("link delay %s %d", kind, buffer(4, 4):uint())
end

DissectorTable.get("ethertype"):add(ETHER_TYPE, xoff)
