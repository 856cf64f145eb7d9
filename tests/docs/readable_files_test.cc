// SPDX-License-Identifier: Apache-2.0
// docs/readable-files.md: what jetmem-reader returns to whoever may ask it. The patterns are those
// of the sources; what they gather beside them is collected from every recorded board and a made
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "base/root/snapshot.h"
#include "base/text/text.h"
#include "collectors/sampler/registry.h"
#include "tests/temp_dir.h"
#include "tests/update.h"

namespace jetmem {
namespace {

// Folders whose names are the machine's.
constexpr std::array<std::string_view, 8> kNamesBelow{"/proc/device-tree/reserved-memory/",
                                                      "/proc/device-tree/tegra-carveouts/",
                                                      "/sys/bus/platform/devices/",
                                                      "/sys/class/devfreq/",
                                                      "/sys/devices/platform/",
                                                      "/sys/kernel/debug/nvmap/",
                                                      "/sys/kernel/debug/cma/",
                                                      "/sys/fs/cgroup/"};

// What no recorded board has: tasks that hang, buffers in sysfs, a trace, crash records.
void make_rare_files(const TempDir& tree) {
  const std::string stat = " (camera) D 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 2 0 4711 1000 10 0 0 0";
  for (const std::string folder : {"proc/4711", "proc/4711/task/4711", "proc/4711/task/4712"}) {
    tree.write(folder + "/stat", folder.substr(folder.rfind('/') + 1) + stat + "\n");
    tree.write(folder + "/status", "Tgid:\t4711\nvoluntary_ctxt_switches:\t7\n");
    tree.write(folder + "/wchan", "nvmap_alloc");
    tree.write(folder + "/statm", folder == "proc/4711" ? "0 0 0 0 0 0 0\n" : "9 8 7 0 0 0 0\n");
    tree.write(folder + "/cgroup", "0::/\n");
    tree.write(folder + "/comm", "camera\n");
  }
  for (const char* record : {"dmesg-ramoops-0", "console-ramoops-0"}) {
    tree.write(std::string("sys/fs/pstore/") + record, "Panic#1 Part1\n<0>[1.0] x\n");
    tree.write(std::string("var/lib/systemd/pstore/1763100000/") + record, "Panic#1 Part1\n");
  }
  for (const std::string group : {"sys/fs/cgroup/a.slice", "sys/fs/cgroup/a.slice/b.service"}) {
    tree.write(group + "/memory.max", "4096\n");
    tree.write(group + "/memory.events", "oom 0\n");
    tree.write(group + "/memory.events.local", "oom 0\n");
  }
  for (const char* leaf :
       {"count", "order_per_bit", "base_pfn", "bitmap", "ranges/0/base_pfn", "ranges/0/bitmap"}) {
    tree.write(std::string("sys/kernel/debug/cma/linux,cma/") + leaf, "1\n");
  }
  const std::pair<const char*, const char*> others[] = {
      {"proc/loadavg", "9.00 9.00 9.00 9/200 4712\n"},
      {"sys/kernel/dmabuf/buffers/4711/size", "4096\n"},
      {"sys/kernel/dmabuf/buffers/4711/exporter_name", "system\n"},
      {"sys/kernel/tracing/instances/jetmem/options/pause-on-trace", "0\n"},
      {"sys/kernel/tracing/instances/jetmem/per_cpu/cpu0/stats", "entries: 1\n"},
      {"sys/kernel/tracing/instances/jetmem/trace",
       "          camera-4711    [000] .....    12.000100: cma_alloc_finish: name=linux,cma "
       "pfn=0x1000 page=00000000f2a5e3b1 count=4 align=0 errorno=0\n"},
      {"sys/fs/cgroup/cgroup.controllers", "memory\n"},
      {"run/jetmem-iomem/iomem", "0-1 : System RAM\n"},
      {"proc/device-tree/tegra-carveouts/vpr/reg", "1"}};
  for (const auto& [path, text] : others) tree.write(path, text);
}

std::string without_numbers(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool counts =
        end == name.size() || std::string_view("_-,.@").find(name[end]) != std::string_view::npos;
    out.append(end == i ? name.substr(i, ++end - i) : counts ? "*" : name.substr(i, end - i));
    i = end;
  }
  return out;
}

// "/proc/1377/task/1380/stat" and "/proc/1/task/1/stat" are the same file of two tasks.
std::string without_names(std::string_view path) {
  std::string out;
  for (const std::string_view each : kNamesBelow) {
    if (!path.starts_with(each)) continue;
    out.append(each);
    path.remove_prefix(each.size());
    const bool is_tree = each == "/sys/fs/cgroup/";
    const std::size_t end = is_tree ? path.rfind('/') : path.find('/');
    if (end == path.npos) break;
    out.append(is_tree ? "**" : "*");
    path.remove_prefix(end);
    break;
  }
  while (!path.empty()) {
    const std::size_t end = std::min(path.size(), path.find('/', 1));
    out.append(without_numbers(path.substr(0, end)));
    path.remove_prefix(end);
  }
  return out;
}

void add_gathered(const SourceInfo& info, const std::string& tree, std::set<std::string>& out) {
  const auto root = Root::at(tree);
  ASSERT_TRUE(root.has_value()) << tree;
  SnapshotReader reader(info.paths, info.limits, info.gather);
  const Snapshot& files = reader.read(*root);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string_view path = files[i].path;
    const auto is_named = [&](std::string_view pattern) { return glob_match(pattern, path); };
    if (!path.starts_with('/') || std::any_of(info.paths.begin(), info.paths.end(), is_named))
      continue;
    // Of the process of a thread, by the thread's number.
    constexpr std::string_view kOfProcess = " of process";
    out.insert(without_names(path.substr(0, path.rfind(kOfProcess))));
  }
}

TEST(ReadableFiles, TheDocumentListsThem) {
  std::string out =
      "# Files that jetmem-reader returns\n"
      "\n"
      "For administrators and security reviewers. After reading you know which files a compromised "
      "jetmemd can read through\n"
      "jetmem-reader: it asks for a source by name, and never names a file. Made by a test "
      "(`scripts/update-golden`).\n"
      "\n"
      "`*` stands for any run of characters of one name, `**` for folders within folders; "
      "`/proc/*/` also for a thread of a\n"
      "process (`/proc/*/task/*/`). Of a folder only the reason why it cannot be listed is "
      "returned, and of some files only a part:\n"
      "[privileges.md](privileges.md#which-files-the-reader-returns).\n";
  const TempDir rare;
  make_rare_files(rare);
  for (const SourceInfo* info : all_source_infos()) {
    // Where a recorded tree keeps what a program printed; on a device that is no file.
    if (info->access == Access::kProgram) continue;
    std::set<std::string> files(info->paths.begin(), info->paths.end());
    if (info->gather != nullptr) {
      for (const auto& board : std::filesystem::directory_iterator(JETMEM_FIXTURES))
        add_gathered(*info, board.path(), files);
      add_gathered(*info, rare.path(), files);
    }
    out.append("\n## ").append(info->name).append("\n\n");
    for (const std::string& each : files) out.append("    ").append(each).append("\n");
  }
  expect_equals_file(out, JETMEM_DOCS "/readable-files.md");
}

}  // namespace
}  // namespace jetmem
