// SPDX-License-Identifier: Apache-2.0
// What the names in the words of causes stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/diagnosis/cause.h"

namespace jetmem::diagnosis {

// A value of values.cc, else the field of that name. A switch ("jetson") is an empty text where it
// holds: {?{jetson}...}.
std::optional<std::string> value_of(std::string_view name, const Case& it);
// A field as "bytes", "kib" or "count".
std::optional<std::string> formatted(std::string_view field, std::string_view format,
                                     const Case& it);

// The size in the event, in bytes: from pages, a number, or as a program rounds it.
std::optional<double> requested_bytes(const Case& it);
std::optional<double> free_when_refused(const Case& it);
// The contiguous area's values, in bytes.
std::optional<double> cma_area(const Case& it);
// Free memory and watermarks of the zones that ordinary allocations use.
struct ZoneTotals {
  double free_kb = 0, min_kb = 0, cma_kb = 0;
};
ZoneTotals zone_totals(const EventFields& report);
// The kernel's report of memory: of the OOM killer's call, or the event itself.
const EventFields& report_of(const Case& it);
double page_size(const Case& it);
// What comes with a fault of a GPU: Xid 45 (channels removed) and 154 (recovery action), notifier
// 31 of nvgpu (MMU fault), a job that met a bus fault.
bool follows_gpu_fault(const EventFields& event);

}  // namespace jetmem::diagnosis
