#include "collectors/boot/starts.h"

#include <algorithm>

#include "base/text.h"

namespace jetmem::boot {
namespace {

constexpr std::size_t kMaxId = 40;
constexpr std::uint64_t kRecent = 3600;

std::uint64_t seconds_of(Nanoseconds boot_now) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(boot_now).count());
}

}  // namespace

void Starts::add(std::string_view boot_id, Nanoseconds boot_now) {
  std::string id = printable(boot_id, kMaxId);
  if (boot != id) at.clear();
  boot = std::move(id);
  if (at.size() == kMost) at.erase(at.begin());
  at.push_back(seconds_of(boot_now));
}

std::size_t Starts::recent(Nanoseconds boot_now) const {
  const std::uint64_t now = seconds_of(boot_now);
  return static_cast<std::size_t>(std::count_if(
      at.begin(), at.end(), [&](std::uint64_t one) { return one <= now && now - one < kRecent; }));
}

std::string to_text(const Starts& starts) {
  std::string text = starts.boot + '\n';
  for (const std::uint64_t one : starts.at) text.append(std::to_string(one)).append("\n");
  return text;
}

Result<void> parse_starts(std::string_view text, Starts& out) {
  out.boot.clear();
  out.at.clear();
  Lines lines(text);
  std::string_view line;
  if (text.empty() || text.back() != '\n' || !lines.next(line) || line.empty() ||
      line.size() > kMaxId || printable(line, kMaxId) != line) {
    return fail(Errc::kMalformed, "expected a boot's ID and starts, found '" +
                                      printable(text.substr(0, text.find('\n')), kMaxId) + "'");
  }
  out.boot.assign(line);
  while (lines.next(line)) {
    const auto at = take_u64(line);
    if (!at || !line.empty()) return lines.malformed("expected seconds since boot");
    if (out.at.size() == Starts::kMost) return lines.malformed("more starts than are kept");
    out.at.push_back(*at);
  }
  return {};
}

}  // namespace jetmem::boot
