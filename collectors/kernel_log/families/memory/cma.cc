// SPDX-License-Identifier: Apache-2.0
// What the forms of messages/cma.yaml cannot say: names of error numbers, and runs of free pages.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/root/manifest.h"
#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log::hooks {
namespace {

// Of each range of an area, until the event is complete.
constexpr std::string_view kRangeLargest = "_range_largest";
constexpr std::string_view kRangeFree = "_range_free";

struct Runs {
  std::int64_t largest = 0;
  std::uint64_t free = 0;
};

// "6@8314+9@8343", or "6+9" without the places. Nothing for anything else.
std::optional<Runs> take_runs(std::string_view text) {
  Scan scan(text);
  Runs runs;
  do {
    const auto length = scan.number();
    if (!length || *length < 0) return std::nullopt;
    if (scan.literal("@") && !scan.number()) return std::nullopt;
    runs.largest = std::max(runs.largest, *length);
    runs.free += static_cast<std::uint64_t>(*length);
  } while (scan.literal("+"));
  if (!scan.at_end()) return std::nullopt;
  return runs;
}

void add_item(Event& event, std::string_view name, std::uint64_t value) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  event.add_item(name, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

}  // namespace

bool cma_refused(Event& event) {
  const auto ret = event.number("ret");
  if (!ret) return true;
  // No allocator returns these: they are "-12", "-16" or "-110", cut off.
  if (*ret == -1 || *ret == -2 || *ret == -11) event.remove("ret");
  constexpr std::int64_t kMaxErrno = 4095;
  const bool is_errno = event.has("ret") && *ret < 0 && *ret >= -kMaxErrno;
  const std::string_view name = is_errno ? errno_name(static_cast<int>(-*ret)) : std::string_view();
  if (!name.empty()) event.set_text("errno", name);
  return true;
}

// Since 6.15 an area may have several ranges: "cma: range 1: +5@11+20@100".
Piece cma_range(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("cma: range ")) return {};
  const auto number = scan.number();
  if (!number || *number < 0 || !scan.literal(":")) return {};
  scan.blanks();
  scan.literal("+");  // the range before had some too
  const std::string_view list = trim(scan.rest());
  const auto runs = list.empty() ? Runs() : take_runs(list);
  if (!runs) return {};
  event.reset(EventKind::kCmaAllocFailure);
  add_item(event, kRangeLargest, static_cast<std::uint64_t>(runs->largest));
  add_item(event, kRangeFree, runs->free);
  return {.role = Role::kFollows, .step = 1, .repeats = true};
}

// "number of available pages: 6@8314+9@8343=> 15 free of 4096 total pages". Of a list that is
// spread over several records the last has the sums.
Piece cma_free(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("cma: ");
  const bool whole = scan.literal("number of available pages: ");
  const auto list = scan.until("=>");
  if (!list || list->find_first_not_of("0123456789@+ ") != std::string_view::npos) return {};
  scan.blanks();
  event.reset(EventKind::kCmaAllocFailure);
  // A vendor's form: "=>357 pages, total: 2048 pages".
  if (!take_natural(scan, event, "free") ||
      !(scan.literal(" free of ") || (whole && scan.literal(" pages, total: "))) ||
      !take_natural(scan, event, "total") ||
      !(scan.literal(" total pages") || scan.literal(" pages"))) {
    return {};
  }
  const auto runs = take_runs(trim(*list));
  if (whole && runs) event.set_number("largest", runs->largest);
  return {.role = Role::kFollows, .step = 2, .last = true};
}

// The longest run of all ranges, unless one was lost or cut off: then they do not add up.
void cma_largest(Event& event, Soc /*soc*/) {
  for (const std::string_view name : {"columns", "rows"}) event.remove(name);
  if (!event.has(kRangeLargest)) return;
  event.remove(Event::kListCut);  // of a list that nobody gets to see
  std::uint64_t largest = 0;
  std::uint64_t free = 0;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const std::uint64_t value = parse_u64(event.text_of(event[i])).value_or(0);
    if (event[i].name == kRangeLargest) largest = std::max(largest, value);
    if (event[i].name == kRangeFree) free += value;
  }
  event.remove(kRangeLargest);
  event.remove(kRangeFree);
  const auto sum = event.number("free");
  if (sum && static_cast<std::uint64_t>(*sum) == free) {
    event.set_number("largest", static_cast<std::int64_t>(largest));
  }
}

// Whether the refused pages are those of a frame of 2 or 4 bytes a pixel; the last rows of the
// screen have no characters.
bool is_frame_buffer(const Event& open, const Event& part) {
  constexpr std::int64_t kMost = 4096;
  const std::int64_t columns = part.number("columns").value_or(0);
  const std::int64_t rows = part.number("rows").value_or(0);
  const std::int64_t pages = open.number("pages").value_or(0);
  if (columns <= 0 || rows <= 0 || columns > kMost || rows > kMost) return false;
  for (const std::int64_t bytes : {2, 4}) {
    const std::int64_t frame = columns * 8 * rows * 16 * bytes / 4096;
    if (pages >= frame && pages <= frame + frame / 16 + 1) return true;
  }
  return false;
}

}  // namespace jetmem::kernel_log::hooks
