// SPDX-License-Identifier: Apache-2.0
// What the forms of the GPUs' messages cannot say.
#include <array>
#include <string_view>

#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log::hooks {

// "name=a, b, Ch 00000030": a task's name may hold commas. It ends at the comma that a channel
// follows, or at the only one within the length of a name; of several, nobody knows which.
bool xid_owner(Event& event) {
  constexpr std::size_t kMaxComm = 15;
  constexpr std::string_view kChannel = ", Ch ";
  const std::string_view first = event.text("comm");
  if (first.empty()) return true;
  // What stood there: "FIRST, TEXT", as far as a name reaches.
  std::array<char, kMaxComm + 1 + kChannel.size()> bytes{};
  std::size_t size = 0;
  for (const std::string_view part : {first, std::string_view(", "), event.text("text")}) {
    size += part.substr(0, bytes.size() - size).copy(bytes.data() + size, bytes.size() - size);
  }
  const std::string_view line(bytes.data(), size);
  const std::size_t comma = line.find(',');
  const bool several = line.substr(0, kMaxComm + 1).rfind(',') != comma;
  const std::size_t channel = line.find(kChannel);
  const std::size_t end = channel != std::string_view::npos ? channel : comma;
  if (end > kMaxComm || (several && end != channel) || !is_comm(line.substr(0, end))) {
    event.remove("comm");
  } else if (end != first.size()) {
    const std::size_t more = end + 2 - (first.size() + 2);
    event.set_text("comm", line.substr(0, end));
    std::array<char, Event::kMaxText> text{};
    const std::size_t n = event.text("text").substr(more).copy(text.data(), text.size());
    event.set_text("text", {text.data(), n});
  }
  return true;
}

}  // namespace jetmem::kernel_log::hooks
