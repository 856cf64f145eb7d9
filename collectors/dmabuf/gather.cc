// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/gather.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/text/text.h"
#include "collectors/dmabuf/drm.h"
#include "collectors/dmabuf/holders.h"
#include "collectors/dmabuf/open_files.h"
#include "collectors/processes/group/pids.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::size_t kBufinfoHead = 1U << 20;
constexpr std::size_t kBufinfoTail = 4096;
// Behind the head, of nvmap's buffers only: some 30 000.
constexpr std::size_t kMaxNvmapRows = 2U << 20;
constexpr std::string_view kNvmapColumn = "\tnvmap";
constexpr std::size_t kMaxSysfsBuffers = 8192;
constexpr std::size_t kMaxHolders = 32768;
constexpr std::size_t kMaxDescriptors = 200'000;
// Of one process, so that one alone does not take all the room. Beyond it they are only counted.
constexpr std::size_t kMaxBuffersOfProcess = 4096;
// About 13 000 mappings of one process.
constexpr std::size_t kMaxMapped = 1U << 20;

// What was there a moment ago ended, or was closed.
bool has_ended(int error) { return error == ENOENT || error == ESRCH; }

using Moment = Root::Moment;

bool is_past(Moment end) { return Moment::clock::now() >= end; }

void gather_sysfs(Gatherer& files, Moment end) {
  std::vector<std::string> buffers;
  bool cut = false;
  if (const int error = files.list(kDmabufSysfs, buffers, end, cut); error != 0) {
    files.add(kDmabufSysfs, {}, error);
    return;
  }
  files.note("buffers", buffers.size());
  if (cut) files.add(kNoteBuffersCut, {});
  std::uint64_t left_out = 0;
  std::uint64_t taken = 0;
  for (const std::string& buffer : buffers) {
    if (!files.has_room() || taken == kMaxSysfsBuffers || is_past(end)) {
      ++left_out;
      continue;
    }
    ++taken;
    const std::string folder = std::string(kDmabufSysfs) + "/" + buffer;
    files.read(folder + "/exporter_name");
    files.read(folder + "/size");
  }
  if (left_out > 0) files.add(kNoteBuffersLeftOut, std::to_string(left_out) + "\n");
}

// Kernels before 5.19, and drivers without such a text, have only the kernel's own keys.
bool is_drm_fdinfo(const FileText& file) {
  AbsentValues ignored;  // parse_drm() counts them
  return file.ok() && parse_drm_fdinfo(file.text, ignored).has_value();
}

// Mappings are looked at only where they say something: nvmap's are the ones that are in resident
// memory and that may hold a buffer alone. Without inodes none is known again.
bool has_nvmap_buffers(const FileText& bufinfo) {
  return bufinfo.ok() && bufinfo.text.find("\tino") != std::string_view::npos &&
         bufinfo.text.find(kNvmapColumn) != std::string_view::npos;
}

std::string nvmap_record(std::uint32_t file) {
  std::string out = std::string(kNvmapDevice) + "\n";
  if (file > 0) out += "file:\t" + std::to_string(file) + "\n";
  return out;
}

class HolderWalk {
 public:
  HolderWalk(Gatherer& files, Moment end, bool looks_at_mappings)
      : files_(files), end_(end), looks_at_mappings_(looks_at_mappings) {}

  void run() {
    if (const int error = files_.list("/proc", names_); error != 0) {
      files_.add("/proc", {}, error);
      return;
    }
    // At the bound on names there is at least one more.
    std::uint64_t left_out = names_.size() == kDmabufLimits.names ? 1 : 0;
    keep_pids(names_);
    const bool hidden = hides_processes(files_.root(), names_);
    for (const std::string& pid : names_) {
      if (processes_ + denied_ >= kMaxHolders || seen_ >= kMaxDescriptors || is_late()) {
        ++left_out;
      } else {
        take("/proc/" + pid);
      }
    }
    const auto note = [&](std::string_view path, std::uint64_t number) {
      files_.add(path, std::to_string(number) + "\n");
    };
    note(kNoteProcesses, processes_);
    note(kNoteProcessesDenied, denied_);
    note(kNoteProcessesLeftOut, left_out);
    note(kNoteDescriptorsLeftOut, descriptors_left_out_);
    if (unreadable_ > 0) note(kNoteUnreadable, unreadable_);
    note(kNoteProcessesHidden, hidden ? 1 : 0);
    if (!looks_at_mappings_) return;
    note(kNoteMappings, mappings_);
    note(kNoteMappingsMissed, mappings_missed_);
  }

 private:
  void take(const std::string& process) {
    taken_ = beyond_ = 0;
    folder_ = process;
    const int error = files_.root().is_live() ? take_live(process) : take_copy(process);
    // One without descriptors may have a mapping.
    if (looks_at_mappings_ && (error == 0 || has_ended(error))) take_mappings(process);
    if (is_denied(error)) {
      ++denied_;
    } else if (error == 0) {
      ++processes_;
    } else if (!has_ended(error)) {
      ++unreadable_;
    }
    if (beyond_ > 0 && files_.has_room()) {
      files_.add(process + "/" + std::string(kLeafBeyond), std::to_string(beyond_) + "\n");
    }
  }

  // Only the links say which descriptors are buffers or the GPU's: to read the fdinfo of others
  // would take locks in the drivers behind them.
  int take_live(const std::string& process) {
    if (const int error = list_descriptors(); error != 0) return error;
    if (descriptors_.empty()) {
      // A kernel thread, as a rule: nothing of it was seen.
      std::string thread = living_thread(files_, process);
      if (thread.empty()) return ENOENT;
      folder_ = std::move(thread);
      if (const int error = list_descriptors(); error != 0) return error;
    }
    for (const std::string& number : descriptors_) {
      if (++seen_ > kMaxDescriptors || (seen_ % 1024 == 0 && is_late()) || late_) {
        ++descriptors_left_out_;
        continue;
      }
      const std::string link = folder_ + "/fd/" + number;
      const int error = files_.root().read_link(link, target_);
      // CAP_DAC_READ_SEARCH alone lists the folder; what its links say is asked for each.
      if (is_denied(error)) return error;
      if (error != 0) {
        if (!has_ended(error)) ++unreadable_;
        continue;
      }
      std::string_view target = target_;
      const bool named = target == "anon_inode:dmabuf" || target == kNvmapDevice;
      const bool is_drm = target.starts_with(kDrmDevices);
      if (!named && !is_drm && !take_prefix(target, kDmabufPath)) continue;
      // Its descriptors are those of a process that was looked at.
      if (taken_ == 0 && sharing_descriptors_.has_met(id_of(folder_))) break;
      if (!evict(process)) continue;
      if (is_drm) {
        if (!is_drm_fdinfo(files_.read(folder_ + "/fdinfo/" + number))) files_.forget();
      } else if (target == kNvmapDevice) {
        files_.add(link, nvmap_record(open_files_.number_of(id_of(folder_), id_of(number))));
      } else if (named) {
        files_.add(link, target_ + "\n");
      } else {
        read_buffer(folder_ + "/fdinfo/" + number, link);
      }
    }
    return 0;
  }

  // In half of the time that is left: the other half is for what they are.
  int list_descriptors() {
    const Moment now = Moment::clock::now();
    bool cut = false;
    const int error =
        files_.list(folder_ + "/fd", descriptors_, now + std::max(end_ - now, {}) / 2, cut);
    if (cut) ++descriptors_left_out_;
    return error;
  }

  void take_mappings(const std::string& process) {
    if (is_late() || !files_.has_room()) {
      ++mappings_missed_;
      return;
    }
    const FileText maps = files_.read_lines_with(folder_ + "/maps", kDmabufPath, kMaxMapped);
    if (maps.ok()) {
      ++mappings_;
    } else if (!has_ended(maps.error)) {
      ++mappings_missed_;
    }
    // Whose mappings are too many is among the holders.
    const bool is_holder = maps.error == FileText::kTooLarge || has_mapping(maps.text);
    const bool is_twin =
        is_holder && files_.root().is_live() && sharing_memory_.has_met(id_of(folder_));
    if (!is_holder || is_twin) return files_.forget();
    if (taken_ == 0) files_.read(process + "/comm");
  }

  // The number at the end of a path.
  static int id_of(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);
    return static_cast<int>(parse_u64(path).value_or(0));
  }

  static bool has_mapping(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
      if (parse_dmabuf_mapping(line)) return true;
    }
    return false;
  }

  void read_buffer(const std::string& path, const std::string& link) {
    const FileText file = files_.read(path);
    const auto info = file.ok() ? parse_dmabuf_fdinfo(file.text) : std::nullopt;
    if (!info || info->inode) return;
    std::uint64_t inode = 0;
    if (files_.root().inode_of(link, inode) != 0) return;
    files_.add(link, "ino:\t" + std::to_string(inode) + "\n");
  }

  bool is_late() {
    late_ = late_ || is_past(end_);
    return late_;
  }

  // A captured tree has only the files of buffers, the GPU's and nvmap's device, and the records
  // that were made for them.
  int take_copy(const std::string& process) {
    const int error = files_.list(process + "/fdinfo", descriptors_);
    std::vector<std::string> links;
    const int link_error = files_.list(process + "/fd", links);
    if (is_denied(error) || is_denied(link_error)) return EACCES;
    for (const int each : {error, link_error}) {
      if (each != 0 && !has_ended(each)) return each;
    }
    descriptors_.insert(descriptors_.end(), links.begin(), links.end());
    std::sort(descriptors_.begin(), descriptors_.end());
    descriptors_.erase(std::unique(descriptors_.begin(), descriptors_.end()), descriptors_.end());
    for (const std::string& number : descriptors_) {
      if (!evict(process)) continue;
      const FileText fdinfo = files_.read(process + "/fdinfo/" + number);
      if (is_drm_fdinfo(fdinfo)) continue;
      const auto info = fdinfo.ok() ? parse_dmabuf_fdinfo(fdinfo.text) : std::nullopt;
      // Kernels that print inodes print the size of every buffer.
      const bool is_device = info && info->inode && !info->size;
      if (is_device || fdinfo.error == ENOENT) files_.forget();
      const FileText link = files_.read(process + "/fd/" + number);
      if (link.error != ENOENT) continue;
      files_.forget();
      if (is_device) {
        files_.add(process + "/fd/" + number, nvmap_record(0));
      }
    }
    return 0;
  }

  // For one more buffer; in front of a process's first, its name.
  bool evict(const std::string& process) {
    if (!files_.has_room() || taken_ == kMaxBuffersOfProcess) {
      ++descriptors_left_out_;
      ++beyond_;
      return false;
    }
    if (taken_++ == 0) files_.read(process + "/comm");
    return true;
  }

  Gatherer& files_;
  Moment end_;
  bool looks_at_mappings_ = false;
  bool late_ = false;
  std::vector<std::string> names_;
  std::vector<std::string> descriptors_;
  std::string target_;
  OpenFiles open_files_;  // of nvmap's device
  SharingProcesses sharing_descriptors_{SharingProcesses::What::kDescriptors};
  SharingProcesses sharing_memory_{SharingProcesses::What::kMemory};
  std::string folder_;     // "/proc/<pid>", or that of a thread of it
  std::size_t seen_ = 0;   // descriptors of all processes
  std::size_t taken_ = 0;  // buffers of this process
  std::uint64_t beyond_ = 0;
  std::uint64_t processes_ = 0;
  std::uint64_t denied_ = 0;
  std::uint64_t unreadable_ = 0;
  std::uint64_t mappings_ = 0;
  std::uint64_t mappings_missed_ = 0;
  std::uint64_t descriptors_left_out_ = 0;
};

}  // namespace

void gather_dmabuf(Gatherer& files) { gather_dmabuf_within(files, kDmabufMostTime); }

void gather_dmabuf_within(Gatherer& files, std::chrono::nanoseconds most_time) {
  bool looks_at_mappings = false;
  // However long each takes: who holds the buffers is asked most when there are many.
  const auto end = [most_time] { return Moment::clock::now() + most_time; };
  if (files.is_sparing()) {
    int error = 0;
    const UniqueFd fd = files.root().open_file(kBufinfoPath, error);
    files.add(kBufinfoPath, {}, fd.valid() ? ETIMEDOUT : error);
  } else {
    const FileText bufinfo =
        files.read_ends(kBufinfoPath, kBufinfoHead, kBufinfoTail, kNvmapColumn, kMaxNvmapRows);
    looks_at_mappings = has_nvmap_buffers(bufinfo);
    if (!bufinfo.ok()) gather_sysfs(files, end());
  }
  HolderWalk(files, end(), looks_at_mappings).run();
}

}  // namespace jetmem
