// Every source there is. Adding one is one include and one name in the list.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/known_source.h"
#include "collectors/boot/source.h"
#include "collectors/buddyinfo.h"
#include "collectors/clocks.h"
#include "collectors/cma.h"
#include "collectors/device/source.h"
#include "collectors/dmabuf/source.h"
#include "collectors/kernel_log/source.h"
#include "collectors/meminfo.h"
#include "collectors/nvmap.h"
#include "collectors/nvml/source.h"
#include "collectors/pagetypeinfo.h"
#include "collectors/power.h"
#include "collectors/pressure.h"
#include "collectors/probe/source.h"
#include "collectors/processes/source.h"
#include "collectors/source.h"
#include "collectors/tegrastats/source.h"
#include "collectors/thermal.h"
#include "collectors/throttle.h"
#include "collectors/vmstat.h"
#include "collectors/zoneinfo.h"
#include "collectors/zram.h"

namespace jetmem {

// In the order in which they are read within a round. zoneinfo and buddyinfo come before
// pagetypeinfo, whose gate looks at them; device after cma, and processes after nvmap, nvml and
// dmabuf, whose readings they put beside their own.
using AllSources =
    std::tuple<MeminfoSource, ZoneinfoSource, BuddyinfoSource, VmstatSource, PressureSource,
               ZramSource, CmaSource, ThermalSource, ClocksSource, ThrottleSource, PowerSource,
               DeviceSource, BootSource, KernelLogSource, TegrastatsSource, NvmapSource, NvmlSource,
               DmabufSource, ProcessesSource, ProbeSource, PagetypeinfoSource>;

// What is known of each source without making one: this is all that jetmem-reader links.
std::span<const SourceInfo* const> all_source_infos();

std::vector<std::unique_ptr<Source>> make_all_sources();

std::vector<KnownSource> known_sources();

}  // namespace jetmem
