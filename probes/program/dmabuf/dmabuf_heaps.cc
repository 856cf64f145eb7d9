// SPDX-License-Identifier: Apache-2.0
#include "probes/program/dmabuf/dmabuf_heaps.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>

#include "probes/program/run.h"

namespace jetmem::probe {
namespace {

constexpr std::size_t kMaxEntries = 1024;
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMaxNamed = 8;  // of those that are not tried
constexpr unsigned kFramesRequired = 4;
constexpr const char* kDefaultHeap = "default_cma_region";
const char* const kDefaultAreas[] = {"reserved", "linux,cma", "default-pool", "default-poo"};
constexpr std::size_t kShortName = 11;

bool is_word(const std::string& name) {
  return name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// "" for a device; else why it is not one.
std::string heap_missing_reason(const std::string& path, const std::string& name, bool& is_alias) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return errno_name(errno);
  if (S_ISLNK(found.st_mode)) {
    char target[kLongestName] = {};
    const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    const std::string to(target, n > 0 ? static_cast<std::size_t>(n) : 0);
    is_alias = !to.empty() && to[0] != '.' && to.find('/') == std::string::npos;
    return "a link";
  }
  if (!S_ISCHR(found.st_mode)) return "no character device";
  if (name == "udmabuf") return "called as the one that is no heap";
  return is_word(name) ? "" : "not one printable word";
}

bool is_default_area(const std::string& name) {
  return std::find(std::begin(kDefaultAreas), std::end(kDefaultAreas), name) !=
         std::end(kDefaultAreas);
}

// In tenths, rounded down: slightly too little must not look like enough.
std::string mebibytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes >> 20) * 10 + (((bytes & ((1U << 20) - 1)) * 10) >> 20);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

}  // namespace

HeapList list_heaps(const std::string& directory) {
  HeapList list;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  if (!entries) {
    list.error = errno;
    return list;
  }
  std::vector<std::string> names;
  std::size_t unread = 0;
  for (;;) {
    // A list that breaks off is none: a heap that it leaves out would pass for absent.
    errno = 0;
    const dirent* const entry = ::readdir(entries.get());
    if (entry == nullptr && errno != 0) {
      list.error = errno;
      return list;
    }
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() < kMaxEntries) {
      names.push_back(name);
    } else if (++unread == kMaxEntries) {
      break;
    }
  }
  std::sort(names.begin(), names.end());
  std::size_t more = unread;
  std::size_t named = 0;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    bool is_alias = false;
    std::string why = heap_missing_reason(path, name, is_alias);
    if (is_alias) continue;
    if (why.empty() && list.heaps.size() < HeapList::kMaxHeaps) {
      list.heaps.push_back({name, path});
      continue;
    }
    if (why.empty()) why = "beyond the first " + std::to_string(HeapList::kMaxHeaps);
    if (named++ < kMaxNamed) {
      list.untried += (named > 1 ? ", " : "") + name.substr(0, kLongestName) + " (" + why + ")";
    } else {
      ++more;
    }
  }
  if (more > 0) {
    // In front, where it is not cut. Counting ends somewhere, too.
    list.untried = (unread == kMaxEntries ? "at least " : "") +
                   std::to_string(std::min(named, kMaxNamed) + more) + " entries, such as " +
                   list.untried;
  }
  return list;
}

HeapMemory memory_of_heap(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const char* word : {"secur", "protect", "restrict", "vpr", "trusted"}) {
    if (lower.find(word) != std::string::npos) return HeapMemory::kProtected;
  }
  return name.compare(0, 6, "system") == 0 ? HeapMemory::kOrdinary : HeapMemory::kContiguous;
}

std::optional<std::string> area_of_heap(const std::string& heap,
                                        const std::map<std::string, std::uint64_t>& largest_runs) {
  if (largest_runs.count(heap) > 0) return heap;
  const std::string cut = heap.substr(0, kShortName);
  if (heap.size() > kShortName && largest_runs.count(cut) > 0) return cut;
  if (heap != kDefaultHeap) return std::nullopt;
  std::optional<std::string> only;
  std::size_t defaults = 0;
  for (const auto& [area, run] : largest_runs) {
    if (!is_default_area(area)) continue;
    ++defaults;
    only = area;
  }
  if (defaults == 1) return only;
  if (largest_runs.size() == 1) return largest_runs.begin()->first;
  return std::nullopt;
}

std::string heap_skip_reason(const std::string& heap, const Options& options) {
  if (options.any_heap) return "";
  const auto area = area_of_heap(heap, options.largest_runs);
  if (!area) {
    return "the largest contiguous run of its memory is not known (root may read it, in debugfs)";
  }
  // How large it is, is the question then.
  if (options.bisect_limit > 0) return "";
  const std::uint64_t run = options.largest_runs.at(*area);
  const std::uint64_t needed = kFramesRequired * ladder(options.frame_bytes).back();
  if (run >= needed) return "";
  return "its largest free run is " + mebibytes(run) + "; four frames (" + mebibytes(needed) +
         ") are needed";
}

std::string heap_skip_reason(const std::string& heap, const Options& options, TriedAreas& tried) {
  std::string why = heap_skip_reason(heap, options);
  if (!why.empty()) return why;
  const auto area = area_of_heap(heap, options.largest_runs);
  if (!area) return "";
  const auto [first, is_new] = tried.emplace(*area, heap);
  return is_new ? "" : "the same memory as the heap " + first->second;
}

}  // namespace jetmem::probe
