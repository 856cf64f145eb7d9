// SPDX-License-Identifier: Apache-2.0
// jetmem cma, fragmentation, thermal, top, map: one part of a device as text or JSON.

#include <algorithm>

#include "cli/client/device_client.h"
#include "cli/client/nvmap_tables.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/text/answer_text.h"

namespace jetmem {
namespace {

struct View;

struct ViewOptions : Target {
  const View* view = nullptr;
  TopQuery top;
  bool maps = false;
  bool map = false;
  std::string sort = "total";
};

struct Shown {
  std::string text;
  bool is_known = false;  // the view's own figures could be read
};

// With nvmap's large tables of this machine or the root.
Result<std::string> gpu_with_maps(TopAnswer& answer, const ViewOptions& options) {
  if (!options.root.empty() && captured_text(options.root, kCapturedNow)) {
    return fail(Errc::kInvalid, "--maps reads files of the device: " + options.root_name +
                                    " has only answers of jetmemd");
  }
  std::vector<std::string> heaps;
  for (const TopAnswer::Heap& heap : answer.heaps) heaps.push_back(heap.name);
  if (options.root.empty()) {
    warn("top",
         "reading maps and procrank now: processes that use cameras, codecs or the GPU may stall "
         "for that moment");
  }
  NvmapTables tables;
  if (auto ok = tables.read(options.root, heaps); !ok) return tl::unexpected(ok.error());
  if (!options.json) return gpu_text(answer, terminal_style()) + tables.text();
  return json::write_document(1, [&](json::Fields& v) {
    describe(v, answer);
    tables.describe(v);
  });
}

// Holders, or a machine that is known to have none: no nvmap, and its DMA-BUFs could be read.
bool knows_gpu(const DeviceNow& now, const TopAnswer& answer) {
  if (!answer.heaps.empty() || !answer.groups.empty()) return true;
  const SourceNow* nvmap = now.source("nvmap");
  return nvmap != nullptr && nvmap->state == "absent" &&
         (answer.dmabuf.bytes || answer.dmabuf.held);
}

Result<Shown> show_top(const DeviceNow& now, const ViewOptions& options) {
  TopQuery query = options.top;
  query.sort = top_sort_named(options.sort).value_or(TopSort::kTotal);
  TopAnswer answer = top_answer(now, query);
  const bool is_known = query.gpu_only ? knows_gpu(now, answer)
                                       : !answer.groups.empty() && answer.memory.has_basics();
  if (options.maps) {
    auto text = gpu_with_maps(answer, options);
    if (!text) return tl::unexpected(std::move(text.error()));
    return Shown{std::move(*text), is_known};
  }
  const auto text = query.gpu_only ? gpu_text : top_text;
  return Shown{options.json ? top_json(answer) : text(answer, terminal_style()), is_known};
}

Result<Shown> show_cma(const DeviceNow& now, const ViewOptions& options) {
  const CmaAnswer answer = cma_answer(now);
  return Shown{options.json ? cma_json(answer) : cma_text(answer, terminal_style(), options.map),
               answer.has_cma.has_value()};
}

Result<Shown> show_fragmentation(const DeviceNow& now, const ViewOptions& options) {
  const FragmentationAnswer answer = fragmentation_answer(now);
  return Shown{
      options.json ? fragmentation_json(answer) : fragmentation_text(answer, terminal_style()),
      !answer.zones.empty()};
}

Result<Shown> show_map(const DeviceNow& now, const ViewOptions& options) {
  const MapAnswer answer = map_answer(now);
  return Shown{options.json ? map_json(answer) : map_text(answer, terminal_style()),
               !answer.parts.empty() && answer.memory.has_basics()};
}

Result<Shown> show_thermal(const DeviceNow& now, const ViewOptions& options) {
  const ThermalAnswer answer = thermal_answer(now);
  return Shown{options.json ? thermal_json(answer) : thermal_text(answer, terminal_style()),
               !answer.zones.empty() || !answer.clocks.empty() || answer.throttling};
}

struct View {
  const char* name;
  const char* help;
  const char* json_help;
  const char* footer;
  Result<Shown> (*show)(const DeviceNow& now, const ViewOptions& options);
};

constexpr View kViews[] = {
    {"cma", "Contiguous memory (CMA): used, largest free block, who allocated it, refused requests",
     "As JSON (docs/status.md)",
     "Areas, largest block and pages come from debugfs and sysfs (source cma), who allocated what "
     "from the kernel's trace (source cma_map), refusals from the kernel log. WITHOUT IT is the "
     "largest free block if all that it allocated were released. Who holds unmovable pages outside "
     "of CMA areas is unknown: no kernel interface says it.",
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
  const auto now = DeviceClient(options.view->name, options).now();
  if (!now) return failed(options.view->name, now.error());
  const auto shown = options.view->show(*now, options);
  if (!shown) return failed(options.view->name, shown.error());
  put(shown->text);
  return shown->is_known ? kExitOk : kExitUnknown;
}

void add_options(const Command& command, const View& view, bool gpu_only = false) {
  ViewOptions& options = command.runs(run_view);
  options.view = &view;
  options.top.gpu_only = gpu_only;
  command.json(view.json_help);
  if (view.show == show_top) {
    const std::vector<std::string> orders{"total", "resident", "gpu", "dmabuf", "growth"};
    if (!gpu_only) {
      command
          .option("--sort", options.sort, "BY",
                  "Processes by: total (default), resident, gpu, dmabuf or growth")
          .one_of(orders);
    }
    command.option("--limit", options.top.limit, "N", "At most N rows of each kind (default: 20)")
        .range(1, 1000);
    if (!gpu_only) {
      command
          .flag("--gpu", options.top.gpu_only,
                "Only the memory of GPU and cameras: who holds it, by heap, and what is orphaned")
          .excludes({"--sort"});
    }
    auto maps = command.flag("--maps", options.maps,
                             "With --gpu: also every buffer (maps, procrank; needs root); "
                             "allocations wait meanwhile");
    maps.excludes({"--daemon"});
    if (!gpu_only) maps.needs("--gpu");
  }
  if (view.show == show_cma) {
    command.flag("--map", options.map, "Draw each area, with a letter for each owner")
        .excludes({"--json"});
  }
  command.device();
  command.footer(std::string(kAsksDaemon) + view.footer);
  command.exit_status("0, whatever the figures are; 3 if they could not be read");
}

}  // namespace

void add_view_commands(const Command& now, const Command& holders) {
  for (const View& view : kViews) {
    const bool is_of_holders = view.show == show_top || view.show == show_map;
    add_options((is_of_holders ? holders : now).add(view.name, view.help), view);
    if (view.show == show_top) {
      add_options(holders.add_hidden("nvmap", "jetmem top --gpu"), view, true);
    }
  }
}

}  // namespace jetmem
