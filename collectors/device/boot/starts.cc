// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/starts.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace jetmem::boot {
namespace {

constexpr std::uint64_t kRecent = 3600;
constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::size_t kMaxId = 40;
constexpr std::uint64_t kMaxCount = 1'000'000'000;
constexpr std::string_view kSince = "since ";
constexpr std::string_view kAll = "all ";
constexpr std::string_view kMore = "more ";
constexpr std::string_view kStopped = "stopped ";

bool is_boot_id(std::string_view text) {
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(),
                    [](char c, char form) { return form == '-' ? c == '-' : is_lower_hex(c); });
}

std::uint64_t seconds_of(Nanoseconds boot_now) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(boot_now).count());
}

}  // namespace

void Starts::add(std::string_view boot_id, Nanoseconds boot_now) {
  std::string id = printable(boot_id, kMaxId);
  if (boot != id) {
    at.clear();
    since = 0;
    count = 0;
    is_total = false;
    stopped = 0;
  }
  boot = std::move(id);
  ++count;
  if (at.size() == kMost) at.erase(at.begin());
  at.push_back(seconds_of(boot_now));
}

void Starts::start_over(std::string_view boot_id, Nanoseconds boot_now) {
  boot = printable(boot_id, kMaxId);
  at.clear();
  count = 0;
  is_total = false;
  stopped = 0;
  since = std::max<std::uint64_t>(seconds_of(boot_now), 1);
}

std::optional<std::size_t> Starts::recent(Nanoseconds boot_now) const {
  const std::uint64_t now = seconds_of(boot_now);
  if (since > 0 && (now < since || now - since < kRecent)) return std::nullopt;
  return static_cast<std::size_t>(std::count_if(
      at.begin(), at.end(), [&](std::uint64_t one) { return one <= now && now - one < kRecent; }));
}

std::string to_text(const Starts& starts) {
  std::string text = starts.boot + '\n';
  if (starts.since > 0) text.append(kSince).append(std::to_string(starts.since)).append("\n");
  text.append(starts.is_total ? kAll : kMore).append(std::to_string(starts.count)).append("\n");
  if (starts.stopped) text.append(kStopped).append(std::to_string(*starts.stopped)).append("\n");
  for (const std::uint64_t one : starts.at) text.append(std::to_string(one)).append("\n");
  return text;
}

Result<void> parse_starts(std::string_view text, Starts& out) {
  out = {};
  Lines lines(text);
  std::string_view line;
  if (text.empty() || text.back() != '\n' || !lines.next(line) || !is_boot_id(line)) {
    return fail(Errc::kMalformed, "expected a boot's ID and starts, found '" +
                                      printable(text.substr(0, text.find('\n')), kMaxId) + "'");
  }
  out.boot.assign(line);
  bool has_count = false;
  while (lines.next(line)) {
    const std::size_t number = lines.number();
    const bool is_since = number == 2 && take_prefix(line, kSince);
    const bool may_be_count = !has_count && !is_since && number <= 3 && out.at.empty();
    const bool is_all = may_be_count && take_prefix(line, kAll);
    const bool is_count = is_all || (may_be_count && take_prefix(line, kMore));
    const bool is_stopped =
        has_count && !out.stopped && out.at.empty() && take_prefix(line, kStopped);
    const auto at = take_u64(line);
    if (!at || !line.empty()) return lines.malformed("expected seconds since boot");
    if (is_since) {
      out.since = *at;
      continue;
    }
    if (is_count) {
      if (*at > kMaxCount) return lines.malformed("not a likely number of starts");
      out.count = *at;
      out.is_total = is_all;
      has_count = true;
      continue;
    }
    if (is_stopped) {
      if (*at > out.count) return lines.malformed("more runs were stopped than started");
      out.stopped = *at;
      continue;
    }
    if (out.at.size() == Starts::kMost) return lines.malformed("more starts than are kept");
    out.at.push_back(*at);
  }
  return {};
}

}  // namespace jetmem::boot
