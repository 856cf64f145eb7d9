// SPDX-License-Identifier: Apache-2.0
// jetmem cma, fragmentation, thermal, top, map: one part of a device as text or JSON.

#include <cstdio>

#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/text/answer_text.h"

namespace jetmem {
namespace {

struct View;

struct ViewOptions : DeviceClientOptions {
  const View* view = nullptr;
  TopQuery top;
  std::string sort = "total";
  bool json = false;
};

struct Shown {
  std::string text;
  bool is_known = false;  // the view's own figures could be read
};

Shown show_top(const DeviceNow& now, const ViewOptions& options) {
  TopQuery query = options.top;
  query.sort = top_sort_named(options.sort).value_or(TopSort::kTotal);
  const TopAnswer answer = top_answer(now, query);
  return {options.json ? top_json(answer) : top_text(answer, terminal_style()),
          !answer.groups.empty() && answer.memory.has_basics()};
}

Shown show_cma(const DeviceNow& now, const ViewOptions& options) {
  const CmaAnswer answer = cma_answer(now);
  return {options.json ? cma_json(answer) : cma_text(answer, terminal_style()),
          answer.has_cma.has_value()};
}

Shown show_fragmentation(const DeviceNow& now, const ViewOptions& options) {
  const FragmentationAnswer answer = fragmentation_answer(now);
  return {options.json ? fragmentation_json(answer) : fragmentation_text(answer, terminal_style()),
          !answer.zones.empty()};
}

Shown show_map(const DeviceNow& now, const ViewOptions& options) {
  const MapAnswer answer = map_answer(now);
  return {options.json ? map_json(answer) : map_text(answer, terminal_style()),
          !answer.parts.empty() && answer.memory.has_basics()};
}

Shown show_thermal(const DeviceNow& now, const ViewOptions& options) {
  const ThermalAnswer answer = thermal_answer(now);
  return {options.json ? thermal_json(answer) : thermal_text(answer, terminal_style()),
          !answer.zones.empty() || !answer.clocks.empty() || answer.throttling};
}

struct View {
  const char* name;
  const char* help;
  const char* json_help;
  const char* footer;
  Shown (*show)(const DeviceNow& now, const ViewOptions& options);
};

constexpr View kViews[] = {
    {"cma", "Contiguous memory (CMA): used, largest free block, refused requests",
     "As JSON (docs/status.md)",
     "Areas, largest block and pages come from debugfs and sysfs (source cma), refusals from the "
     "kernel log.",
     show_cma},
    {"fragmentation", "How contiguous free memory is: free blocks by zone and order",
     "As JSON (docs/status.md)",
     "Reads /proc/buddyinfo, zoneinfo and vmstat. Mobility types come from /proc/pagetypeinfo, "
     "which is read rarely because it takes a lock.",
     show_fragmentation},
    {"thermal",
     "Temperatures and limits, clocks, load of GPU and engines, rails: what slows the device now",
     "As JSON (docs/status.md)",
     "Reads the sources thermal, throttle, clocks and power; engines that only tegrastats reports "
     "are marked. A zone without a temperature is "
     "usually powered off.",
     show_thermal},
    {"top", "Who holds the memory: processes, GPU and camera buffers, DMA-BUFs, the kernel",
     "As JSON (docs/views.md)",
     "jetmemd reports the 20 largest groups of processes; the rest is \"other\". The last line of "
     "the memory is an estimate of what no counter explains: usually memory that drivers "
     "allocated. GROWTH covers the last hours where a straight line fits, else the last minutes.",
     show_top},
    {"map", "Where the module's memory went: carve-outs, kernel, CMA, zones, holders of the rest",
     "As JSON (docs/views.md)",
     "Reads the device tree, /proc/iomem, memblock, zoneinfo, meminfo and the files of CMA and "
     "nvmap. The module's size is inferred, as no file states it, and omitted on a PC.",
     show_map},
};

int run_view(const ViewOptions& options) {
  const auto now = query_device_for(options.view->name, options);
  if (!now) return failed(options.view->name, now.error());
  const Shown shown = options.view->show(*now, options);
  put(shown.text);
  return shown.is_known ? kExitOk : kExitUnknown;
}

}  // namespace

void add_view_commands(const Command& now, const Command& holders) {
  for (const View& view : kViews) {
    const bool is_of_holders = view.show == show_top || view.show == show_map;
    const Command command = (is_of_holders ? holders : now).add(view.name, view.help);
    ViewOptions& options = command.runs(run_view);
    options.view = &view;
    command.flag("--json", options.json, view.json_help);
    if (view.show == show_top) {
      const std::vector<std::string> orders{"total", "resident", "gpu", "dmabuf", "growth"};
      command
          .option("--sort", options.sort, "BY",
                  "Processes by: total (default), resident, gpu, dmabuf or growth")
          .one_of(orders);
      command.option("--limit", options.top.limit, "N", "At most N rows of each kind (default: 20)")
          .range(1, 1000);
    }
    add_device_options(command, options);
    command.footer(std::string(kAsksDaemon) + view.footer);
    command.exit_status("0, whatever the figures are; 3 if they could not be read");
  }
}

}  // namespace jetmem
