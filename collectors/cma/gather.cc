// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/gather.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "collectors/cma/trace.h"
#include "collectors/processes/group/cgroup.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostThreads = 64;
// How often a text that stays the same is read before it is omitted, and for how many readings
// then.
constexpr std::size_t kOftenRead = 2;
constexpr std::size_t kMostOmitted = 6;
constexpr std::string_view kDebugfsCma = "/sys/kernel/debug/cma";

class CmaGather {
 public:
  explicit CmaGather(Gatherer& files) : files_(files) {}

  void run() {
    const std::string instance(kCmaTraceInstance);
    std::vector<std::string> cpus;
    const int error = files_.list(instance + "/per_cpu", cpus);
    const FileText pauses = files_.read(instance + "/options/pause-on-trace");
    if (trim(pauses.text) != "0") files_.remembered().clear();
    if (error != 0 || !pauses.ok()) {
      files_.add(instance + "/trace", {}, error);
      return;
    }
    std::erase_if(cpus, [](const std::string& name) { return !name.starts_with("cpu"); });
    for (const std::string& cpu : cpus) stats_.push_back(instance + "/per_cpu/" + cpu + "/stats");
    std::vector<std::string> areas;
    (void)files_.list(kDebugfsCma, areas);
    if (areas.size() > CmaTrace::kMaxAreas) areas.resize(CmaTrace::kMaxAreas);

    std::vector<std::string> before;
    std::vector<std::string> after;
    std::vector<std::pair<std::string, std::string>> bounds;
    std::string trace;
    int trace_error = 0;
    bool is_omitted = false;
    // Where a ring overwrote events while the text was read, it is read once more.
    for (int tries = 0; tries < 2; ++tries) {
      before.clear();
      for (const std::string& path : stats_) before.emplace_back(take(path));
      is_omitted = omits_text(counted(before));
      if (!is_omitted) trace = take(instance + "/trace", &trace_error);
      bounds.clear();
      for (const std::string& area : areas) read_area(area, bounds);
      after.clear();
      for (const std::string& path : stats_) after.emplace_back(take(path));
      if (is_omitted || counted(before, "overrun") == counted(after, "overrun")) break;
    }
    for (std::size_t i = 0; i < stats_.size(); ++i) files_.add(stats_[i], before[i]);
    files_.add(is_omitted ? std::string(kCmaUnchanged) : instance + "/trace", trace, trace_error);
    for (const auto& [path, text] : bounds) files_.add(path, text);
    for (std::size_t i = 0; i < stats_.size(); ++i) {
      files_.add(std::string(kCmaAfter) + stats_[i], after[i]);
    }
    const Facts& facts = files_.root().facts();
    note(kCmaTicks, facts.clock_ticks_per_second);
    note(kCmaPage, facts.page_size);
    if (trace_error != 0) files_.remembered().clear();
    if (trace_error == 0 && !is_omitted) remember(counted(before), trace);
    read_tasks();
  }

 private:
  void note(std::string_view name, const std::optional<std::uint64_t>& fact) {
    if (fact) files_.add(name, std::to_string(*fact) + "\n");
  }

  // The text of a file, without a record of it.
  std::string take(const std::string& path, int* error = nullptr) {
    const FileText file = files_.read(path);
    if (error != nullptr) *error = file.error;
    std::string text(file.text);
    files_.forget();
    return text;
  }

  // Lines of all rings. "now ts" differs each time.
  static std::string counted(const std::vector<std::string>& stats, std::string_view begin = "") {
    std::string out;
    for (const std::string& text : stats) {
      Lines lines(text);
      std::string_view line;
      while (lines.next(line)) {
        if (line.starts_with(begin) && !line.starts_with("now ts")) out.append(line).append("\n");
      }
    }
    return out;
  }

  // What is remembered: the counters, how often the text was read with them, how often it was
  // omitted since, and the threads in it, each with its process where that was seen.
  bool omits_text(const std::string& counters) {
    std::vector<std::string>& known = files_.remembered();
    if (known.size() < 3 || known[0] != counters || known[1].size() < kOftenRead) return false;
    if (known[2].size() >= kMostOmitted) return false;
    known[2] += 'x';
    return true;
  }

  void remember(const std::string& counters, const std::string& trace) {
    std::vector<std::string>& known = files_.remembered();
    const bool is_same = known.size() >= 3 && known[0] == counters;
    const std::string read = is_same && known[1].size() < kOftenRead ? known[1] + 'x'
                             : is_same                               ? known[1]
                                                                     : "x";
    const std::vector<std::string> old = std::exchange(known, {counters, read, ""});
    for (const std::uint32_t number : allocating_threads(trace, kMostThreads)) {
      const std::string thread = std::to_string(number);
      const auto at = std::find_if(old.begin(), old.end(), [&](const std::string& entry) {
        return entry.starts_with(thread + " ");
      });
      known.push_back(at != old.end() ? *at : thread);
    }
  }

  void read_area(const std::string& area, std::vector<std::pair<std::string, std::string>>& out) {
    const std::string folder = std::string(kDebugfsCma) + "/" + area + "/";
    const auto add = [&](const std::string& leaf) {
      const FileText file = files_.read(folder + leaf);
      if (file.ok()) out.emplace_back(folder + leaf, file.text);
      files_.forget();
    };
    for (const char* leaf : {"count", "order_per_bit", "base_pfn", "bitmap"}) add(leaf);
    std::vector<std::string> ranges;
    if (files_.list(folder + "ranges", ranges) != 0) return;
    for (const std::string& range : ranges) {
      for (const char* leaf : {"/base_pfn", "/bitmap"}) add("ranges/" + range + leaf);
    }
  }

  // Who allocates: the process of each thread.
  void read_tasks() {
    std::vector<std::string>& known = files_.remembered();
    for (std::size_t i = 3; i < known.size() && files_.has_room(); ++i) {
      const std::size_t blank = known[i].find(' ');
      const std::string thread = known[i].substr(0, blank);
      const std::string folder = "/proc/" + thread;
      const FileText status = files_.read(folder + "/status");
      if (!status.ok()) {
        if (blank == std::string::npos) continue;
        int error = 0;
        take("/proc/" + known[i].substr(blank + 1) + "/stat", &error);
        files_.add(folder + "/process", {}, error);
        continue;
      }
      std::string pid;
      Lines lines(status.text);
      std::string_view line;
      while (lines.next(line)) {
        if (take_prefix(line, "Tgid:")) pid = trim(line);
      }
      files_.forget();
      if (!small_number(pid)) continue;
      known[i] = thread + " " + pid;
      files_.add(folder + "/status", "Tgid:\t" + pid + "\n");
      const std::string comm = take("/proc/" + pid + "/comm");
      files_.add(folder + "/comm of process", comm);
      const std::string stat = take(folder + "/stat");
      files_.add(folder + "/stat", stat);
      std::string cgroup;
      append_cgroup_lines(cgroup, take(folder + "/cgroup"));
      files_.add(folder + "/cgroup", cgroup);
    }
  }

  Gatherer& files_;
  std::vector<std::string> stats_;
};

}  // namespace

void gather_cma_map(Gatherer& files) { CmaGather(files).run(); }

}  // namespace jetmem
