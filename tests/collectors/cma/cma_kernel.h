// SPDX-License-Identifier: Apache-2.0
// A kernel's contiguous memory areas with what it traces of them: threads allocate and release by
// the test's wish, and its files say so in the words of one version of Linux.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/root/snapshot.h"
#include "collectors/cma/trace.h"

namespace jetmem {

enum class CmaFormat { k510, k61, k612 };

class CmaKernel {
 public:
  struct Area {
    std::string name;
    std::uint64_t base = 0;
    std::vector<bool> taken;
  };
  struct Thread {
    std::uint32_t number = 0;
    std::string comm;
    std::size_t cpu = 0;
  };

  CmaKernel(CmaFormat format, std::size_t cpus, std::size_t room)
      : format_(format), room_(room), rings_(cpus) {}

  void add_area(std::string name, std::uint64_t base, std::uint64_t pages) {
    areas.push_back({std::move(name), base, std::vector<bool>(pages)});
  }

  // First fit; -1: none is free.
  std::int64_t find(std::size_t area, std::uint64_t pages) const {
    const auto& taken = areas[area].taken;
    std::uint64_t run = 0;
    for (std::uint64_t i = 0; i < taken.size(); ++i) {
      run = taken[i] ? 0 : run + 1;
      if (run == pages) return static_cast<std::int64_t>(i + 1 - pages);
    }
    return -1;
  }
  void set(std::size_t area, std::uint64_t at, std::uint64_t pages, bool taken) {
    for (std::uint64_t i = 0; i < pages; ++i) areas[area].taken[at + i] = taken;
  }
  void trace_alloc(const Thread& by, std::size_t area, std::uint64_t at, std::uint64_t pages,
                   const std::string& function = "") {
    event(by, format_ == CmaFormat::k510 ? "cma_alloc" : "cma_alloc_finish",
          fields(area, areas[area].base + at, true, pages) + " align=4" +
              (format_ == CmaFormat::k612 ? " errorno=0" : ""));
    if (function.empty()) return;
    append(by, "<stack trace>\n => trace_event_raw_event_cma_alloc_class\n => cma_alloc\n => " +
                   function + "\n => vfs_ioctl");
  }
  // A range was tried, and could not be had.
  void trace_failure(const Thread& by, std::size_t area, std::uint64_t at, std::uint64_t pages) {
    event(by, format_ == CmaFormat::k510 ? "cma_alloc" : "cma_alloc_finish",
          fields(area, areas[area].base + at, false, pages) + " align=4" +
              (format_ == CmaFormat::k612 ? " errorno=-16" : ""));
  }
  void trace_release(const Thread& by, std::size_t area, std::uint64_t at, std::uint64_t pages) {
    event(by, "cma_release", fields(area, areas[area].base + at, true, pages));
  }
  // What other events of an instance look like.
  void trace_other(const Thread& by) {
    event(by, "cma_alloc_start", "name=reserved count=1 align=0");
  }

  // Somebody reads from the instance's trace_pipe: it is taken out.
  void consume(std::size_t cpu, std::size_t events) {
    Ring& ring = rings_[cpu];
    for (; events > 0 && !ring.held.empty(); --events) {
      ring.held.pop_front();
      ++ring.read;
    }
  }
  // echo > trace
  void clear() {
    for (Ring& ring : rings_) ring = Ring();
  }
  // echo > per_cpu/cpuN/trace
  void clear(std::size_t cpu) { rings_[cpu] = Ring(); }
  void drop(std::size_t cpu) { ++rings_[cpu].dropped; }
  void pass(std::uint64_t nanoseconds) { now_ += nanoseconds; }

  void render(Snapshot& out, bool with_places, bool with_bitmaps) const {
    const std::string folder(kCmaTraceInstance);
    out.clear();
    out.add(folder + "/options/pause-on-trace", "0\n", 0);
    out.add(folder + "/trace_clock", "local global counter uptime perf mono mono_raw [boot]\n", 0);
    for (std::size_t cpu = 0; cpu < rings_.size(); ++cpu) add_stats(out, "", cpu);
    out.add(folder + "/trace", text(), 0);
    for (const Area& area : areas) {
      const std::string at = "/sys/kernel/debug/cma/cma-" + area.name.substr(0, 11) + "/";
      if (!with_places) continue;
      out.add(at + "count", std::to_string(area.taken.size()) + "\n", 0);
      out.add(at + "order_per_bit", "0\n", 0);
      out.add(at + "base_pfn", std::to_string(area.base) + "\n", 0);
      if (with_bitmaps) out.add(at + "bitmap", bitmap(area), 0);
    }
    for (std::size_t cpu = 0; cpu < rings_.size(); ++cpu) add_stats(out, kCmaAfter, cpu);
  }

  std::vector<Area> areas;

 private:
  struct Ring {
    std::deque<std::pair<std::uint64_t, std::string>> held;  // time, lines
    std::uint64_t overrun = 0;
    std::uint64_t read = 0;
    std::uint64_t dropped = 0;
  };

  std::string fields(std::size_t area, std::uint64_t pfn, bool has_page,
                     std::uint64_t pages) const {
    std::string out;
    if (format_ != CmaFormat::k510) out = "name=" + areas[area].name + " ";
    char text[96];
    const char* const page = has_page                     ? "000000005ae2f0d4"
                             : format_ == CmaFormat::k510 ? "          (null)"
                                                          : "0000000000000000";
    std::snprintf(
        text, sizeof text,
        format_ == CmaFormat::k510 ? "pfn=%lx page=%s count=%lu" : "pfn=0x%lx page=%s count=%lu",
        static_cast<unsigned long>(pfn), page, static_cast<unsigned long>(pages));
    return out + text;
  }
  void event(const Thread& by, const std::string& name, const std::string& fields) {
    append(by, name + ": " + fields);
  }
  void append(const Thread& by, const std::string& what) {
    char head[96];
    now_ += 900;
    std::snprintf(head, sizeof head, "%16s-%-7u [%03zu] %s %5lu.%06lu: ", by.comm.c_str(),
                  by.number, by.cpu, format_ == CmaFormat::k510 ? "...." : ".....",
                  static_cast<unsigned long>(now_ / 1'000'000'000),
                  static_cast<unsigned long>(now_ / 1000 % 1'000'000));
    Ring& ring = rings_[by.cpu];
    ring.held.emplace_back(now_, head + what + "\n");
    // A page of the ring goes at once.
    if (ring.held.size() <= room_) return;
    for (std::size_t i = 0; i < room_ / 4; ++i) ring.held.pop_front();
    ring.overrun += room_ / 4;
  }
  std::string text() const {
    std::vector<const std::pair<std::uint64_t, std::string>*> all;
    for (const Ring& ring : rings_) {
      for (const auto& each : ring.held) all.push_back(&each);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto* a, const auto* b) { return a->first < b->first; });
    std::string out =
        "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n";
    for (const auto* each : all) out += each->second;
    return out;
  }
  void add_stats(Snapshot& out, std::string_view prefix, std::size_t cpu) const {
    const Ring& ring = rings_[cpu];
    out.add(
        std::string(prefix) + std::string(kCmaTraceInstance) + "/per_cpu/cpu" +
            std::to_string(cpu) + "/stats",
        "entries: " + std::to_string(ring.held.size()) +
            "\noverrun: " + std::to_string(ring.overrun) +
            "\ncommit overrun: 0\nbytes: 260\noldest event ts:  2720.150152\nnow ts:  2745.343344\n"
            "dropped events: " +
            std::to_string(ring.dropped) + "\nread events: " + std::to_string(ring.read) + "\n",
        0);
  }
  static std::string bitmap(const Area& area) {
    std::string out;
    for (std::size_t i = 0; i < area.taken.size(); i += 32) {
      std::uint32_t word = 0;
      for (std::size_t b = 0; b < 32 && i + b < area.taken.size(); ++b) {
        word |= (area.taken[i + b] ? 1U : 0U) << b;
      }
      out += (i == 0 ? "" : " ") + std::to_string(word);
    }
    return out + "\n";
  }

  CmaFormat format_;
  std::size_t room_;
  std::vector<Ring> rings_;
  std::uint64_t now_ = 1'000'000'000;
};

}  // namespace jetmem
