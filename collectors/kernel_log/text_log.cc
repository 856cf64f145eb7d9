#include "collectors/kernel_log/text_log.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace jetmem::kernel_log {

TextLog::TextLog(Soc soc, Emit emit)
    : assembler_(soc,
                 [this](const Event& event) {
                   ++counts_.events;
                   emit_(event, time_of(event.line));
                 }),
      emit_(std::move(emit)) {}

void TextLog::feed(std::string_view text) {
  while (!text.empty()) {
    const auto* end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
    const std::size_t size =
        end == nullptr ? text.size() : static_cast<std::size_t>(end - text.data());
    const std::string_view part = text.substr(0, size);
    text.remove_prefix(end == nullptr ? size : size + 1);
    if (end != nullptr && partial_.empty() && !overlong_ && size <= kMaxLineBytes) {
      take_line(part);
      continue;
    }
    const std::size_t room = kMaxLineBytes - partial_.size();
    partial_.append(part.substr(0, room));
    overlong_ = overlong_ || size > room;
    if (end == nullptr) return;
    if (overlong_) ++counts_.cut;
    overlong_ = false;
    take_line(partial_);
    partial_.clear();
  }
}

void TextLog::finish() {
  if (!partial_.empty()) {
    if (overlong_) ++counts_.cut;
    take_line(partial_);
    partial_.clear();
    overlong_ = false;
  }
  assembler_.flush();
}

void TextLog::take_line(std::string_view raw) {
  ++counts_.lines;
  if (counts_.lines == 1 && raw.substr(0, 3) == "\xef\xbb\xbf") raw.remove_prefix(3);
  if (!pasted_.strip(raw, stripped_)) return;
  LogLine& line = stripped_.line;
  line.number = counts_.lines;
  if (line.seq) count_record(line);
  if (line.voice == Voice::kForeign) ++counts_.foreign;
  if (line.stamp) {
    if (!counts_.first_stamp) counts_.first_stamp = line.stamp;
    counts_.last_stamp = line.stamp;
  }
  bool told = false;
  if (line.seq) {
    // A record may hold several lines.
    Lines lines(line.text);
    while (lines.next(line.text)) told = assembler_.line(line) || told;
  } else {
    told = assembler_.line(line);
  }
  if (!told) return;
  ++counts_.telling;
  if (!stripped_.time_text.empty()) remember_time(line.number, stripped_.time_text);
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
