// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/catalogue.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text/text.h"

namespace jetmem::kernel_log {
namespace {

bool has_value(const Event& event, const Exception& exception) {
  const Field* const field = event.find(exception.field);
  if (field == nullptr) return false;
  if (field->type == FieldType::kText) return event.text_of(*field) == exception.value;
  if (field->type == FieldType::kBool) return (field->number != 0) == (exception.value == "true");
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), field->number).ptr;
  return std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())) ==
         exception.value;
}

// What the line itself has stands.
void set_constant(const Constant& constant, Event& event) {
  if (event.has(constant.name)) return;
  switch (constant.type) {
    case FieldType::kNumber:
      event.set_number(constant.name, constant.number);
      break;
    case FieldType::kBool:
      event.set_bool(constant.name, constant.number != 0);
      break;
    case FieldType::kNull:
      event.set_null(constant.name);
      break;
    default:
      event.set_text(constant.name, constant.text);
      break;
  }
}

std::string_view without_end_blanks(std::string_view text) {
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view message_id(const Event& event) {
  return event.message() == nullptr ? std::string_view{} : event.message()->id;
}

Catalogue::Catalogue(std::span<const Message> messages)
    : messages_(messages), heads_(std::size_t{1} << kBits) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const std::string_view anchor : messages[i].anchors) add_anchor(anchor, i);
    for (const std::string_view form : messages[i].forms) add_anchor(anchor_of(form), i);
  }
}

const Catalogue& Catalogue::shipped() {
  static const Catalogue catalogue(shipped_messages());
  return catalogue;
}

std::uint32_t Catalogue::bucket_of(const char* p) {
  std::uint32_t gram = 0;
  std::memcpy(&gram, p, sizeof gram);
  return (gram * 0x9e3779b1U) >> (32 - kBits);
}

// Every second four bytes of a line are looked up: an anchor of five bytes or more has its first
// four or its second four there.
void Catalogue::add_anchor(std::string_view text, std::size_t message) {
  if (text.size() < kMinAnchor) return;
  for (const std::uint8_t offset : {std::uint8_t{0}, std::uint8_t{1}}) {
    const std::uint32_t bucket = bucket_of(text.data() + offset);
    anchors_.push_back({text, static_cast<std::uint16_t>(message), heads_[bucket], offset});
    heads_[bucket] = static_cast<std::uint16_t>(anchors_.size());
  }
}

std::size_t Catalogue::candidates(std::string_view text, std::span<std::uint16_t> out) const {
  std::size_t n = 0;
  for (std::size_t at = 0; at + 4 <= text.size(); at += 2) {
    std::uint16_t next = heads_[bucket_of(text.data() + at)];
    while (next != 0) {
      const Anchor& anchor = anchors_[next - 1U];
      if (at >= anchor.offset && text.substr(at - anchor.offset).starts_with(anchor.text)) {
        const auto end = out.begin() + static_cast<std::ptrdiff_t>(n);
        const auto place = std::lower_bound(out.begin(), end, anchor.message);
        if ((place == end || *place != anchor.message) && n < out.size()) {
          std::move_backward(place, end, end + 1);
          *place = anchor.message;
          ++n;
        }
      }
      next = anchor.next;
    }
  }
  return n;
}

bool Catalogue::is_believed(const Message& message, Voice voice) {
  return voice == Voice::kUnknown || voice == (message.program ? Voice::kProcess : Voice::kKernel);
}

Match Catalogue::try_message(const Message& message, std::string_view text, Event& event) {
  Match match{&message, message.piece};
  if (message.hooks.decode != nullptr) {
    match.piece = message.hooks.decode(text, event);
  } else {
    FormMatcher matcher;
    FormMatch how = FormMatch::kNone;
    for (const std::string_view form : message.forms) {
      const FormMatch this_one = matcher.match(form, anchor_of(form), text);
      if (this_one == FormMatch::kNone || (this_one == FormMatch::kCut && how == this_one)) continue;
      how = this_one;
      event.reset(message.kind);
      matcher.write(event);
      if (how == FormMatch::kWhole) break;
    }
    if (how == FormMatch::kNone) return {};
    match.cut = how == FormMatch::kCut;
    for (const Constant& constant : message.set) set_constant(constant, event);
    const bool excepted =
        std::any_of(message.unless.begin(), message.unless.end(),
                    [&](const Exception& exception) { return has_value(event, exception); });
    if (excepted) return {};
  }
  if (match.piece.role == Role::kNothing && message.kind != EventKind::kNone) return {};
  if (message.hooks.accept != nullptr && !message.hooks.accept(event)) return {};
  event.set_message(&message);
  return match;
}

Match Catalogue::first_of(std::span<const std::uint16_t> tried, std::string_view text, Voice voice,
                          Event& event) const {
  const Message* cut = nullptr;
  for (const bool fallback : {false, true}) {
    for (const std::uint16_t i : tried) {
      const Message& message = messages_[i];
      if (message.fallback != fallback || !is_believed(message, voice)) continue;
      const Match match = try_message(message, text, event);
      if (match.message == nullptr) continue;
      if (!match.cut) return match;
      // What was cut off may have been another message than that of a fallback.
      if (cut == nullptr && !fallback) cut = &message;
    }
    if (cut != nullptr) return try_message(*cut, text, event);
  }
  return {};
}

Match Catalogue::decode(std::string_view text, Voice voice, Event& event) const {
  text = without_end_blanks(text);
  std::array<std::uint16_t, kMaxCandidates> tried{};
  const std::size_t n = candidates(text, tried);
  return n == 0 ? Match{} : first_of(std::span(tried).first(n), text, voice, event);
}

Match Catalogue::decode_unfiltered(std::string_view text, Voice voice, Event& event) const {
  text = without_end_blanks(text);
  std::vector<std::uint16_t> tried(messages_.size());
  for (std::size_t i = 0; i < tried.size(); ++i) tried[i] = static_cast<std::uint16_t>(i);
  return first_of(tried, text, voice, event);
}

std::vector<Match> Catalogue::all(std::string_view text, Event& event) const {
  text = without_end_blanks(text);
  std::vector<Match> out;
  for (const Message& message : messages_) {
    const Match match = try_message(message, text, event);
    if (match.message != nullptr && !match.cut) out.push_back(match);
  }
  const auto is_fallback = [](const Match& match) { return match.message->fallback; };
  if (!std::all_of(out.begin(), out.end(), is_fallback)) std::erase_if(out, is_fallback);
  return out;
}

bool Catalogue::may_be_of_program(std::string_view text) const {
  std::array<std::uint16_t, kMaxCandidates> tried{};
  const auto found = std::span(tried).first(candidates(text, tried));
  return std::any_of(found.begin(), found.end(),
                     [&](std::uint16_t i) { return messages_[i].program; });
}

const Message* Catalogue::find(std::string_view id) const {
  for (const Message& message : messages_) {
    if (message.id == id) return &message;
  }
  return nullptr;
}

}  // namespace jetmem::kernel_log
