// SPDX-License-Identifier: Apache-2.0
#include "collectors/journal/protocol.h"

#include <cstring>

namespace jetmem::journal {
namespace {

bool is_known(const PacketHeader& header) {
  return header.magic == kMagic && header.kind >= PacketKind::kLine &&
         header.kind <= PacketKind::kBlind && static_cast<std::size_t>(header.voice) < kVoices &&
         header.cursor_size <= kMaxCursor && header.unit_size <= kMaxName &&
         header.text_size <= kMaxText;
}

}  // namespace

std::optional<Packet> parse_packet(std::string_view bytes) {
  Packet packet;
  PacketHeader& header = packet.header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  const std::size_t size = std::size_t{header.cursor_size} + header.unit_size + header.text_size;
  if (!is_known(header) || bytes.size() != size) return std::nullopt;
  const auto take = [&](std::size_t length) {
    const std::string_view part = bytes.substr(0, length);
    bytes.remove_prefix(length);
    return part;
  };
  packet.cursor = take(header.cursor_size);
  packet.unit = take(header.unit_size);
  packet.text = take(header.text_size);
  return packet;
}

void write_packet(Packet packet, std::string& out) {
  PacketHeader& header = packet.header;
  // A cut cursor leads nowhere.
  if (packet.cursor.size() > kMaxCursor) packet.cursor = {};
  packet.unit = packet.unit.substr(0, kMaxName);
  packet.text = packet.text.substr(0, kMaxText);
  header.cursor_size = static_cast<std::uint16_t>(packet.cursor.size());
  header.unit_size = static_cast<std::uint16_t>(packet.unit.size());
  header.text_size = static_cast<std::uint32_t>(packet.text.size());
  out.assign(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(packet.cursor).append(packet.unit).append(packet.text);
}

}  // namespace jetmem::journal
