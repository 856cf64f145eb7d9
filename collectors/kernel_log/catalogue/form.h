// SPDX-License-Identifier: Apache-2.0
// The form of a message: the printf format of the program that prints it, with typed fields for the
// conversions.
//
//   text            itself; '\' makes the next character an ordinary one
//   {name}          text up to what follows in the form, the shortest that fits, at least one byte
//   {name:TYPE}     int nat hex xnum size dev name cname word comm path (FormType says what each
//   is) {name:one(A=a|B)}  one of these words; the field's value is what stands behind '=', or the
//   word.
//                   true and false are kept as such; nothing behind '=' sets no field
//   {name:rest}      the text from here to the line's end, which the form goes on to describe; of a
//                   line that was cut off, nothing
//   {_...}          the same, and not kept
//   { }             blanks, or none
//   [...]           may be missing
//   ...             anything, or nothing
//
// A form is of the whole line. Where the line ends before the form does, and not within free text,
// it was cut off: what the form has behind a value must be there in full, or the value is absent.
// It must say more than who prints: "NVRM: loading" may go on as any of a driver's messages.
//
// Bounded: at most kMaxSteps steps for each line and form, each of them one pass over the line at
// most; allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/kernel_log/catalogue/table.h"
#include "collectors/kernel_log/event/event.h"

namespace jetmem::kernel_log {

enum class FormType : std::uint8_t {
  kText,
  kInt,    // a number, perhaps negative
  kNat,    // a number
  kHex,    // hexadecimal digits, kept as printed
  kXnum,   // hexadecimal digits, kept as a number
  kSize,   // of any unit, in bytes; rounded ones as text (size_text)
  kDev,    // a device's name: "12000000.iommu", "2-1:1.0"
  kName,   // a module's or driver's name
  kCname,  // a name in C
  kWord,   // no blank in it
  kComm,   // a task's name: the longest that fits, of 15 bytes
  kPath,   // begins with '/', no blank in it
  kOne,
  kRest,  // what the form goes on to describe, as printed
};

// A form as it is matched: ordinary text as it is, and between it the codes below. generate.py
// makes it of the shipped messages, compile_form() of a user's.
struct Form {
  Text code;
  // Its longest text that each of its lines has, by which the filter finds them; of at least
  // kMinAnchor bytes, or none.
  std::uint16_t anchor_at = 0;
  std::uint8_t anchor_size = 0;

  std::string_view anchor() const { return std::string_view(code).substr(anchor_at, anchor_size); }
};
template <>
const Form* const Shipped<Form>::first;

namespace form_code {
// code, type (0x80: not kept), size of all this (2 bytes), size of the name, name; behind that the
// words of a kOne, each as size, size of its value (kSameValue: the word), word, value.
inline constexpr char kField = 1;
inline constexpr std::size_t kFieldHead = 5;
inline constexpr unsigned char kNotKept = 0x80;
inline constexpr unsigned char kSameValue = 0xff;
inline constexpr char kOption = 2;  // code, size up to behind its end (2 bytes)
inline constexpr std::size_t kOptionHead = 3;
inline constexpr char kOptionEnd = 3;
inline constexpr char kAnything = 4;
inline constexpr char kBlanks = 5;
inline constexpr unsigned char kFirstOrdinary = 6;
}  // namespace form_code

struct CompiledForm {
  std::string code;
  std::size_t anchor_at = 0;
  std::size_t anchor_size = 0;

  // Of `kept`, the code's copy that stays.
  Form as_form(std::string_view kept) const {
    return {kept, static_cast<std::uint16_t>(anchor_at), static_cast<std::uint8_t>(anchor_size)};
  }
};
inline constexpr std::size_t kMinAnchor = 5;
// Of a form that examine_form() finds nothing wrong with.
CompiledForm compile_form(std::string_view form);

// The fields that a form keeps. `is_free`: any text may stand there, what a user chose included.
struct FormField {
  std::string_view name;
  FormType type;
  bool is_free() const {
    return type == FormType::kText || type == FormType::kWord || type == FormType::kPath ||
           type == FormType::kRest;
  }
};
std::vector<FormField> fields_of(const Form& form);

// The name under which the text of a size is kept that was printed with a fraction. Empty: no size
// has the name.
std::string_view rounded_name(std::string_view name);

enum class FormMatch : std::uint8_t { kNone, kCut, kWhole };

class FormMatcher {
 public:
  static constexpr std::size_t kMaxFields = 20;
  static constexpr int kMaxSteps = 6000;

  // A line without the form's anchor is none of it. `rest_first` costs less where most lines with
  // the anchor fit up to it.
  FormMatch match(const Form& form, std::string_view text, bool rest_first = false);
  // Sets the fields of the last match.
  void write(Event& event) const;

 private:
  struct Field {
    FormType type;
    bool is_kept;
    std::uint8_t name_size;
    std::uint16_t name_at;
    std::size_t next;  // behind it
  };
  struct Value {
    const char* text;
    std::uint32_t size;
    std::uint16_t name_at;
    std::uint8_t name_size;
    FormType type;
  };
  struct Place {
    std::size_t form = 0;
    std::size_t text = 0;
    std::size_t values = 0;     // so many are set
    std::size_t confirmed = 0;  // and so many have what follows them behind them
    bool loose = false;  // free text stands last, and nothing yet that the form has behind it
  };
  // Whether what the form has behind its anchor is there.
  bool has_rest(const Form& form);
  bool run(Place at);
  bool take_field(const Field& field, Place& at, bool& done);
  bool take_word(const Field& field, const Place& at);
  bool keep(const Field& field, Place& at, std::string_view value);
  bool go_on(const Field& field, Place at, std::size_t end, std::string_view value);
  bool shorter(const Field& field, const Place& at, std::size_t least, std::size_t most);
  void cut(const Place& at);
  std::size_t proof_end() const;
  Field field_at(std::size_t at) const;
  std::size_t behind_option(std::size_t at) const;
  bool may_begin(const Field& field, char c) const;
  bool may_follow(std::size_t form, std::size_t text) const;
  bool may_follow(std::size_t form, std::size_t text, int& codes) const;

  std::string_view form_;
  std::string_view text_;
  std::size_t anchor_at_ = 0;
  std::size_t anchor_end_ = 0;
  std::size_t proof_end_ = 0;  // of a line that was cut off before this, nothing is believed
  int steps_ = 0;
  bool whole_ = false;
  // Not initialised, as few of many are used.
  std::array<Value, kMaxFields> values_;
  std::size_t size_ = 0;
  std::array<Value, kMaxFields> cut_values_;
  std::size_t cut_size_ = 0;
  bool is_cut_ = false;  // a place was found where the line ends before the form does
};

}  // namespace jetmem::kernel_log
