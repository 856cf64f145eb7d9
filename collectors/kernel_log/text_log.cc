// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/decode/decode.h"
#include "collectors/kernel_log/line/record.h"

namespace jetmem::kernel_log {
namespace {

// Nobody breaks lines of fewer bytes; and of text without any prefix, which may be prose, not of
// these.
constexpr std::size_t kMinWidth = 36;
constexpr std::size_t kBareWidth = 60;
// Nor of fewer within a number.
constexpr std::size_t kNumberWidth = 72;

// Digits, and then no word of a sentence: "12 more lines" is a line of its own.
bool goes_on_a_number(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  return end != 0 && (end == std::string_view::npos || !is_blank(text[end]));
}

}  // namespace

TextLog::TextLog(Soc soc, Emit emit, const Catalogues& catalogues)
    : feed_(
          soc,
          [this](const Event& event) {
            ++counts_.events;
            emit_(event, time_of(event.line));
          },
          catalogues),
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
  flush();
}

void TextLog::flush() {
  release_held();
  feed_.flush();
}

void TextLog::take_line(std::string_view raw) {
  if (counts_.lines == 0 && raw.substr(0, 3) == "\xef\xbb\xbf") raw.remove_prefix(3);
  if (held_.lines > 0) {
    if (join_held(raw)) {
      ++counts_.lines;
      return;
    }
    release_held();
  }
  // Behind what was held, which may have been several lines.
  ++counts_.lines;
  if (raw.size() >= kMinWidth && raw.size() <= kMaxLine && !is_kmsg_record(raw)) {
    held_.raw.assign(raw);
    held_.number = counts_.lines;
    held_.lines = 1;
    return;
  }
  take_whole(raw, counts_.lines, 1);
}

void TextLog::release_held() {
  if (held_.lines == 0) return;
  take_whole(held_.raw, held_.number, std::exchange(held_.lines, 0));
}

bool TextLog::join_held(std::string_view raw) {
  PastedLine& first = joined_[0];
  PastedLine& next = joined_[1];
  if (held_.raw.size() + raw.size() >= kMaxLine) return false;
  if (!joining_[1].strip(raw, next) || !next.bare || next.line.text.empty()) return false;
  if (!joining_[0].strip(held_.raw, first) || first.line.seq) return false;
  if (first.bare && held_.raw.size() < kBareWidth) return false;
  // A message of its own goes on with nothing.
  if (decode_line(next.line.text, Voice::kUnknown, joined_event_).piece.role != Role::kNothing) {
    return false;
  }
  const Role alone = decode_line(first.line.text, first.line.voice, joined_event_).piece.role;
  const EventKind kind = joined_event_.kind();
  const std::size_t fields = alone == Role::kNothing ? 0 : joined_event_.size();
  std::string_view head = held_.raw;
  while (!head.empty() && (is_blank(head.back()) || head.back() == '\r')) head.remove_suffix(1);
  // A sentence that has ended goes on with nothing.
  if (head.empty() || head.back() == '.') return false;
  // Who broke the line broke it for its width: the next word did not fit. A line of a shell below a
  // short one is no part of it, though the two make sense together.
  const std::size_t next_word = std::min(next.line.text.find(' '), next.line.text.size());
  // Or put the message below its head: "nvgpu: 17000000.gpu FUNCTION:143  [ERR]".
  const bool is_head = ((head.back() == ':' || head.back() == ']') && is_blank(raw.front())) ||
                       next.line.text.starts_with("[ERR]");
  const bool was_wide = is_head || head.size() + 1 + next_word >= kNumberWidth;
  // A terminal breaks a line anywhere, a mail between words. The one that says more is right;
  // within a number the break was no blank's.
  const bool in_number =
      is_digit(head.back()) && (goes_on_a_number(next.line.text) || next.line.text[0] == ',');
  std::string best;
  std::size_t most = fields;
  for (const bool tight : {in_number, !in_number}) {
    std::string joined(head);
    if (!tight) joined.push_back(' ');
    joined.append(next.line.text);
    PastedLine whole;
    if (!joining_[0].strip(joined, whole)) continue;
    const Role role = decode_line(whole.line.text, whole.line.voice, joined_event_).piece.role;
    if (role == Role::kNothing || (alone != Role::kNothing && joined_event_.kind() != kind))
      continue;
    if (alone == Role::kNothing && !was_wide) continue;
    const bool first_known = alone == Role::kNothing && best.empty();
    // As many fields, of which one has the digits that it lacked.
    const bool same_number =
        tight && in_number && held_.raw.size() >= kNumberWidth && joined_event_.size() == fields;
    if (joined_event_.size() <= most && !first_known && !same_number) continue;
    most = joined_event_.size();
    best = std::move(joined);
    if (same_number) break;
  }
  if (best.empty()) return false;
  held_.raw = std::move(best);
  ++held_.lines;
  return true;
}

void TextLog::take_whole(std::string_view raw, std::uint64_t number, std::uint64_t lines) {
  std::string rest(take_record(raw, number, lines));
  while (!rest.empty()) {
    const std::string record = std::move(rest);
    rest = take_record(record, number, 0);
  }
}

std::string_view TextLog::take_record(std::string_view raw, std::uint64_t number,
                                      std::uint64_t lines) {
  if (!pasted_.strip(raw, stripped_)) return {};
  stripped_.line.number = number;
  // A line that lost the ends of those it was made of: "kernel: A kernel: B". Messages quote names
  // that anybody may choose, so only a repetition is believed, and only where no time says that the
  // line is one record.
  std::string_view rest;
  LogLine& line = stripped_.line;
  const bool whole =
      line.seq || line.stamp || !stripped_.time_text.empty() || line.voice != Voice::kKernel;
  const std::size_t size = whole ? std::string_view::npos : Pasted::size_of_first(line.text);
  if (size != std::string_view::npos) {
    const std::string_view first = line.text.substr(0, size);
    const std::string_view next = line.text.substr(size + 1);
    constexpr std::string_view kTag = "kernel: ";
    const auto is_event = [&](std::string_view text) {
      return decode_line(text, line.voice, joined_event_).piece.role != Role::kNothing;
    };
    const bool begins = is_event(first);
    const EventKind kind = joined_event_.kind();
    const std::string_view second =
        next.substr(kTag.size(), Pasted::size_of_first(next.substr(kTag.size())));
    if (begins && is_event(second) && joined_event_.kind() == kind) {
      rest = next;
      line.text = first;
    }
  }
  if (take_stripped()) counts_.sending += lines;
  return rest;
}

void TextLog::message(const LogLine& line, std::string_view time_text) {
  stripped_.line = line;
  stripped_.time_text = time_text;
  if (take_stripped()) ++counts_.sending;
}

bool TextLog::take_stripped() {
  LogLine& line = stripped_.line;
  if (line.seq) count_record(line);
  if (line.stamp) {
    if (!counts_.first_stamp) counts_.first_stamp = line.stamp;
    counts_.last_stamp = line.stamp;
  }
  const bool reported = feed_.feed(line);
  counts_.foreign = feed_.foreign();
  if (reported && !stripped_.time_text.empty()) remember_time(line.number, stripped_.time_text);
  // The text that it points into may be gone when the event comes out.
  line.number = 0;
  return reported;
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
