// SPDX-License-Identifier: Apache-2.0
// The form of a message: the printf format of the program that prints it, with typed fields for the
// conversions. The text of a form is its program; nothing is compiled.
//
//   text            itself; '\' makes the next character an ordinary one
//   {name}          text up to what follows in the form, the shortest that fits, at least one byte
//   {name:TYPE}     int nat hex xnum size dev name cname word comm path (see kFormTypes in form.cc)
//   {name:one(A=a|B)}  one of these words; the field's value is what stands behind '=', or the word.
//                   true and false are kept as such; nothing behind '=' sets no field
//   {name:rest}      the text from here to the line's end, which the form goes on to describe; of a
//                   line that was cut off, nothing
//   {_...}          the same, and not kept
//   { }             blanks, or none
//   [...]           may be missing
//   ...             anything, or nothing
//
// A form is of the whole line. Where the line ends before the form does, and not within free text, it
// was cut off: what the form has behind a value must be there in full, or the value is absent.
//
// Bounded: at most kMaxSteps steps for each line and form; allocates nothing.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collectors/kernel_log/event/event.h"

namespace jetmem::kernel_log {

enum class FormMatch : std::uint8_t { kNone, kCut, kWhole };

class FormMatcher {
 public:
  static constexpr std::size_t kMaxFields = 20;
  static constexpr int kMaxSteps = 6000;

  // `anchor` is part of `form` (anchor_of()); a line that does not have it is none of the form's.
  FormMatch match(std::string_view form, std::string_view anchor, std::string_view text);
  // Sets the fields of the last match.
  void write(Event& event) const;
  std::size_t fields() const { return size_; }

 private:
  enum class Type : std::uint8_t {
    kText, kInt, kNat, kHex, kXnum, kSize, kDev, kName, kCname, kWord, kComm, kPath, kOne, kRest
  };
  friend std::string form_error(std::string_view form);
  // Places in the form. Not initialised, as few of many are used.
  struct Field {
    std::uint16_t at;
    std::uint16_t name_size;  // behind the '{'
    std::uint16_t words_at;   // of kOne
    std::uint16_t words_size;
    std::uint16_t next;  // behind its '}'
    Type type;
    bool is_kept;
  };
  struct Value {
    const char* text;
    std::uint32_t size;
    std::uint16_t name_at;
    std::uint16_t name_size;
    Type type;
  };
  struct Place {
    std::size_t form = 0;
    std::size_t text = 0;
    std::size_t values = 0;     // so many are set
    std::size_t confirmed = 0;  // and so many have what follows them behind them
    bool loose = false;  // free text stands last, and nothing yet that the form has behind it
  };
  bool run(Place at);
  bool take_field(const Field& field, Place& at, bool& done);
  bool keep(const Field& field, Place& at, std::string_view value);
  bool go_on(const Field& field, Place at, std::size_t end, std::string_view value);
  bool shorter(const Field& field, const Place& at, std::size_t least, std::size_t most);
  void cut(const Place& at);
  Field parsed_field(std::size_t at) const;
  Field field_at(std::size_t at);
  std::string_view name_of(const Field& field) const {
    return form_.substr(field.at + 1U, field.name_size);
  }
  std::size_t behind_option(std::size_t at) const;
  bool may_follow(std::size_t form, std::size_t text) const;
  std::bitset<256> first_of(std::size_t form);

  std::string_view form_;
  std::string_view text_;
  std::size_t anchor_end_ = 0;
  int steps_ = 0;
  // Those that were looked at: trying one place after another comes back to them.
  static constexpr std::size_t kMostKnown = 12;
  std::array<Field, kMostKnown> known_;
  std::size_t known_size_ = 0;
  bool whole_ = false;
  std::array<Value, kMaxFields> values_;
  std::size_t size_ = 0;
  std::array<Value, kMaxFields> cut_values_;
  std::size_t cut_size_ = 0;
  bool is_cut_ = false;     // a place was found where the line ends before the form does
};

// The longest text that each line of this form has, by which the filter finds it. Empty: none of
// kMinAnchor bytes.
inline constexpr std::size_t kMinAnchor = 5;
std::string_view anchor_of(std::string_view form);
// What is wrong with a form, for its author; empty: nothing.
std::string form_error(std::string_view form);

}  // namespace jetmem::kernel_log
