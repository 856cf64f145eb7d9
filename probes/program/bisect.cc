// SPDX-License-Identifier: Apache-2.0
#include "probes/program/bisect.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "probes/program/run.h"
#include "probes/program/small_file.h"

namespace jetmem::probe {
namespace {

constexpr std::uint64_t kFine = 1U << 20;
// Of the deadline: no try begins later, so that the last one and the result fit in.
constexpr int kTimeoutShare = 2;

// The search expects allocations to fail, but not frees.
bool is_giving_back(const std::string& failed_step) {
  return failed_step == step::kFree || failed_step == step::kUnmap || failed_step == step::kRelease;
}

}  // namespace

Sizes search_largest(std::uint64_t frame, std::uint64_t limit, std::uint64_t page,
                     const std::function<Attempt(std::uint64_t bytes)>& attempt) {
  Sizes sizes;
  const auto goes_on = [&](std::uint64_t bytes) {
    const Attempt answer = attempt(bytes);
    if (answer == Attempt::kNotTried) return false;
    ++sizes.tries;
    if (answer == Attempt::kAllocated) sizes.largest = bytes;
    if (answer == Attempt::kNotAllocated) sizes.smallest = bytes;
    return answer != Attempt::kStop && sizes.tries < kMaxBisectTries;
  };
  std::uint64_t bytes = std::min((frame + page - 1) / page * page, limit / page * page);
  if (bytes == 0) return sizes;
  while (goes_on(bytes)) {
    if (sizes.smallest == 0) {
      if (bytes == limit / page * page) break;
      bytes = std::min(bytes * 2, limit / page * page);
    } else if (sizes.largest == 0) {
      if (bytes == page) break;
      bytes = page;
    } else {
      if (sizes.smallest - sizes.largest <= std::max({kFine, sizes.largest / 100, page})) break;
      bytes = (sizes.largest + (sizes.smallest - sizes.largest) / 2) / page * page;
    }
  }
  return sizes;
}

std::uint64_t bisect_bound(std::uint64_t requested, std::optional<std::uint64_t> available,
                           std::uint64_t page) {
  std::uint64_t bound = (requested + page - 1) / page * page;
  if (available) {
    bound = std::min(bound, *available > kBisectReserve ? *available - kBisectReserve : 0);
  }
  return bound / page * page;
}

Result& Run::bisect(std::string kind, std::string target, const Work& work, bool contiguous) {
  // Nothing: it is unknown how much may be taken.
  const auto limit_now = [&]() -> std::optional<std::uint64_t> {
    const FileText meminfo = read_small_file(options_.meminfo);
    auto available = number_of(meminfo.text, "MemAvailable");
    if (!available && meminfo.error != ENOENT) return std::nullopt;
    // In MemAvailable, too.
    const std::uint64_t cma = contiguous ? 0 : number_of(meminfo.text, "CmaFree").value_or(0);
    if (available) *available -= std::min(*available, cma);
    return bisect_bound(options_.bisect_limit, available, page_size());
  };
  const auto timeout = std::chrono::milliseconds(1000) * options_.deadline_seconds;
  const auto is_in_time = [&] {
    return std::chrono::steady_clock::now() - began_ < timeout / kTimeoutShare;
  };
  const std::optional<std::uint64_t> limit = limit_now();
  std::string why;
  if (!limit) {
    why = options_.meminfo + " has no MemAvailable";
  } else if (*limit == 0) {
    why = "at most the 512 MiB are available that are never taken";
  } else if (!is_in_time()) {
    why = "no time left";
  }
  if (!why.empty()) {
    return add_result(std::move(kind), std::move(target), State::kSkipped, std::move(why));
  }
  Result& result = add(std::move(kind), std::move(target));
  Result failed;
  bool stopped = false;
  bool in_time = true;
  bool has_shrunk = false;
  const auto attempt = [&](std::uint64_t bytes) {
    in_time = is_in_time();
    // Others may have taken memory since, and shall have it.
    has_shrunk = bytes > limit_now().value_or(0);
    if (!in_time || has_shrunk) return Attempt::kNotTried;
    Result tried;
    tried.kind = result.kind;
    tried.target = result.target;
    SizeStep size_step;
    if (try_size(tried, size_step, bytes, work)) {
      result.size_steps.assign(1, size_step);
      return Attempt::kAllocated;
    }
    failed = std::move(tried);
    // Larger than a driver allows, or than there is: the bound that is searched for.
    stopped = failed.state != State::kUnsupported &&
              (failed.state != State::kFailed || is_giving_back(failed.failed_step));
    return stopped ? Attempt::kStop : Attempt::kNotAllocated;
  };
  const Sizes sizes = search_largest(options_.frame_bytes, *limit, page_size(), attempt);
  if (sizes.tries == 0) {
    // Between the look before and the first try.
    result.state = State::kSkipped;
    result.reason = in_time ? "too little memory is available" : "no time left";
    return result;
  }
  Bisection& found = result.bisection.emplace();
  found.largest_bytes = sizes.largest;
  found.limit_bytes = has_shrunk ? std::max(sizes.largest, sizes.smallest) : *limit;
  found.tries = sizes.tries;
  found.error = failed.error;
  // Larger than the driver makes them at all.
  if (found.error.empty() && failed.state != State::kOk) found.error = state_name(failed.state);
  // There may be larger ones, but the result must be printed in time.
  if (!in_time) found.error = "ETIMEDOUT";
  if (sizes.largest == 0 || stopped) {
    result.state = failed.state;
    result.reason = std::move(failed.reason);
    result.failed_step = std::move(failed.failed_step);
    result.failed_bytes = failed.failed_bytes;
    result.error = std::move(failed.error);
  }
  return result;
}

}  // namespace jetmem::probe
