// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace jetmem::kernel_log {

TextLog::TextLog(Soc soc, Emit emit)
    : feed_(soc,
            [this](const Event& event) {
              ++counts_.events;
              emit_(event, time_of(event.line));
            }),
      emit_(std::move(emit)) {}

std::size_t TextLog::line_size(std::string_view text) const {
  if (cr_ends_lines_) return text.find_first_of("\r\n");
  const auto* end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  return end == nullptr ? std::string_view::npos : static_cast<std::size_t>(end - text.data());
}

void TextLog::learn_line_end(std::string_view text) {
  if (at_cr_) {
    at_cr_ = false;
    knows_line_end_ = true;
    cr_ends_lines_ = text[0] != '\n' && text[0] != '\r';
    if (cr_ends_lines_) end_partial();
    return;
  }
  const std::size_t at = text.find_first_of("\r\n");
  if (at == std::string_view::npos) return;
  if (text[at] == '\r' && at + 1 == text.size()) {
    at_cr_ = true;
    return;
  }
  knows_line_end_ = true;
  cr_ends_lines_ = text[at] == '\r' && text[at + 1] != '\n' && text[at + 1] != '\r';
}

void TextLog::feed(std::string_view text) {
  if (!text.empty() && !knows_line_end_) learn_line_end(text);
  while (!text.empty()) {
    if (cr_ends_lines_ && std::exchange(at_cr_, false) && text[0] == '\n') {
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = line_size(text);
    const bool ends = end != std::string_view::npos;
    const std::string_view part = text.substr(0, end);
    if (ends) at_cr_ = text[end] == '\r';
    text.remove_prefix(ends ? end + 1 : part.size());
    if (ends && partial_.empty() && !overlong_ && part.size() <= kMaxLineBytes) {
      take_line(part);
      continue;
    }
    const std::size_t room = kMaxLineBytes - partial_.size();
    partial_.append(part.substr(0, room));
    overlong_ = overlong_ || part.size() > room;
    if (ends) end_partial();
  }
}

void TextLog::end_partial() {
  if (overlong_) ++counts_.cut;
  overlong_ = false;
  take_line(partial_);
  partial_.clear();
}

void TextLog::finish() {
  if (!partial_.empty()) end_partial();
  feed_.flush();
}

void TextLog::take_line(std::string_view raw) {
  ++counts_.lines;
  if (counts_.lines == 1 && raw.substr(0, 3) == "\xef\xbb\xbf") raw.remove_prefix(3);
  if (!pasted_.strip(raw, stripped_)) return;
  stripped_.line.number = counts_.lines;
  take_stripped();
}

void TextLog::message(const LogLine& line, std::string_view time_text) {
  stripped_.line = line;
  stripped_.time_text = time_text;
  take_stripped();
}

void TextLog::take_stripped() {
  LogLine& line = stripped_.line;
  if (line.seq) count_record(line);
  if (line.stamp) {
    if (!counts_.first_stamp) counts_.first_stamp = line.stamp;
    counts_.last_stamp = line.stamp;
  }
  const bool reported = feed_.feed(line);
  counts_.foreign = feed_.foreign();
  if (reported) {
    ++counts_.sending;
    if (!stripped_.time_text.empty()) remember_time(line.number, stripped_.time_text);
  }
  // The text that it points into may be gone when the event comes out.
  line.number = 0;
}

void TextLog::count_record(const LogLine& line) {
  ++counts_.records;
  if (!counts_.first_seq) counts_.first_seq = line.seq;
  if (next_seq_ && *line.seq > *next_seq_) counts_.lost += *line.seq - *next_seq_;
  next_seq_ = *line.seq + 1;
}

void TextLog::remember_time(std::uint64_t line, std::string_view text) {
  Time& time = times_[next_time_++ % times_.size()];
  time.line = line;
  time.size = static_cast<std::uint8_t>(std::min(text.size(), time.text.size()));
  std::copy_n(text.data(), time.size, time.text.data());
}

std::string_view TextLog::time_of(std::uint64_t line) const {
  if (line == stripped_.line.number) return stripped_.time_text;
  const std::size_t known = std::min(next_time_, times_.size());
  for (std::size_t i = 1; i <= known; ++i) {
    const Time& time = times_[(next_time_ - i) % times_.size()];
    if (time.line == line) return {time.text.data(), time.size};
  }
  return {};
}

}  // namespace jetmem::kernel_log
