// jetmem nvmap: who has the GPU's and the cameras' memory now, and what nobody has any more.

#include "collectors/nvmap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/gatherer.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/one_shot.h"

namespace jetmem {
namespace {

struct Options {
  bool maps = false;
  bool json = false;
};

using Bytes = std::optional<std::uint64_t>;

// One unit for all, so that columns can be compared at a glance.
std::string mebibytes(double bytes) {
  std::array<char, 40> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.1fMiB", bytes / (1 << 20));
  return std::string(text.data(), static_cast<std::size_t>(size));
}
std::string size_or_dash(const Bytes& bytes) {
  return bytes ? mebibytes(static_cast<double>(*bytes)) : "-";
}
std::string number_or_dash(const Bytes& number) { return number ? std::to_string(*number) : "-"; }

std::vector<const Nvmap::Client*> largest_first(const Nvmap& nvmap) {
  std::vector<const Nvmap::Client*> clients;
  for (const Nvmap::Client& client : nvmap.clients) clients.push_back(&client);
  std::stable_sort(
      clients.begin(), clients.end(),
      [](const Nvmap::Client* a, const Nvmap::Client* b) { return a->bytes > b->bytes; });
  return clients;
}

void print_text(const Nvmap& nvmap) {
  std::printf("%-16s %12s %8s %14s %8s %12s %12s %12s\n", "HEAP", "BYTES", "CLIENTS",
              "UNATTRIBUTED", "ORPHANS", "ORPHANED", "SIZE", "FREE");
  for (const Nvmap::Heap& heap : nvmap.heaps) {
    std::string rest = "-";
    if (heap.bytes && heap.charged_bytes) {
      rest = mebibytes(static_cast<double>(*heap.bytes) - static_cast<double>(*heap.charged_bytes));
    }
    std::printf("%-16s %12s %8s %14s %8s %12s %12s %12s\n", printable(heap.name, 64).c_str(),
                size_or_dash(heap.bytes).c_str(), number_or_dash(heap.clients).c_str(),
                rest.c_str(), number_or_dash(heap.orphan_handles).c_str(),
                size_or_dash(heap.orphan_bytes).c_str(), size_or_dash(heap.size).c_str(),
                size_or_dash(heap.free).c_str());
  }
  std::printf("\n%12s %8s  %-16s %s\n", "BYTES", "PID", "HEAP", "PROCESS");
  for (const Nvmap::Client* client : largest_first(nvmap)) {
    std::printf("%12s %8u  %-16s %s\n", mebibytes(static_cast<double>(client->bytes)).c_str(),
                client->pid, printable(client->heap, 64).c_str(),
                printable(client->name, 64).c_str());
  }
  if (nvmap.clients.empty()) std::printf("no client has memory\n");
  if (nvmap.total_bytes) {
    std::printf("\nall heaps, by nvmap's own count: %s\n", size_or_dash(nvmap.total_bytes).c_str());
  }
  if (nvmap.allocatable_bytes) {
    std::printf("nvmap would still hand out:      %s\n",
                size_or_dash(nvmap.allocatable_bytes).c_str());
  }
}

nlohmann::json as_json(const Nvmap& nvmap) {
  // What is not known is left out, as everywhere.
  const auto put = [](nlohmann::json& entry, const char* name, const Bytes& value) {
    if (value) entry[name] = *value;
  };
  nlohmann::json heaps = nlohmann::json::array();
  for (const Nvmap::Heap& heap : nvmap.heaps) {
    nlohmann::json entry{{"heap", printable(heap.name, 64)}};
    put(entry, "bytes", heap.bytes);
    put(entry, "clients", heap.clients);
    put(entry, "charged_bytes", heap.charged_bytes);
    put(entry, "orphan_handles", heap.orphan_handles);
    put(entry, "orphan_bytes", heap.orphan_bytes);
    put(entry, "size_bytes", heap.size);
    put(entry, "free_bytes", heap.free);
    heaps.push_back(std::move(entry));
  }
  nlohmann::json clients = nlohmann::json::array();
  for (const Nvmap::Client* client : largest_first(nvmap)) {
    clients.push_back({{"heap", printable(client->heap, 64)},
                       {"process", printable(client->name, 64)},
                       {"pid", client->pid},
                       {"bytes", client->bytes}});
  }
  nlohmann::json out{{"heaps", heaps}, {"clients", clients}};
  put(out, "total_bytes", nvmap.total_bytes);
  put(out, "allocatable_bytes", nvmap.allocatable_bytes);
  return out;
}

// The tables that hold up whoever allocates meanwhile, as they are.
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
      if (!file.ok()) std::printf("  %s\n", file.as_error().message.c_str());
      Lines lines(file.text);
      std::string_view line;
      while (lines.next(line)) std::printf("%s\n", printable(line, 400).c_str());
    }
  }

  void add_to(nlohmann::json& out) const {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      nlohmann::json lines = nlohmann::json::array();
      Lines walk(file.text);
      std::string_view line;
      while (walk.next(line)) lines.push_back(printable(line, 400));
      nlohmann::json entry{{"path", title(file.path)}, {"lines", std::move(lines)}};
      if (!file.ok()) entry["error"] = file.as_error().message;
      out["tables"].push_back(std::move(entry));
    }
  }

 private:
  static std::string title(std::string_view path) {
    const bool is_end = take_prefix(path, "jetmem:end of ");
    return printable(path, 200) + (is_end ? ", its end (what lies between is left out)" : "");
  }

  Snapshot snapshot_;
};

int run_nvmap(const std::string& root, const Options& options) {
  auto shot = OneShot::read(root, {"nvmap"});
  if (!shot) {
    std::fprintf(stderr, "jetmem nvmap: %s\n", shot.error().message.c_str());
    return shot.error().code == Errc::kInvalid ? kExitUsage : kExitFailed;
  }
  const Sampler& sampler = (*shot)->sampler();
  const std::size_t source = (*shot)->chosen().front();
  const Nvmap* const nvmap = sampler.readings().get<Nvmap>();
  if (nvmap == nullptr) {
    const SourceStatus& status = sampler.status(source);
    std::string text = std::string(state_name(status.state)) + ": " +
                       printable(status.reason.empty() ? status.skipped : status.reason, 500);
    if (status.state == SourceState::kDenied) {
      text += "; to have it: " + std::string(sampler.info(source).grant);
    }
    std::fprintf(stderr, "jetmem nvmap: %s\n", text.c_str());
    return kExitFailed;
  }
  for (const AbsentValues::Count& count : sampler.absent(source).counts()) {
    if (count.count == 0) continue;
    std::fprintf(stderr, "jetmem nvmap: left out: %llu %s\n",
                 static_cast<unsigned long long>(count.count), std::string(count.reason).c_str());
  }
  Maps maps;
  if (options.maps) {
    std::fputs(
        "jetmem nvmap: reading maps and procrank now: processes that use cameras, codecs or the "
        "GPU\nmay stall for that moment\n",
        stderr);
    std::fflush(stderr);
    if (auto ok = maps.read(root, *nvmap); !ok) {
      std::fprintf(stderr, "jetmem nvmap: %s\n", ok.error().message.c_str());
      return kExitFailed;
    }
  }
  if (options.json) {
    nlohmann::json out = as_json(*nvmap);
    if (options.maps) maps.add_to(out);
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    print_text(*nvmap);
    if (options.maps) maps.print_text();
  }
  return kExitOk;
}

}  // namespace

void add_nvmap_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "nvmap", "Show who has the memory of GPU and cameras, and what nobody has any more");
  auto options = std::make_shared<Options>();
  command->add_flag("--maps", options->maps,
                    "Also print every buffer (maps, procrank): whoever allocates meanwhile waits");
  command->add_flag("--json", options->json, "As JSON");
  command->footer(
      "Heaps, clients with the largest first, and orphans: buffers that no client holds any more.\n"
      "UNATTRIBUTED is what a heap has handed out less what its clients are charged with. '-' is\n"
      "not known. Needs no daemon, but on a live board root: the tables are in debugfs. --root "
      "DIR\n"
      "reads below DIR. On boards with nvidia.ko (Thor) there are no such tables.\n"
      "Exit status: 0, 1 when nvmap cannot be read, 2 on a wrong command line.");
  command->callback([options, &context] { context.status = run_nvmap(context.root, *options); });
}

}  // namespace jetmem
