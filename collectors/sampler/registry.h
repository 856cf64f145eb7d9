// SPDX-License-Identifier: Apache-2.0
// Every source there is. Adding one is one include and one name in the list.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/root/known_source.h"
#include "collectors/cgroups/cgroups.h"
#include "collectors/cma/source.h"
#include "collectors/device/boot/source.h"
#include "collectors/device/source.h"
#include "collectors/dmabuf/source.h"
#include "collectors/jetson/nvmap/source.h"
#include "collectors/jetson/nvml/source.h"
#include "collectors/jetson/tegrastats/source.h"
#include "collectors/kernel_log/source.h"
#include "collectors/probe/source.h"
#include "collectors/proc/allocinfo.h"
#include "collectors/proc/buddyinfo.h"
#include "collectors/proc/meminfo.h"
#include "collectors/proc/pagetypeinfo.h"
#include "collectors/proc/pressure.h"
#include "collectors/proc/vmstat.h"
#include "collectors/proc/zoneinfo.h"
#include "collectors/processes/source.h"
#include "collectors/source.h"
#include "collectors/sysfs/clocks/source.h"
#include "collectors/sysfs/cma.h"
#include "collectors/sysfs/edac.h"
#include "collectors/sysfs/power.h"
#include "collectors/sysfs/thermal.h"
#include "collectors/sysfs/throttle.h"
#include "collectors/sysfs/zram.h"
#include "collectors/tasks/tasks.h"

namespace jetmem {

// In the order in which they are read within a cycle. zoneinfo and buddyinfo come before
// pagetypeinfo, whose gate looks at them; device after cma, and processes after nvmap, nvml and
// dmabuf, whose readings they put beside their own.
using AllSources =
    std::tuple<MeminfoSource, ZoneinfoSource, BuddyinfoSource, VmstatSource, PressureSource,
               ZramSource, CmaSource, CmaMapSource, ThermalSource, ClocksSource, ThrottleSource,
               PowerSource, EdacSource, DeviceSource, BootSource, KernelLogSource, TegrastatsSource,
               NvmapSource, NvmlSource, DmabufSource, ProcessesSource, CgroupsSource, TasksSource,
               ProbeSource, PagetypeinfoSource, AllocinfoSource>;

// What is known of each source without making one: this is all that jetmem-reader links.
std::span<const SourceInfo* const> all_source_infos();

std::vector<std::unique_ptr<Source>> make_all_sources();

std::vector<KnownSource> known_sources();

}  // namespace jetmem
