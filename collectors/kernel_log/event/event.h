// SPDX-License-Identifier: Apache-2.0
// What a line of the kernel log means: a kind and typed fields.
//
// An event holds everything inline, bounded, and allocates nothing: a storm of faults costs time
// but no memory. Texts are kept as the kernel printed them, which means untrusted bytes: whoever
// shows one makes it printable().
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "collectors/kernel_log/event/kinds.h"

namespace jetmem::kernel_log {

enum class FieldType : std::uint8_t {
  kText,    // "0x402", "linux,cma": also every register and address, as printed
  kNumber,  // a count, a size, an errno
  kBool,
  kNull,  // the format has this field and the kernel of this line does not print it
  kItem,  // one of a list: consecutive fields of one name
};

struct Message;  // catalogue/message.h

struct Field {
  std::string_view name;  // static text
  FieldType type = FieldType::kText;
  std::uint16_t at = 0;    // of a text or item, in the event's own bytes
  std::uint16_t size = 0;  // likewise
  std::int64_t number = 0;
};

class Event {
 public:
  static constexpr std::size_t kMaxFields = 32;
  static constexpr std::size_t kTextBytes = 1536;
  // Lists go no further than this, so that what comes behind one still has room; then the event
  // says so in a field of its own.
  static constexpr std::size_t kMaxItems = 24;
  static constexpr std::string_view kListCut = "list_cut";
  // The longest single text; the rest of a longer one is cut off.
  static constexpr std::size_t kMaxText = 256;

  Event() = default;
  explicit Event(EventKind kind) : kind_(kind) {}
  void reset(EventKind kind);

  EventKind kind() const { return kind_; }
  // Which message of the catalogue it is; of several lines, the first one's.
  const Message* message() const { return message_; }
  void set_message(const Message* message) { message_ = message; }
  // No message that jetmem knows: its words suggest its kind.
  bool is_guess() const { return guess_; }
  void set_guess() { guess_ = true; }

  // Each sets the field of that name, replacing a former value. `name` must be static text. What
  // does not fit is omitted.
  void set_text(std::string_view name, std::string_view value);
  void set_number(std::string_view name, std::int64_t value);
  void set_bool(std::string_view name, bool value);
  void set_null(std::string_view name);
  // Appends to a list, or sets kListCut.
  void add_item(std::string_view name, std::string_view value);
  // Keeps the first `size` fields.
  void shrink(std::size_t size) {
    if (size < size_) size_ = static_cast<std::uint16_t>(size);
  }
  // All of that name.
  void remove(std::string_view name);
  // "0x" and lower-case digits, as a text.
  void set_hex(std::string_view name, std::uint64_t value);

  const Field* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Empty when there is no such field, or it is no text. What was set stays valid until reset(),
  // also when it is replaced or removed.
  std::string_view text(std::string_view name) const;
  std::optional<std::int64_t> number(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  // A text of hexadecimal digits, with or without "0x", as a number.
  std::optional<std::uint64_t> hex(std::string_view name) const;

  std::size_t size() const { return size_; }
  const Field& operator[](std::size_t i) const { return fields_[i]; }
  std::string_view text_of(const Field& field) const {
    return {bytes_.data() + field.at, field.size};
  }

  // Sets all fields of `other` here; lists are appended.
  void merge(const Event& other);

  // Where it came from. Of its first line.
  std::uint64_t line = 0;                          // counted by whoever feeds lines, from 1
  std::optional<std::uint64_t> seq;                // of /dev/kmsg
  std::optional<std::chrono::microseconds> stamp;  // the kernel's log clock
  bool from_before = false;                        // it was in the log before we came to read it
  bool late = false;                               // it was printed a while before we read it

 private:
  Field* slot(std::string_view name, FieldType type);
  void put_bytes(Field& field, std::string_view value);

  const Message* message_ = nullptr;
  EventKind kind_ = EventKind::kNone;
  bool guess_ = false;
  std::uint16_t size_ = 0;
  std::uint16_t used_ = 0;  // of bytes_
  std::array<Field, kMaxFields> fields_;
  std::array<char, kTextBytes> bytes_;
};

// The id of its message; empty where it has none. In catalogue/catalogue.cc.
std::string_view message_id(const Event& event);

// "0x12" or "12" (hexadecimal) as a number; nothing else may stand in the text.
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace jetmem::kernel_log
