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
  if (end > kMaxComm || end < first.size() || (several && end != channel) ||
      !is_comm(line.substr(0, end))) {
    event.remove("comm");
  } else if (end != first.size()) {
    const std::size_t more = end + 2 - (first.size() + 2);
    event.set_text("comm", line.substr(0, end));
    event.set_text("text", event.text("text").substr(more));
  }
  return true;
}

bool v3d_harmless(Event& event) {
  if (event.text("client") == "CLE" && event.text("fault_type") == "pte invalid") {
    event.set_bool("harmless", true);
  }
  return true;
}

bool drop_owner(Event& event) {
  event.remove("owner");
  return true;
}

// Each row of the table of buffers counts those of another owner.
void add_buffers(Event& open, const Event& part) {
  for (const std::string_view name : {std::string_view("bos_kb"), std::string_view("bos")}) {
    const auto more = part.number(name);
    if (!more) continue;
    const std::int64_t before = open.number(name).value_or(0);
    open.set_number(name, before <= INT64_MAX - *more ? before + *more : *more);
  }
}

// "15880000.nvdla0": other drivers print "FUNCTION:LINE: ".
bool is_of_an_engine(Event& event) { return contains(event.text("dev"), "."); }

// The driver prints each syncpoint of a job that did not end, also those that were reached.
bool host1x_not_reached(Event& event) {
  return !event.has("thresh") || event.number("thresh") != event.number("done");
}

// "HW thresh" is what the syncpoint reached, "done" what was waited for.
void host1x_values(Event& event, Soc /*soc*/) {
  const auto reached = event.number("thresh");
  const auto awaited = event.number("done");
  if (!reached || !awaited) return;
  event.set_number("reached", *reached);
  event.set_number("awaited", *awaited);
}

bool same_channel_group(const Event& open, const Event& part) {
  return !open.has("tsg") || !part.has("tsg") || open.number("tsg") == part.number("tsg");
}

// The later lines name every channel of the group: of its own it has the program.
void keep_channel(Event& open, const Event& part) {
  if (const auto tsg = part.number("tsg"); tsg && !open.has("tsg")) open.set_number("tsg", *tsg);
  if (part.has("comm") && open.number("channel") == part.number("channel")) {
    open.set_text("comm", part.text("comm"));
  }
}

// Another program lost its channel, too.
bool of_faulting_program(const Event& open, const Event& part) {
  return !part.has("comm") || !open.has("channel") || open.number("channel") == part.number("channel");
}

bool iova_is_addr(Event& event) {
  if (event.has("iova")) event.set_text("addr", std::string_view(event.text("iova")));
  return true;
}

}  // namespace jetmem::kernel_log::hooks
