// SPDX-License-Identifier: Apache-2.0
// GPU memory by process, as drivers in the kernel's own tree report it: /proc/<pid>/fdinfo/<n> of
// descriptors of /dev/dri (v3d, panfrost, panthor, lima, msm, etnaviv, amdgpu, i915, xe, ...).
//
// Format (Documentation/gpu/drm-usage-stats.rst), behind the kernel's own keys:
//
//   drm-driver:<T>v3d
//   drm-pdev:<T>0000:03:00.0           of PCI devices
//   drm-client-id:<T>7                 5.19 on; unique among all clients, or among the device's
//   drm-total-memory:<T>20480 KiB      6.5 on: requested, with or without pages behind it
//   drm-shared-memory:<T>4096 KiB      of these, in several clients
//   drm-resident-memory:<T>16 MiB      with pages behind them; not of every driver
//   drm-memory-vram:<T>65536 KiB       amdgpu's and old drivers' name of drm-resident-vram
//
// Behind the second dash is a region; without a unit it is bytes. "drm-total-cycles-<engine>" is no
// memory. In use is what is resident, where the driver reports it, else the total.
//
// A client is one opened file. Descriptors that were duplicated, passed on or inherited are of one
// client, which counts once, for the process with the smallest pid. Where a driver gives its
// clients no number, the largest figure of a process's descriptors counts, so that none counts
// twice.
//
// Regions "memory", "system*", "gtt" and "cpu" are the machine's own memory, the GPU's "vram*",
// "local*" and "stolen*" are not part of MemTotal. Most drivers' buffers in the machine's memory
// are in Shmem of meminfo too; they are in no process's resident memory.
//
// Reading such an fdinfo takes the driver's locks of that client for a moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/snapshot.h"
#include "collectors/source.h"
#include "collectors/storage.h"

namespace jetmem {

inline constexpr std::string_view kDrmDevices = "/dev/dri/";

struct DrmFigures {
  std::optional<std::uint64_t> total;
  std::optional<std::uint64_t> resident;
  std::optional<std::uint64_t> shared;

  std::optional<std::uint64_t> in_use() const { return resident ? resident : total; }
};

// The text of one descriptor.
struct DrmFdinfo {
  struct Region : DrmFigures {
    std::string_view name;
  };
  std::string_view driver;
  std::string_view device;
  std::optional<std::uint64_t> client;
  BoundedList<Region, 16> regions;
};
// None for the text of anything else. What is odd in it is counted.
std::optional<DrmFdinfo> parse_drm_fdinfo(std::string_view text, AbsentValues& absent);
// Whether a region is the machine's own memory.
bool is_system_region(std::string_view region);

struct Drm {
  static constexpr std::size_t kMaxRegions = 32;
  static constexpr std::size_t kMaxNames = 20;  // of each region; the others together are one

  struct Region {
    std::string driver;
    std::string region;
    DrmFigures figures;  // of all clients: what several share counts in each
  };
  // The processes of one name in a region: by name, and behind them the others together.
  struct Use {
    std::uint32_t region = 0;  // its index
    std::string name;
    bool is_rest = false;
    std::uint64_t bytes = 0;
  };
  struct Holder {
    std::uint32_t pid = 0;
    std::string name;
    std::uint64_t bytes = 0;  // of the machine's own memory
    bool unreported = false;  // some client of it reports no memory: bytes are not all
  };
  std::vector<Region> regions;
  std::vector<Use> uses;
  std::vector<Holder> holders;  // by pid
  std::uint64_t clients = 0;
  std::uint64_t unreported = 0;  // of them, those without any figure of memory
};

// Takes the records below /proc; others are passed over.
void parse_drm(const Snapshot& snapshot, Drm& out, AbsentValues& absent);

}  // namespace jetmem
