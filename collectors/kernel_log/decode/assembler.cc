// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/decode/assembler.h"

#include <algorithm>

namespace jetmem::kernel_log {
namespace {

constexpr std::chrono::microseconds kMaxPause = std::chrono::seconds(1);

}  // namespace

bool Assembler::agree(const Open& open, const Event& part, std::string_view join) {
  if (join.empty()) return true;
  const Field* mine = open.event.find(join);
  const Field* theirs = part.find(join);
  if (mine == nullptr || theirs == nullptr) return true;
  if (mine->type != theirs->type) return false;
  if (mine->type == FieldType::kText) return open.event.text_of(*mine) == part.text_of(*theirs);
  return mine->number == theirs->number;
}

bool Assembler::may_own(const Open& open, const Decoded& decoded) const {
  const auto& after = decoded.message->after;
  if (!after.empty()) return std::find(after.begin(), after.end(), message_id(open.event)) != after.end();
  const Piece& piece = decoded.piece;
  if (open.event.kind() == scratch_.kind()) return true;
  return std::find(piece.of.begin(), piece.of.end(), open.event.kind()) != piece.of.end();
}

Assembler::Open* Assembler::owner_of(const Decoded& decoded, const LogLine& line, bool& several) {
  const Piece& piece = decoded.piece;
  const auto joins = decoded.message->hooks().joins;
  std::size_t found = size_;
  bool newer_grew = false;
  bool interleaved = false;
  for (std::size_t i = size_; i-- > 0;) {
    Open& open = at(i);
    if (!may_own(open, decoded)) continue;
    if (line.continues && open.first_line < record_) continue;
    // What one program prints goes on with nothing of another's, but where code compares the two.
    const bool compared = joins != nullptr && open.event.kind() != scratch_.kind();
    if (line.pid != 0 && open.pid != line.pid && !compared) continue;
    if (!agree(open, scratch_, piece.join)) continue;
    if (joins != nullptr && !joins(open.event, scratch_)) continue;
    const bool in_turn = open.step < piece.step || (piece.repeats && open.step == piece.step);
    if (!piece.join.empty()) {
      if (open.done) continue;
      return in_turn ? &open : nullptr;
    }
    if (open.done || !in_turn) {
      newer_grew = newer_grew || open.event.size() > open.first_size;
      continue;
    }
    if (!piece.prefer.empty() && agree(open, scratch_, piece.prefer)) return &open;
    if (found != size_ && piece.alone) return nullptr;
    if (found != size_) continue;
    found = i;
    interleaved = newer_grew || open.mixed;
  }
  if (found == size_) return nullptr;
  if (!interleaved) return &at(found);
  // An event that began later took such a line already: it may have been the earlier one's.
  several = true;
  for (std::size_t i = found; i < size_; ++i) {
    Open& open = at(i);
    if (!may_own(open, decoded)) continue;
    open.event.shrink(open.first_size);
    open.mixed = true;
  }
  return nullptr;
}

void Assembler::end_former(const Decoded& decoded) {
  const Piece& piece = decoded.piece;
  if (piece.join.empty()) return;
  for (std::size_t i = size_; i-- > 0;) {
    Open& open = at(i);
    if (open.done || open.event.kind() != scratch_.kind()) continue;
    if (!agree(open, scratch_, piece.join)) continue;
    open.done = true;
    return;
  }
}

bool Assembler::line(const LogLine& line) {
  ++lines_;
  if (!line.continues) record_ = lines_;
  if (size_ > 0) expire(line);
  Decoded decoded = decode_line(line.text, line.voice, scratch_, catalogues_, line.is_quiet());
  // Nothing is guessed of a line that a message of kind none describes.
  if (decoded.message == nullptr) decoded = guess_line(line, scratch_);
  const Piece& piece = decoded.piece;
  if (piece.role == Role::kNothing) {
    settle();
    return false;
  }
  const bool begins = piece.role == Role::kWhole || piece.role == Role::kOpens;
  bool several = false;
  Open* const found = begins ? nullptr : owner_of(decoded, line, several);
  if (found != nullptr) {
    const auto add = decoded.message->hooks().add;
    if (add != nullptr) {
      add(found->event, scratch_);
    } else {
      found->event.merge(scratch_);
    }
    found->step = piece.step;
    found->done = piece.last;
    found->last_line = lines_;
    found->last_stamp = line.stamp;
    settle();
    return true;
  }
  // What a record goes on with is no line of the kernel's own: it ends and begins nothing.
  if (line.continues) {
    settle();
    return several;
  }
  if (!several) end_former(decoded);
  if (piece.role == Role::kFollows || (several && !piece.stands_alone)) {
    settle();
    return several;
  }
  add(line, decoded, piece.role == Role::kWhole || piece.last);
  settle();
  return true;
}

bool Assembler::knows(std::string_view text, const LogLine& line) {
  return decode_line(text, line.voice, scratch_, catalogues_, line.is_quiet()).message != nullptr;
}

void Assembler::expire(const LogLine& line) {
  for (std::size_t i = 0; i < size_; ++i) {
    Open& open = at(i);
    if (lines_ - open.last_line > kMaxGap) open.done = true;
    if (line.stamp && open.last_stamp && *line.stamp - *open.last_stamp > kMaxPause) {
      open.done = true;
    }
  }
}

void Assembler::add(const LogLine& line, const Decoded& decoded, bool done) {
  if (size_ == kMaxOpen) pop();
  Open& open = at(size_++);
  open.event = scratch_;
  open.event.line = line.number;
  open.event.seq = line.seq;
  open.event.stamp = line.stamp;
  open.event.from_before = line.from_before;
  open.event.late = line.late;
  if (!line.unit.empty()) open.event.set_text("unit", line.unit);
  // A program may name another process: the one that it killed.
  if (line.pid != 0 && !open.event.has("pid")) open.event.set_number("pid", line.pid);
  if (opened_) opened_(open.event);
  open.decoded = decoded;
  open.pid = line.pid;
  open.step = decoded.piece.step;
  open.done = done;
  open.mixed = false;
  open.first_size = open.event.size();
  open.first_line = lines_;
  open.last_line = lines_;
  open.last_stamp = line.stamp;
}

void Assembler::pop() {
  Open& open = at(0);
  first_ = (first_ + 1) % kMaxOpen;
  --size_;
  if (open.event.kind() == EventKind::kNone) return;  // a later line withdrew it
  complete(open.event, open.decoded, soc_);
  emit_(open.event);
}

void Assembler::settle() {
  while (size_ > 0 && at(0).done) pop();
}

void Assembler::flush() {
  while (size_ > 0) pop();
}

}  // namespace jetmem::kernel_log
