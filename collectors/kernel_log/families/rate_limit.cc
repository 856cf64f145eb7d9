// SPDX-License-Identifier: Apache-2.0
// ___ratelimit() of lib/ratelimit.c: "cma_alloc: 2 callbacks suppressed".
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 1> kRateLimitAnchors{" callbacks suppressed"};

Piece decode_rate_limit(std::string_view text, Event& event) {
  Scan scan(without_vendor_prefix(text));
  const auto function = scan.until_last(": ");
  if (!function || !is_kernel_name(*function)) return {};
  event.reset(EventKind::kRatelimitSuppressed);
  event.set_text("function", *function);
  if (!take_natural(scan, event, "count") || !scan.literal(" callbacks suppressed")) return {};
  scan.blanks();
  return {.role = scan.at_end() ? Role::kWhole : Role::kNothing};
}

void describe_rate_limit(const Event& event, std::string& out) {
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
                        .anchors = kRateLimitAnchors,
                        .decode = decode_rate_limit,
                        .describe = describe_rate_limit};

}  // namespace jetmem::kernel_log
