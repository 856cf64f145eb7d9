// SPDX-License-Identifier: Apache-2.0
// jetmem nvmap: who holds the memory of GPU and cameras, and what is orphaned.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>

#include "base/root/gatherer.h"
#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/commands.h"
#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "collectors/dmabuf/source.h"
#include "collectors/jetson/nvmap/source.h"
#include "collectors/processes/heirs.h"
#include "report/json/fields.h"

namespace jetmem {

static void describe(json::Fields& v, Nvmap::Heap& heap) {
  v.output("heap", printable(heap.name, 64));
  v("bytes", heap.bytes);
  v("clients", heap.clients);
  v("charged_bytes", heap.charged_bytes);
  v("orphan_handles", heap.orphan_handles);
  v("orphan_bytes", heap.orphan_bytes);
  v("size_bytes", heap.size);
  v("free_bytes", heap.free);
}

namespace {

// Who holds what nvmap charges to nobody, or to a process that has ended.
struct Others {
  struct Holder {
    std::uint32_t pid = 0;
    std::string process;
    std::uint64_t bytes = 0;
  };
  std::vector<Holder> clientless;  // the largest first
  // What the holders have of the orphans, each buffer once; absent: not known.
  std::optional<std::uint64_t> held;
  std::string why_not;        // why that is not known
  bool by_name = false;       // of jetmemd, which adds up those of one name: PIDs are not known
  std::vector<bool> ended;    // of the clients, one by one
  std::vector<Holder> heirs;  // of those that have ended
};

void describe(json::Fields& v, Others::Holder& holder) {
  v.output("process", printable(holder.process, 64));
  if (holder.pid > 0) v.output("pid", std::uint64_t{holder.pid});
  if (holder.bytes > 0) v("bytes", holder.bytes);
}

void describe(json::Fields& v, Nvmap& nvmap, Others& others) {
  v("heaps", nvmap.heaps);
  std::size_t at = 0;
  v.list("clients", nvmap.clients, [&](json::Fields& w, Nvmap::Client& client) {
    w.output("heap", printable(client.heap, 64));
    w.output("process", printable(client.name, 64));
    if (!others.by_name) w.output("pid", std::uint64_t{client.pid});
    w("bytes", client.bytes);
    bool ended = others.ended[at++];
    w.unless_false("ended", ended);
  });
  v("clientless_holders", others.clientless);
  v("clientless_held_bytes", others.held);
  v("ended_held_by", others.heirs);
  v("total_bytes", nvmap.total_bytes);
  v("allocatable_bytes", nvmap.allocatable_bytes);
}

struct NvmapOptions : DeviceClientOptions {
  bool maps = false;
  bool json = false;
};

using Number = std::optional<std::uint64_t>;

std::string size_or_dash(const Number& bytes) { return bytes ? bytes_text(*bytes) : "-"; }

std::string number_or_dash(const Number& number) { return number ? std::to_string(*number) : "-"; }

std::string holders_text(const std::vector<Others::Holder>& holders) {
  std::string out;
  for (const Others::Holder& holder : holders) {
    out += (out.empty() ? "" : ", ") + printable(holder.process, 64);
    if (holder.pid > 0) out += " (PID " + std::to_string(holder.pid) + ")";
    if (holder.bytes > 0) out += " " + bytes_text(holder.bytes);
  }
  return out;
}

std::string clientless_text(const Nvmap& nvmap, const Others& others) {
  std::uint64_t orphans = 0;
  for (const Nvmap::Heap& heap : nvmap.heaps) orphans += heap.orphan_bytes.value_or(0);
  if (orphans == 0) return {};
  std::string out = "\nwithout a client: " + bytes_text(orphans);
  if (!others.clientless.empty()) {
    out += "\n  held by descriptors or mappings of " + holders_text(others.clientless);
  }
  if (!others.held) {
    return out +
           "\n  whether processes have the rest open or mapped is not known: " + others.why_not +
           "\n";
  }
  const std::uint64_t rest = orphans - std::min(orphans, *others.held);
  if (rest > 0)
    out += "\n  orphaned (held by drivers, not by processes alone): " + bytes_text(rest);
  return out + "\n";
}

std::string nvmap_text(const Nvmap& nvmap, const Others& others) {
  constexpr auto kRight = Table::Align::kRight;
  Table heaps{{"HEAP"},
              {"BYTES", kRight},
              {"CLIENTS", kRight},
              {"UNATTRIBUTED", kRight},
              {"ORPHANS", kRight},
              {"ORPHANED", kRight},
              {"SIZE", kRight},
              {"FREE", kRight}};
  for (const Nvmap::Heap& heap : nvmap.heaps) {
    std::optional<double> rest;
    if (heap.bytes && heap.charged_bytes) {
      rest = static_cast<double>(*heap.bytes) - static_cast<double>(*heap.charged_bytes);
    }
    heaps.row({printable(heap.name, 64), size_or_dash(heap.bytes), number_or_dash(heap.clients),
               bytes_text(rest), number_or_dash(heap.orphan_handles),
               size_or_dash(heap.orphan_bytes), size_or_dash(heap.size), size_or_dash(heap.free)});
  }
  Table clients{{"BYTES", kRight}, {"PID", kRight}, {"HEAP"}, {"PROCESS"}, {""}};
  for (std::size_t i = 0; i < nvmap.clients.size(); ++i) {
    const Nvmap::Client& client = nvmap.clients[i];
    std::string state;
    if (others.ended[i]) {
      state = others.heirs.empty() ? "ended" : "ended, held by " + holders_text(others.heirs);
    }
    clients.row({bytes_text(client.bytes), others.by_name ? "-" : std::to_string(client.pid),
                 printable(client.heap, 64), printable(client.name, 64), state});
  }
  std::string out = heaps.text(terminal_width()) + "\n" + clients.text(terminal_width());
  if (nvmap.clients.empty()) out += "no client holds memory\n";
  out += clientless_text(nvmap, others);
  if (nvmap.total_bytes) {
    out += "\nall heaps together: " + bytes_text(*nvmap.total_bytes) + "\n";
  }
  if (nvmap.allocatable_bytes) {
    out += "reported as allocatable: " + bytes_text(*nvmap.allocatable_bytes) +
           " (how this L4T release treats larger requests: jetmem doctor --all)\n";
  }
  return out;
}

// The large tables, unchanged. Reading them delays allocations.
class Maps {
 public:
  Result<void> read(const std::string& root_directory, const Nvmap& nvmap) {
    Root root = Root::live();
    if (!root_directory.empty()) {
      auto other = Root::at(root_directory);
      if (!other) return tl::unexpected(std::move(other.error()).within("--root"));
      root = std::move(*other);
    }
    const ReadLimits limits{.total_bytes = 8U << 20};
    Gatherer gatherer(root, snapshot_, limits);
    for (const Nvmap::Heap& heap : nvmap.heaps) {
      for (const char* leaf : {"/maps", "/procrank"}) {
        if (!gatherer.has_room()) return {};
        const std::string path = "/sys/kernel/debug/nvmap/" + heap.name + leaf;
        constexpr std::size_t kHead = 1U << 20;
        constexpr std::size_t kEnd = 16U << 10;
        const FileText file = gatherer.read_ends(path, kHead, kEnd);
        if (file.error == ENOENT) gatherer.forget();  // only iovmm has procrank
      }
    }
    return {};
  }

  void print_text() const {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      std::printf("\n%s\n", title(file.path).c_str());
      if (!file.ok()) std::printf("  %s\n", printable(file.as_error().message, 400).c_str());
      Lines lines(file.text);
      std::string_view line;
      while (lines.next(line)) std::printf("%s\n", printable(line, 400).c_str());
    }
  }

  void describe(json::Fields& v) {
    std::vector<FileText> files;
    for (std::size_t i = 0; i < snapshot_.size(); ++i) files.push_back(snapshot_[i]);
    v.list("tables", files, [](json::Fields& w, FileText& file) {
      w.output("path", title(file.path));
      std::vector<std::string> lines;
      Lines walk(file.text);
      std::string_view line;
      while (walk.next(line)) lines.push_back(printable(line, 400));
      w("lines", lines);
      if (!file.ok()) w.output("error", file.as_error().message);
    });
  }

 private:
  static std::string title(std::string_view path) {
    const bool is_end = take_prefix(path, "jetmem:end of ");
    return printable(path, 200) + (is_end ? ", its end (the middle is omitted)" : "");
  }

  Snapshot snapshot_;
};

Others others_of(const Nvmap& nvmap, const Readings& readings) {
  Others out;
  const auto* dmabuf = readings.get<Dmabuf>();
  const auto* processes = readings.get<Processes>();
  for (const Nvmap::Client& client : nvmap.clients) {
    out.ended.push_back(client.pid != 0 && processes != nullptr &&
                        has_ended(*processes, client.pid));
  }
  if (dmabuf == nullptr) {
    out.why_not = "DMA-BUFs could not be read";
    return out;
  }
  if (std::find(out.ended.begin(), out.ended.end(), true) != out.ended.end()) {
    each_heir(nvmap, *dmabuf, [&](const NvmapOpener& opener) {
      out.heirs.push_back({opener.pid, opener.name, 0});
    });
  }
  for (const Dmabuf::Holder& holder : dmabuf->holders) {
    if (holder.clientless_bytes == 0) continue;
    out.clientless.push_back({holder.pid, holder.name, holder.clientless_bytes});
  }
  std::stable_sort(out.clientless.begin(), out.clientless.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (dmabuf->held.mappings_known()) {
    out.held = dmabuf->held.clientless_bytes;
  } else {
    out.why_not = "descriptors or mappings of processes could not be examined";
  }
  return out;
}

// Of a sample; whatever another machine says, a number of bytes.
Number whole(const std::optional<double>& value) {
  constexpr double kMost = 1e18;
  if (!value || !(*value >= 0)) return std::nullopt;
  return static_cast<std::uint64_t>(std::min(*value, kMost));
}

// What jetmemd has of it: heaps, and clients by the names of their processes.
Nvmap nvmap_of(const DeviceNow& now) {
  Nvmap out;
  std::map<std::string, Nvmap::Heap> heaps;
  const auto each = [&](const char* family, auto take) {
    for (const Sample& sample : now.samples.family(family)) {
      take(heaps[std::string(sample.label("heap"))], sample.value);
    }
  };
  each("jetmem_nvmap_heap_bytes", [&](auto& heap, double v) { heap.bytes = whole(v); });
  each("jetmem_nvmap_heap_clients", [&](auto& heap, double v) { heap.clients = whole(v); });
  each("jetmem_nvmap_heap_unattributed_bytes", [&](auto& heap, double v) {
    if (heap.bytes) heap.charged_bytes = whole(static_cast<double>(*heap.bytes) - v);
  });
  each("jetmem_nvmap_orphan_handles",
       [&](auto& heap, double v) { heap.orphan_handles = whole(v); });
  each("jetmem_nvmap_orphan_bytes", [&](auto& heap, double v) { heap.orphan_bytes = whole(v); });
  each("jetmem_nvmap_carveout_bytes", [&](auto& heap, double v) { heap.size = whole(v); });
  each("jetmem_nvmap_carveout_free_bytes", [&](auto& heap, double v) { heap.free = whole(v); });
  for (auto& [name, heap] : heaps) {
    heap.name = name;
    out.heaps.push_back(heap);
  }
  for (const Sample& sample : now.samples.family("jetmem_nvmap_process_bytes")) {
    Nvmap::Client client;
    client.heap = sample.label("heap");
    client.name = sample.label("process");
    client.bytes = whole(sample.value).value_or(0);
    out.clients.push_back(std::move(client));
  }
  out.total_bytes = whole(now.samples.value("jetmem_nvmap_total_bytes"));
  out.allocatable_bytes = whole(now.samples.value("jetmem_nvmap_allocatable_bytes"));
  return out;
}

int show_nvmap(const NvmapOptions& options, Nvmap nvmap, Others others) {
  if (options.json) {
    put(json::write_document(2, [&](json::Fields& v) { describe(v, nvmap, others); }));
  } else {
    put(nvmap_text(nvmap, others));
  }
  return kExitOk;
}

int run_remote_nvmap(const NvmapOptions& options) {
  if (options.maps) {
    return failed("nvmap",
                  {Errc::kInvalid, options.daemon.empty()
                                       ? "--maps: the bundle " + options.root_name +
                                             " has only the answers of another machine's jetmemd"
                                       : "--maps reads this machine: not with --daemon"});
  }
  const auto now = query_device_for("nvmap", options);
  if (!now) return failed("nvmap", now.error());
  Nvmap nvmap = nvmap_of(*now);
  if (nvmap.heaps.empty()) {
    warn("nvmap", now->absence_reason("nvmap", "jetmemd has no values of it"));
    return kExitUnknown;
  }
  std::stable_sort(nvmap.clients.begin(), nvmap.clients.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  Others others;
  others.by_name = true;
  others.ended.assign(nvmap.clients.size(), false);
  others.why_not = "jetmemd does not report it";
  for (const Sample& sample : now->samples.family("jetmem_dmabuf_holder_clientless_bytes")) {
    if (sample.value <= 0) continue;
    others.clientless.push_back(
        {0, std::string(sample.label("command")), whole(sample.value).value_or(0)});
  }
  std::stable_sort(others.clientless.begin(), others.clientless.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return show_nvmap(options, std::move(nvmap), std::move(others));
}

int run_nvmap(const NvmapOptions& options) {
  if (!options.daemon.empty() ||
      (!options.root.empty() && captured_text(options.root, kCapturedNow))) {
    return run_remote_nvmap(options);
  }
  auto shot = LocalSnapshot::read(options.root, {"nvmap", "dmabuf", "processes"});
  if (!shot) return failed("nvmap", shot.error());
  const Sampler& sampler = (*shot)->sampler();
  const auto is_nvmap = [&](std::size_t i) { return sampler.info(i).name == "nvmap"; };
  const auto& chosen = (*shot)->chosen();
  const std::size_t source = *std::find_if(chosen.begin(), chosen.end(), is_nvmap);
  const Nvmap* const found = sampler.readings().get<Nvmap>();
  if (found == nullptr) {
    const SourceStatus& status = sampler.status(source);
    std::string text = std::string(state_name(status.state)) + ": " +
                       printable(status.reason.empty() ? status.skipped : status.reason, 500);
    if (status.state == SourceState::kDenied) {
      text += "; to read it: " + std::string(sampler.info(source).grant);
    }
    warn("nvmap", text);
    return kExitUnknown;
  }
  Nvmap nvmap = *found;
  std::stable_sort(nvmap.clients.begin(), nvmap.clients.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  Others others = others_of(nvmap, sampler.readings());
  for (const AbsentValues::Count& count : sampler.absent(source).counts()) {
    if (count.count == 0) continue;
    warn("nvmap", "omitted: " + std::to_string(count.count) + " " + std::string(count.reason));
  }
  Maps maps;
  if (options.maps) {
    std::fputs(
        "jetmem nvmap: reading maps and procrank now: processes that use cameras, codecs or the "
        "GPU\nmay stall for that moment\n",
        stderr);
    std::fflush(stderr);
    if (auto ok = maps.read(options.root, nvmap); !ok) return failed("nvmap", ok.error());
  }
  if (options.json) {
    put(json::write_document(2, [&](json::Fields& v) {
      describe(v, nvmap, others);
      if (options.maps) maps.describe(v);
    }));
  } else {
    put(nvmap_text(nvmap, others));
    if (options.maps) maps.print_text();
  }
  return kExitOk;
}

}  // namespace

void add_nvmap_command(const Command& program) {
  const Command command =
      program.add("nvmap", "Who holds the memory of GPU and cameras, and which of it is orphaned");
  auto& options = command.runs(run_nvmap);
  command.flag("--maps", options.maps,
               "Also print every buffer (maps, procrank); allocations wait meanwhile");
  command.flag("--json", options.json, "As JSON");
  add_daemon_option(command, options);
  command.footer(
      "Heaps, clients with the largest first, and who holds the buffers without a client (ORPHANED "
      "in the table). UNATTRIBUTED is what a heap allocated minus what its clients are charged. "
      "'-' is unknown. Needs no daemon, but root on a live board, as the tables are in debugfs; "
      "--daemon shows what jetmemd has: clients by name, without PIDs. --root DIR reads below DIR. "
      "Boards with nvidia.ko (Thor) have no such tables.");
  command.exit_status("0; 3 if nvmap cannot be read");
}

}  // namespace jetmem
