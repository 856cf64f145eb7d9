// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/event.h"

#include <algorithm>
#include <charconv>

#include "base/text/text.h"

namespace jetmem::kernel_log {

void Event::reset(EventKind kind) {
  kind_ = kind;
  message_ = nullptr;
  guess_ = false;
  size_ = 0;
  used_ = 0;
  line = 0;
  seq.reset();
  stamp.reset();
  from_before = false;
  late = false;
}

Field* Event::slot(std::string_view name, FieldType type) {
  Field* field = const_cast<Field*>(find(name));
  if (field == nullptr) {
    if (size_ == kMaxFields) return nullptr;
    field = &fields_[size_++];
  }
  *field = Field{name, type, 0, 0, 0};
  return field;
}

void Event::put_bytes(Field& field, std::string_view value) {
  value = value.substr(0, std::min(kMaxText, kTextBytes - used_));
  std::copy(value.begin(), value.end(), bytes_.begin() + used_);
  field.at = used_;
  field.size = static_cast<std::uint16_t>(value.size());
  used_ = static_cast<std::uint16_t>(used_ + value.size());
}

void Event::set_text(std::string_view name, std::string_view value) {
  if (Field* field = slot(name, FieldType::kText)) put_bytes(*field, value);
}

void Event::set_number(std::string_view name, std::int64_t value) {
  if (Field* field = slot(name, FieldType::kNumber)) field->number = value;
}

void Event::set_bool(std::string_view name, bool value) {
  if (Field* field = slot(name, FieldType::kBool)) field->number = value ? 1 : 0;
}

void Event::set_null(std::string_view name) { slot(name, FieldType::kNull); }

void Event::add_item(std::string_view name, std::string_view value) {
  if (size_ >= kMaxItems) {
    set_bool(kListCut, true);
    return;
  }
  fields_[size_] = Field{name, FieldType::kItem, 0, 0, 0};
  put_bytes(fields_[size_++], value);
}

void Event::remove(std::string_view name) {
  const auto first = fields_.begin();
  const auto end =
      std::remove_if(first, first + size_, [&](const Field& field) { return field.name == name; });
  size_ = static_cast<std::uint16_t>(end - first);
}

void Event::set_hex(std::string_view name, std::uint64_t value) {
  std::array<char, 18> digits{'0', 'x'};
  const auto end = std::to_chars(digits.data() + 2, digits.data() + digits.size(), value, 16).ptr;
  set_text(name, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

const Field* Event::find(std::string_view name) const {
  for (std::size_t i = 0; i < size_; ++i) {
    const std::string_view own = fields_[i].name;
    // Mostly another name, or the same static text.
    if (own.size() != name.size() || own[0] != name[0]) continue;
    if (own.data() == name.data() || own == name) return &fields_[i];
  }
  return nullptr;
}

std::string_view Event::text(std::string_view name) const {
  const Field* field = find(name);
  if (field == nullptr) return {};
  const bool is_text = field->type == FieldType::kText || field->type == FieldType::kItem;
  return is_text ? text_of(*field) : std::string_view();
}

std::optional<std::int64_t> Event::number(std::string_view name) const {
  const Field* field = find(name);
  if (field == nullptr || field->type != FieldType::kNumber) return std::nullopt;
  return field->number;
}

std::optional<bool> Event::boolean(std::string_view name) const {
  const Field* field = find(name);
  if (field == nullptr || field->type != FieldType::kBool) return std::nullopt;
  return field->number != 0;
}

std::optional<std::uint64_t> Event::hex(std::string_view name) const {
  return parse_hex(text(name));
}

void Event::merge(const Event& other) {
  for (std::size_t i = 0; i < other.size_; ++i) {
    const Field& field = other.fields_[i];
    switch (field.type) {
      case FieldType::kText:
        set_text(field.name, other.text_of(field));
        break;
      case FieldType::kItem:
        add_item(field.name, other.text_of(field));
        break;
      case FieldType::kNumber:
        set_number(field.name, field.number);
        break;
      case FieldType::kBool:
        set_bool(field.name, field.number != 0);
        break;
      case FieldType::kNull:
        if (!has(field.name)) set_null(field.name);
        break;
    }
  }
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  if (!take_prefix(text, "0x")) take_prefix(text, "0X");
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace jetmem::kernel_log
