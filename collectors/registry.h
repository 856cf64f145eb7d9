// Every source there is. Adding one is one include and one name in the list.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/known_source.h"
#include "collectors/buddyinfo.h"
#include "collectors/cma.h"
#include "collectors/kernel_log/source.h"
#include "collectors/meminfo.h"
#include "collectors/pagetypeinfo.h"
#include "collectors/pressure.h"
#include "collectors/source.h"
#include "collectors/thermal.h"
#include "collectors/vmstat.h"
#include "collectors/zoneinfo.h"

namespace jetmem {

// In the order in which they are read within a round. zoneinfo and buddyinfo come before
// pagetypeinfo, whose gate looks at them.
using AllSources =
    std::tuple<MeminfoSource, ZoneinfoSource, BuddyinfoSource, VmstatSource, PressureSource,
               CmaSource, ThermalSource, KernelLogSource, PagetypeinfoSource>;

// What is known of each source without making one: this is all that jetmem-reader links.
std::span<const SourceInfo* const> all_source_infos();

std::vector<std::unique_ptr<Source>> make_all_sources();

std::vector<KnownSource> known_sources();

}  // namespace jetmem
