// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/catalogue.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/text/text.h"

namespace jetmem::kernel_log {
namespace {

bool has_value(const Event& event, const Exception& exception) {
  const Field* const field = event.find(exception.field);
  if (field == nullptr) return false;
  const std::string_view value = exception.value;
  if (field->type == FieldType::kText) return event.text_of(*field) == value;
  if (field->type == FieldType::kBool) return (field->number != 0) == (value == "true");
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), field->number).ptr;
  return std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())) == value;
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

inline std::uint32_t gram_at(const char* p) {
  std::uint32_t gram = 0;
  std::memcpy(&gram, p, sizeof gram);
  return gram;
}

constexpr unsigned kBits = 13;
inline std::uint32_t hash_of_gram(std::uint32_t gram) { return (gram * 0x9e3779b1U) >> 16U; }
inline std::uint32_t bucket_of(std::uint32_t gram) { return hash_of_gram(gram) >> (16 - kBits); }

std::string_view without_end_blanks(std::string_view text) {
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view message_id(const Event& event) {
  return event.message() == nullptr ? std::string_view{} : event.message()->id.view();
}

Catalogue::Catalogue(std::span<const Message> messages)
    : messages_(messages), heads_(std::size_t{1} << kBits) {
  std::size_t anchors = 0;
  for (const Message& each : messages) anchors += each.anchors.size() + each.forms.size();
  anchors_.reserve(2 * anchors);  // each is known by two places of it
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const std::size_t own = message.anchors.size() + message.forms.size();
    for (std::size_t k = 0; k < own; ++k) {
      Anchor anchor{};
      anchor.first = static_cast<std::uint16_t>(anchors_.size());
      anchor.message = static_cast<std::uint16_t>(i);
      anchor.form = static_cast<std::uint8_t>(k);
      const std::string_view text = text_of(anchor);
      if (text.size() < kMinAnchor) continue;
      anchor.size = static_cast<std::uint8_t>(text.size());
      anchor.last = text.back();
      anchors_.push_back(anchor);
    }
  }
  fill_heads();
}

const Catalogue& Catalogue::shipped() {
  static const Catalogue catalogue(shipped_messages());
  return catalogue;
}

std::string_view Catalogue::text_of(const Anchor& anchor) const {
  const Message& message = messages_[anchor.message];
  if (!message.anchors.empty()) return message.anchors[anchor.form];
  return message.forms[anchor.form].anchor();
}

// Every second four bytes of a line are looked up, so two places in each anchor are known by: one
// of them is looked up wherever the anchor stands. Those four bytes are chosen that the fewest
// other anchors have: words that all messages share are in ordinary lines, too.
void Catalogue::fill_heads() {
  std::vector<std::uint16_t> seen(heads_.size());
  for (const Anchor& anchor : anchors_) {
    const std::string_view text = text_of(anchor);
    for (std::size_t i = 0; i + 4 <= text.size(); ++i) ++seen[bucket_of(gram_at(text.data() + i))];
  }
  size_ = anchors_.size();
  for (std::size_t a = 0; a < size_; ++a) {
    const std::string_view text = text_of(anchors_[a]);
    std::size_t best = 0;
    unsigned fewest = UINT32_MAX;
    for (std::size_t i = 0; i + 5 <= text.size() && i < 64; ++i) {
      const unsigned others = unsigned{seen[bucket_of(gram_at(text.data() + i))]} +
                              seen[bucket_of(gram_at(text.data() + i + 1))];
      if (others >= fewest) continue;
      fewest = others;
      best = i;
    }
    for (const std::size_t offset : {best, best + 1}) {
      Anchor entry = anchors_[a];
      entry.gram = gram_at(text.data() + offset);
      entry.offset = static_cast<std::uint8_t>(offset);
      known_.set(hash_of_gram(entry.gram));
      std::uint16_t& head = heads_[bucket_of(entry.gram)];
      entry.next = head;
      if (offset == best) {
        anchors_[a] = entry;
        head = static_cast<std::uint16_t>(a + 1);
      } else {
        anchors_.push_back(entry);
        head = static_cast<std::uint16_t>(anchors_.size());
      }
    }
  }
}

std::size_t Catalogue::candidates(std::string_view text, std::span<std::uint16_t> out) const {
  std::size_t n = 0;
  const std::uint16_t* const heads = heads_.data();
  for (std::size_t at = 0; at + 4 <= text.size(); at += 2) {
    const std::uint32_t gram = gram_at(text.data() + at);
    if (!known_[hash_of_gram(gram)]) continue;
    std::uint16_t next = heads[bucket_of(gram)];
    while (next != 0) {
      const Anchor& anchor = anchors_[next - 1U];
      next = anchor.next;
      if (anchor.gram != gram || at < anchor.offset) continue;
      const std::string_view there = text.substr(at - anchor.offset, anchor.size);
      if (there.size() < anchor.size || there.back() != anchor.last) continue;
      if (there != text_of(anchor)) continue;
      const auto end = out.begin() + static_cast<std::ptrdiff_t>(n);
      const auto place = std::lower_bound(out.begin(), end, anchor.first);
      if ((place != end && *place == anchor.first) || n == out.size()) continue;
      std::move_backward(place, end, end + 1);
      *place = anchor.first;
      ++n;
    }
  }
  return n;
}

bool Catalogue::is_believed(const Message& message, Voice voice) {
  return voice == Voice::kUnknown || voice == (message.program ? Voice::kProcess : Voice::kKernel);
}

Catalogue::Tried Catalogue::of_one_message(Tried tried) const {
  std::size_t n = 1;
  while (n < tried.size() && anchors_[tried[n]].message == anchors_[tried[0]].message) ++n;
  return tried.first(n);
}

Match Catalogue::try_message(Tried tried, std::string_view text, Event& event) const {
  const Message& message = messages_[anchors_[tried[0]].message];
  Match match{&message, message.piece};
  const MessageHooks& hooks = message.hooks();
  if (hooks.decode != nullptr) {
    match.piece = hooks.decode(text, event);
  } else {
    FormMatcher matcher;
    FormMatch how = FormMatch::kNone;
    for (const std::uint16_t i : tried) {
      const FormMatch this_one =
          matcher.match(message.forms[anchors_[i].form], text, message.generic);
      if (this_one == FormMatch::kNone || (this_one == FormMatch::kCut && how == this_one))
        continue;
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
  if (hooks.accept != nullptr && !hooks.accept(event)) return {};
  event.set_message(&message);
  return match;
}

Match Catalogue::first_of(Tried tried, std::string_view text, Voice voice, Event& event,
                          bool quiet) const {
  Tried cut;
  for (const bool generic : {false, true}) {
    for (Tried rest = tried; !rest.empty();) {
      const Tried own = of_one_message(rest);
      rest = rest.subspan(own.size());
      const Message& message = messages_[anchors_[own[0]].message];
      if (message.generic != generic || !is_believed(message, voice)) continue;
      if (quiet && generic && !message.program) continue;
      const Match match = try_message(own, text, event);
      if (match.message == nullptr) continue;
      if (!match.cut) return match;
      // What was cut off may have been another message than a generic one.
      if (cut.empty() && !generic) cut = own;
    }
    if (!cut.empty()) return try_message(cut, text, event);
  }
  return {};
}

Match Catalogue::decode(std::string_view text, Voice voice, Event& event, bool quiet) const {
  text = without_end_blanks(text);
  std::array<std::uint16_t, kMaxCandidates> tried;  // NOLINT: filled as far as it is used
  const std::size_t n = candidates(text, tried);
  return n == 0 ? Match{} : first_of(std::span(tried).first(n), text, voice, event, quiet);
}

Match Catalogue::decode_unfiltered(std::string_view text, Voice voice, Event& event) const {
  std::vector<std::uint16_t> tried(size_);
  std::iota(tried.begin(), tried.end(), std::uint16_t{0});
  return first_of(tried, without_end_blanks(text), voice, event);
}

std::vector<Match> Catalogue::all(std::string_view text, Event& event) const {
  text = without_end_blanks(text);
  std::vector<std::uint16_t> tried(size_);
  std::iota(tried.begin(), tried.end(), std::uint16_t{0});
  std::vector<Match> out;
  for (Tried rest = tried; !rest.empty();) {
    const Tried own = of_one_message(rest);
    rest = rest.subspan(own.size());
    const Match match = try_message(own, text, event);
    if (match.message != nullptr && !match.cut) out.push_back(match);
  }
  const auto is_generic = [](const Match& match) { return match.message->generic; };
  if (!std::all_of(out.begin(), out.end(), is_generic)) std::erase_if(out, is_generic);
  return out;
}

bool Catalogue::may_be_of_program(std::string_view text) const {
  std::array<std::uint16_t, kMaxCandidates> tried;  // NOLINT: likewise
  const auto found = std::span(tried).first(candidates(text, tried));
  return std::any_of(found.begin(), found.end(),
                     [&](std::uint16_t i) { return messages_[anchors_[i].message].program; });
}

const Message* Catalogue::find(std::string_view id) const {
  for (const Message& message : messages_) {
    if (message.id == id) return &message;
  }
  return nullptr;
}

}  // namespace jetmem::kernel_log
