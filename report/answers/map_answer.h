// SPDX-License-Identifier: Apache-2.0
// Where the module's memory went before and after Linux took it over: the typed answer of
// `jetmem map` and its JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_head.h"
#include "report/answers/memory_budget.h"
#include "report/device/device_now.h"

namespace jetmem {

struct MapAnswer {
  static constexpr std::string_view kSchema = "jetmem-map/1";

  struct Part {
    std::string kind;  // "linux", "carveout", "firmware"
    std::string name;
    double bytes = 0;
    std::string what;  // for people
  };
  struct Area {
    std::string name;
    double bytes = 0;
    std::optional<double> used;
    std::optional<double> largest;  // what drivers could still have in one piece
  };
  struct Zone {
    std::string node;
    std::string name;
    std::optional<double> present;
    std::optional<double> managed;
    std::optional<double> free;
    std::optional<double> cma;
  };
  // Of the kernel's allocation profile: a module, or a folder of its source.
  struct Allocation {
    std::string part;
    bool module = false;
    double bytes = 0;
  };
  struct HugePages {
    std::optional<double> total;
    std::optional<double> free;
    std::optional<double> page_bytes;
  };

  AnswerFrom from;
  std::string model;
  std::optional<double> module;  // inferred, see jetmem_memory_module_bytes
  std::optional<double> physical;
  std::string physical_source;  // "device_tree", "iomem", "memblock", "zoneinfo"
  std::vector<Part> parts;      // largest first
  std::optional<double> sum;
  // The module (where it is not known, physical memory) less the sum.
  std::optional<double> missing;
  std::vector<Area> cma;                 // within MemTotal
  bool no_cma = false;                   // the device has none: known, not merely unseen
  std::vector<Area> carveouts_of_nvmap;  // carve-outs that nvmap hands out of
  std::vector<Zone> zones;
  HugePages huge_pages;
  std::vector<Allocation> allocations;  // largest first
  std::optional<double> allocated;      // all, page cache and programs' memory included
  std::optional<bool> optee;            // whether OP-TEE runs
  std::optional<double> optee_bytes;    // of its carve-outs; absent where none is named so
  MemoryBudget memory;                  // linux_budget()
  Absences absent;
};

MapAnswer map_answer(const DeviceNow& now);
std::string map_json(const MapAnswer& answer);

}  // namespace jetmem
