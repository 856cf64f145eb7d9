// SPDX-License-Identifier: Apache-2.0
// One message of the catalogue: messages/*.yaml, as tables that the build generates, or a file of
// the user's. docs/write-a-message.md describes the fields.
//
// Decoding is in two steps. A form, or a function where a form cannot say it, turns one line into
// fields, as printed; the assembler puts the lines of one event together. complete() then adds what
// the fields mean: the fault a register names, the client behind a stream ID.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collectors/kernel_log/catalogue/form.h"
#include "collectors/kernel_log/catalogue/table.h"
#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/event/soc.h"

namespace jetmem::kernel_log {

enum class Role : std::uint8_t {
  kNothing,         // no message, or harmless
  kWhole,           // an event by itself
  kOpens,           // the first line of an event that may go on
  kFollows,         // a further line that means nothing by itself
  kFollowsOrOpens,  // a further line that also stands by itself when the first was lost
};

struct Piece {
  Role role = Role::kNothing;
  // Which line of the event it is, counted from 0. A further line joins only an event whose last
  // line was an earlier one, so that a second event is never mixed into the first.
  std::uint8_t step = 0;
  // Further lines of the same step may come (the four words of an SMMUv3 event).
  bool repeats = false;
  // Nothing can come behind it.
  bool last = false;
  // The field in which the lines of one event agree ("dev"). When the format has none, it is empty
  // and the line joins any open event of the kind. A line that lacks the field agrees with all.
  Text join{};
  // When several open events have no such field, the line joins the one that agrees in this field.
  Text prefer{};
  // A kFollowsOrOpens line that could belong to several events becomes an event of its own. Other
  // lines are dropped then, so that one fault is not counted twice.
  bool stands_alone = false;
  // It joins an event only where no other is open that it could be of.
  bool alone = false;
  // A further line may also belong to an open event of these kinds.
  std::array<EventKind, 4> of{};
};

struct Constant {
  Text name;
  FieldType type = FieldType::kText;  // kText, kNumber, kBool or kNull
  Text text{};
  std::int64_t number = 0;
};

// If the field has this value, the line is not the message. Numbers as they are printed.
struct Exception {
  Text field;
  Text value;
};

template <>
const Constant* const Shipped<Constant>::first;
template <>
const Exception* const Shipped<Exception>::first;

// What a form cannot say. Each may be null.
struct MessageHooks {
  // Instead of forms: lines that have one of the message's anchors. Resets `event` to its kind and
  // fills it, unless it returns kNothing. Pure, never allocates.
  Piece (*decode)(std::string_view text, Event& event) = nullptr;
  // Adds to the fields of one line, or refuses it.
  bool (*accept)(Event& event) = nullptr;
  // Adds to the fields of a finished event.
  void (*complete)(Event& event, Soc soc) = nullptr;
  // Whether a further line can be of an open event, where `join` cannot tell.
  bool (*joins)(const Event& open, const Event& part) = nullptr;
  // Adds a further line to an open event, where that is more than setting the fields that it has.
  void (*add)(Event& open, const Event& part) = nullptr;
  // What happened, in words. Appends one sentence without capital and full stop, which must not
  // decode to an event.
  void (*describe)(const Event& event, std::string& out) = nullptr;
};

struct Message {
  Text id;  // "oom-kill": unique, never used again for another message
  // kNone: no event, whatever its words suggest.
  EventKind kind = EventKind::kNone;
  bool program = false;  // printed by programs, not by the kernel
  // Of any driver: tried where no other message fits. The kernel's own lines below a warning are
  // none of it, because a driver that goes on without the memory says so more quietly.
  bool generic = false;
  Slice<Form> forms{};    // newest first
  Slice<Text> anchors{};  // of decode()
  Slice<Text> after{};    // ids of the messages that a further line may follow; empty: all of its kinds
  Piece piece{.role = Role::kWhole};
  Slice<Constant> set{};
  Slice<Exception> unless{};
  // What happened: {field}, {?a part that is omitted where a field of it is absent}. Empty: as the
  // kind says it.
  Text say{};
  std::uint8_t code = 0;  // of the hooks; 0: none
  // Of a user's message; empty: as jetmem judges the kind.
  Text cause{};
  Text remedy{};

  const MessageHooks& hooks() const;
};

// A piece that many forms begin with: "{@dev}" stands for the form of the head named dev.
struct Head {
  std::string_view name;
  std::string_view form;
};

// Generated from messages/*.yaml.
std::span<const Message> shipped_messages();
std::span<const Head> shipped_heads();

}  // namespace jetmem::kernel_log
