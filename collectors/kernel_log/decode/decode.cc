// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/decode/decode.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/text/text.h"
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array kFamilies{&kGpu, &kGraphics, &kHost1x, &kOom, &kAllocation, &kReservedMemory,
                               &kCma, &kDmaMemory, &kNvmap, &kUserSpaceNvmap, &kCorruption, &kSwap,
                               &kThermal, &kCamera, &kStorage, &kMemoryClock, &kFirmware,
                               &kRateLimit, &kMemoryReport, &kProgramAllocation,
                               // By words alone: when no other knows the line.
                               &kDriverMemory};
constexpr std::size_t kMaxFamilies = 32;
static_assert(kFamilies.size() <= kMaxFamilies);

// Which families a line could concern. Every second four bytes of the line are looked up in a table
// of how their anchors begin: an anchor of five bytes or more has its first four or its second four
// there. Four fifths of a kernel log concern none.
class Filter {
 public:
  Filter() {
    for (std::size_t f = 0; f < kFamilies.size(); ++f) {
      for (const std::string_view anchor : kFamilies[f]->anchors) {
        for (const std::size_t offset : {0U, 1U}) {
          const std::uint32_t bucket = bucket_of(anchor.data() + offset);
          anchors_.push_back({anchor, f, offset, heads_[bucket]});
          heads_[bucket] = static_cast<std::uint16_t>(anchors_.size());
        }
      }
    }
  }

  // A bit for each family of kFamilies.
  std::uint32_t families_of(std::string_view text) const {
    std::uint32_t families = 0;
    for (std::size_t at = 0; at + 4 <= text.size(); at += 2) {
      std::uint16_t next = heads_[bucket_of(text.data() + at)];
      while (next != 0) {
        const Anchor& anchor = anchors_[next - 1U];
        if (at >= anchor.offset) {
          std::string_view rest = text.substr(at - anchor.offset);
          if (take_prefix(rest, anchor.text)) families |= 1U << anchor.family;
        }
        next = anchor.next;
      }
    }
    return families;
  }

 private:
  static constexpr unsigned kBits = 13;
  struct Anchor {
    std::string_view text;
    std::size_t family;
    std::size_t offset;  // of the four bytes in it
    std::uint16_t next;  // index + 1 of the next anchor in the same bucket
  };

  static std::uint32_t bucket_of(const char* p) {
    std::uint32_t gram = 0;
    std::memcpy(&gram, p, sizeof gram);
    return (gram * 0x9e3779b1U) >> (32 - kBits);
  }

  std::array<std::uint16_t, 1U << kBits> heads_{};  // index + 1 of an anchor, or 0
  std::vector<Anchor> anchors_;
};

Decoded decode_with(std::uint32_t families, std::string_view text, Voice voice, Event& event,
                    std::optional<std::uint8_t> level) {
  // LOG_INFO and LOG_DEBUG: a driver that got no memory and says so in passing has another way.
  const bool informs = level && *level >= 6;
  for (std::size_t f = 0; f < kFamilies.size(); ++f) {
    if ((families & (1U << f)) == 0) continue;
    const Family& family = *kFamilies[f];
    const bool believed =
        voice == Voice::kUnknown || voice == (family.user_space ? Voice::kProcess : Voice::kKernel);
    if (!believed) continue;
    const Piece piece = family.decode(text, event);
    if (piece.role == Role::kNothing || (informs && piece.by_words)) continue;
    if (piece.by_words) event.set_guess();
    return {&family, nullptr, piece};
  }
  return {};
}

}  // namespace

std::span<const Family* const> all_families() { return kFamilies; }

Decoded decode_line(std::string_view text, Voice voice, Event& event,
                    std::optional<std::uint8_t> level, const Catalogues& catalogues) {
  static const Filter filter;
  text = without_vendor_prefix(text.substr(0, kMaxLine));
  for (const Catalogue* const catalogue : {catalogues.first, catalogues.second}) {
    if (catalogue == nullptr) continue;
    if (const Match match = catalogue->decode(text, voice, event)) {
      return {nullptr, match.message, match.piece};
    }
  }
  const std::uint32_t families = filter.families_of(text);
  if (families == 0) return {};
  return decode_with(families, text, voice, event, level);
}

Decoded decode_line_unfiltered(std::string_view text, Voice voice, Event& event) {
  text = without_vendor_prefix(text.substr(0, kMaxLine));
  if (const Match match = Catalogue::shipped().decode_unfiltered(text, voice, event)) {
    return {nullptr, match.message, match.piece};
  }
  return decode_with(UINT32_MAX, text, voice, event, {});
}

void complete(Event& event, const Decoded& decoded, Soc soc) {
  const auto hook =
      decoded.family != nullptr ? decoded.family->complete : decoded.message->hooks.complete;
  if (hook != nullptr) hook(event, soc);
}

std::string describe(const Event& event) {
  std::string text;
  if (const Message* const message = event.message()) {
    if (message->hooks.describe != nullptr) message->hooks.describe(event, text);
    if (text.empty() && !message->say.empty()) say(message->say, event, text);
  }
  for (const std::string_view pattern : info_of(event.kind()).say) {
    if (!text.empty() || say(pattern, event, text)) break;
  }
  for (const Family* family : kFamilies) {
    if (!text.empty()) break;
    family->describe(event, text);
  }
  text = printable(text, 400);
  // What is quoted could be read as a message of its own, if the sentence stands in a log again.
  Event quoted;
  if (decode_line(text, Voice::kUnknown, quoted).piece.role != Role::kNothing) {
    for (std::size_t at = text.find(": "); at != std::string::npos; at = text.find(": ", at)) {
      text[at] = ',';
    }
  }
  return text;
}

}  // namespace jetmem::kernel_log
