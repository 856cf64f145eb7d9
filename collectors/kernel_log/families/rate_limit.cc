// SPDX-License-Identifier: Apache-2.0
// ___ratelimit() of lib/ratelimit.c: "cma_alloc: 2 callbacks suppressed".
#include "collectors/kernel_log/event/suppressed.h"
#include "collectors/kernel_log/families/common/line_parts.h"
#include "collectors/kernel_log/families/common/sentence_parts.h"
#include "collectors/kernel_log/families/families.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 1> kAnchors{" callbacks suppressed"};

Piece decode(std::string_view text, Event& event) {
  Scan scan(without_vendor_prefix(text));
  const auto function = scan.until_last(": ");
  if (!function || function->empty()) return {};
  if (!is_kernel_name(*function)) return {};
  const auto count = scan.number();
  if (!count || *count < 0 || !scan.literal(" callbacks suppressed")) return {};
  scan.blanks();
  if (!scan.at_end()) return {};
  event.reset(EventKind::kRatelimitSuppressed);
  event.set_text("function", *function);
  event.set_number("count", *count);
  return {.role = Role::kWhole};
}

void describe(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kRatelimitSuppressed) return;
  const EventKind kind = suppressed_kind(event.text("function"));
  out += "the kernel suppressed ";
  if (const auto count = event.number("count")) out += std::to_string(*count) + " ";
  out += "more messages of ";
  out += name_in_words(event.text("function"));
  if (kind != EventKind::kNone) {
    out += ", which are of the kind ";
    out += info_of(kind).name;
  }
}

}  // namespace

const Family kRateLimit{.name = "rate_limit",
                        .anchors = kAnchors,
                        .decode = decode,
                        .complete = nullptr,
                        .describe = describe};

}  // namespace jetmem::kernel_log
