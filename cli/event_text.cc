#include "cli/event_text.h"

#include <algorithm>

#include "collectors/kernel_log/decode.h"

namespace jetmem {
namespace {

// What a text takes on a terminal, near enough: bytes that go on a UTF-8 character count nothing.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t width = width_of(word);
    if (column > 0 && column + 1 + width <= columns) {
      out.append(" ");
      column += 1 + width;
    } else {
      if (column > 0) out.append("\n");
      out.append(indent, ' ');
      column = indent + width;
    }
    out.append(word);
  }
  if (column > 0) out.append("\n");
  return out;
}

std::string seconds_text(std::chrono::microseconds stamp) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(stamp.count(), 0));
  const std::string fraction = std::to_string(us % 1'000'000);
  return std::to_string(us / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  return text.append(noun).append(count == 1 ? "" : "s");
}

std::string left_out(const kernel_log::TextLog::Counts& counts) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view noun, std::string_view why) {
    if (count == 0) return;
    text.append(text.empty() ? "" : "; ").append(counted(count, noun)).append(why);
  };
  add(counts.foreign, "line", " written into the kernel's log by processes, not believed");
  add(counts.lost, "record", " missing");
  add(counts.cut, "line", " longer than 64 KiB, cut");
  return text;
}

std::string event_block(std::string_view head, const kernel_log::Event& event, bool with_meaning) {
  std::string block(head);
  block.append("\n");
  block.append(wrapped(kernel_log::describe(event), 4));
  const std::string_view meaning = kernel_log::info_of(event.kind()).meaning;
  if (with_meaning && !meaning.empty()) {
    block.append(wrapped(std::string("(").append(meaning).append(")"), 4));
  }
  return block;
}

}  // namespace jetmem
