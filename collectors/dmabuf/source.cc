// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>

#include "base/text/text.h"
#include "collectors/dmabuf/gather.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::uint16_t kHolderNames = ShownGroups::kMost + 1;

constexpr std::array kDmabufMetrics{
    gauge("jetmem_dmabuf_buffers",
          "DMA-BUFs of the whole machine, those held only by a driver included. Growth while the "
          "work stays the same is a leak of frames.",
          {"origin"}, 2, Worst::kMax),
    gauge("jetmem_dmabuf_bytes",
          "Memory in DMA-BUFs, of the whole machine. It is not in any process's resident memory "
          "and cannot be swapped.",
          {"origin"}, 2, Worst::kMax),
    gauge("jetmem_dmabuf_largest_bytes", "The largest DMA-BUF among those listed."),
    gauge("jetmem_dmabuf_exporter_buffers", "DMA-BUFs by the driver that made them.", {"exporter"},
          Bufinfo::kMaxExporters + 1),
    gauge("jetmem_dmabuf_exporter_bytes",
          "Memory in DMA-BUFs by the driver that made them: nvmap is CUDA, camera and codecs on "
          "most Jetsons.",
          {"exporter"}, Bufinfo::kMaxExporters + 1),
    gauge("jetmem_dmabuf_device_buffers",
          "DMA-BUFs that the device has attached. One buffer may be with several devices and "
          "counts for each.",
          {"device"}, Bufinfo::kMaxDevices),
    gauge("jetmem_dmabuf_device_bytes",
          "Memory in DMA-BUFs that the device has attached. One buffer may be with several "
          "devices and counts for each: do not add these up.",
          {"device"}, Bufinfo::kMaxDevices),
    gauge("jetmem_dmabuf_unlisted_buffers",
          "DMA-BUFs that are in the total and in no breakdown, because there are more than "
          "jetmem reads one by one (about 6000)."),
    gauge("jetmem_dmabuf_unlisted_bytes",
          "Memory in the DMA-BUFs that are in the total and in no breakdown."),
    gauge("jetmem_dmabuf_holder_buffers",
          "DMA-BUFs that processes of this name have open, each once. A process that keeps "
          "opening them without closing is the leak.",
          {"command"}, kHolderNames),
    gauge("jetmem_dmabuf_holder_bytes",
          "Memory in DMA-BUFs that processes of this name have open, each buffer once per name: "
          "one that two programs share counts for both. Of nvmap's buffers, those that are only "
          "mapped count too.",
          {"command"}, kHolderNames),
    gauge("jetmem_dmabuf_holder_clientless_bytes",
          "Memory in buffers without an nvmap client that processes of this name hold by a "
          "descriptor or mapping: nvmap charges it to nobody and lists it as orphaned. Growth "
          "means that this program leaks. At least this much where not all processes or buffers "
          "could be examined.",
          {"command"}, kHolderNames),
    gauge("jetmem_dmabuf_holder_descriptors",
          "Descriptors of DMA-BUFs that processes of this name have open: several may refer to "
          "one buffer. Steady growth is the leak. Where a process has more than 4096, its "
          "buffers and bytes are omitted, its descriptors are still counted. At least this many "
          "where not all processes or descriptors could be examined (reasons walk_cut, "
          "process_denied "
          "and processes_hidden of jetmem_source_absent_values).",
          {"command"}, kHolderNames),
    gauge("jetmem_dmabuf_holders_suppressed",
          "Names that are among the largest holders and have no series of their own, because 100 "
          "new names had already got one that day."),
    gauge("jetmem_dmabuf_held_buffers",
          "DMA-BUFs that any visible process has open, each once. Absent when not all processes "
          "could be examined. With no process denied, the rest of jetmem_dmabuf_buffers is held "
          "by drivers or mappings only."),
    gauge("jetmem_dmabuf_held_bytes",
          "Memory in DMA-BUFs that any visible process has open, each once. Of nvmap's buffers, "
          "mapped ones too."),
    gauge("jetmem_dmabuf_clientless_bytes",
          "Memory in buffers without an nvmap client that only processes hold, by descriptors and "
          "mappings, each buffer once. Absent where not all mappings and buffers are known. "
          "Drivers hold the rest "
          "of jetmem_nvmap_orphan_bytes, alone or together with a process."),
    gauge("jetmem_dmabuf_shared_buffers", "DMA-BUFs that more than one process has open."),
    gauge("jetmem_dmabuf_shared_bytes", "Memory in DMA-BUFs that more than one process has open."),
    gauge("jetmem_dmabuf_unsized_descriptors",
          "Open descriptors of DMA-BUFs whose size the kernel does not report (before Linux "
          "5.3): held by processes, and in none of the holder metrics."),
    gauge("jetmem_dmabuf_processes_denied",
          "Processes whose descriptors may not be examined, kernel threads among them. Above 0 "
          "the holder metrics cover only a part of the processes: jetmem-reader needs "
          "CAP_SYS_PTRACE."),
    gauge("jetmem_drm_clients",
          "Open files of GPU drivers (/dev/dri) that visible processes have, each once."),
    gauge("jetmem_drm_bytes",
          "GPU memory of all visible clients, as the driver reports it (DRM fdinfo). kind=resident "
          "has pages behind it, total was requested, shared is in several clients and counts in "
          "each. Regions memory, system, gtt and cpu are the machine's own memory, vram and local "
          "the GPU's.",
          {"driver", "region", "kind"}, 3 * Drm::kMaxRegions),
    gauge(
        "jetmem_drm_process_bytes",
        "GPU memory in use by processes of this name, by region: resident memory where the driver "
        "reports it, else all that was requested. The 20 largest names of each region; all others "
        "are the command \"other\". Steady growth is a leak of graphics buffers.",
        {"driver", "region", "command"}, Drm::kMaxRegions*(Drm::kMaxNames + 1)),
};
constexpr MetricTable dmabuf_metric{kDmabufMetrics};

// A buffer without a size is at least a page: enough to tell who has many.
constexpr std::uint64_t kLeastBuffer = 4096;

constexpr std::string_view kNoteBuffers = "jetmem:buffers";

// What the kernel lists of all buffers in sysfs, a folder for each.
class SysfsSum {
 public:
  explicit SysfsSum(Dmabuf& out) : out_(out) {}

  void take(const FileText& file) {
    if (file.path == kNoteBuffers) {
      listed_ = true;
      buffers_ = one_u64(file.text).value_or(0);
      return;
    }
    if (file.path == kNoteBuffersCut) {
      is_cut_ = true;
      return;
    }
    if (file.path == kNoteBuffersLeftOut) {
      left_out_ = one_u64(file.text).value_or(0);
      return;
    }
    std::string_view rest = file.path;
    if (!take_prefix(rest, kDmabufSysfs) || !take_prefix(rest, "/")) return;
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return;
    const std::string_view leaf = rest.substr(slash + 1);
    if (leaf == "exporter_name") {
      folder_ = rest.substr(0, slash);
      exporter_ = file.ok() ? one_value(file.text).value_or("") : std::string_view();
      name_error_ = file.error;
    } else if (leaf == "size" && folder_ == rest.substr(0, slash)) {
      take_buffer(file);
    }
  }

  bool listed() const { return listed_; }

  void finish() {
    out_.origin = "sysfs";
    if (!is_cut_) out_.buffers = buffers_ - std::min(gone_, buffers_);
    out_.unlisted_buffers = left_out_ + unknown_;
    if (out_.unlisted_buffers == 0 && !is_cut_) out_.bytes = bytes_;
    if (is_cut_) out_.absent.add("beyond_bound");
    if (left_out_ > 0) out_.absent.add("beyond_bound", left_out_);
    if (unknown_ > 0) out_.absent.add("malformed", unknown_);
    if (taken_ > 0) out_.largest = largest_;
  }

 private:
  void take_buffer(const FileText& file) {
    if (file.error == ENOENT || name_error_ == ENOENT || file.error == ENODEV ||
        name_error_ == ENODEV) {
      ++gone_;  // freed between two looks
      return;
    }
    const auto size = file.ok() ? one_u64(file.text) : std::nullopt;
    if (!size || exporter_.empty()) {
      ++unknown_;
      return;
    }
    ++taken_;
    bytes_ += *size;
    largest_ = std::max(largest_, *size);
    add_exporter(exporter_, *size, out_.bufinfo);
  }

  Dmabuf& out_;
  bool listed_ = false;
  bool is_cut_ = false;
  std::uint64_t buffers_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t gone_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t largest_ = 0;
  std::string_view folder_;
  std::string_view exporter_;
  int name_error_ = 0;
};

void take_bufinfo(bool is_cut, Dmabuf& out) {
  const Bufinfo& info = out.bufinfo;
  out.origin = "bufinfo";
  out.buffers = info.buffers;
  out.bytes = info.bytes;
  if (info.rows > 0 || info.buffers == 0) out.largest = info.largest;
  if (info.beyond_bound > 0) out.absent.add("beyond_bound", info.beyond_bound);
  if (info.unlocked > 0) out.absent.add("buffer_locked", info.unlocked);
  const bool sane = info.rows <= info.buffers && info.row_bytes <= info.bytes;
  if (is_cut && sane) {
    out.unlisted_buffers = info.buffers - info.rows;
    out.unlisted_bytes = info.bytes - info.row_bytes;
    out.absent.add("beyond_bound", out.unlisted_buffers);
    // The last row that was there to see is cut behind itself.
    if (info.devices_unknown > 1) out.absent.add("malformed", info.devices_unknown - 1);
    return;
  }
  if (info.devices_unknown > 0) out.absent.add("malformed", info.devices_unknown);
  if (!sane || info.rows != info.buffers || info.row_bytes != info.bytes) {
    out.absent.add("total_disagrees");
  }
}

std::string_view reason_without_bufinfo(Errc why) {
  switch (why) {
    case Errc::kDenied:
      return "debugfs_denied";
    case Errc::kAbsent:
      return "debugfs_absent";
    case Errc::kTimeout:
      return "bufinfo_omitted";
    default:
      return "unreadable";
  }
}

// The errno of listing it.
int take_sysfs(const Snapshot& snapshot, Dmabuf& out) {
  SysfsSum sysfs(out);
  int error = ENOENT;
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    sysfs.take(snapshot[i]);
    if (snapshot[i].path == kDmabufSysfs) error = snapshot[i].error;
  }
  if (!sysfs.listed()) return error;
  sysfs.finish();
  return 0;
}

void take_holders(Dmabuf& out) {
  const DmabufHolders& held = out.held;
  // That none was found says something only when most could be looked at.
  const bool most_seen = !held.hidden && held.processes > held.processes_denied;
  out.holders_known =
      held.processes > 0 && (most_seen || held.buffers + held.unsized + out.drm.clients > 0);
  out.holders_whole = out.holders_known && held.whole();
  const auto add = [&](std::string_view reason, std::uint64_t count) {
    if (count > 0) out.absent.add(reason, count);
  };
  add("process_denied", held.processes_denied);
  add("processes_hidden", held.hidden ? 1 : 0);
  add("beyond_bound", held.processes_omitted + held.descriptors_left_out);
  add("unreadable", held.unreadable);
  add("size_unknown", held.unsized);
  add("malformed", held.malformed);
  const bool not_looked_at = !out.bufinfo.of_nvmap.empty() && held.mappings == 0;
  add("mappings_unknown", held.mappings_missed + (not_looked_at ? 1 : 0));
  // Which of nvmap's buffers are without a client.
  const bool is_unknown = !out.bufinfo.of_nvmap.empty() && !held.clientless_known();
  add("clientless_unknown", is_unknown ? 1 : 0);
}

}  // namespace

const SourceInfo DmabufSource::kInfo{
    .name = "dmabuf",
    .what = "DMA-BUF buffers and GPU memory (DRM): how many, whose, which processes hold them",
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(60),
    .grant = "CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE for jetmem-reader, or run as root",
    .throttled = true,
    .metrics = kDmabufMetrics,
    .limits = kDmabufLimits,
    .gather = gather_dmabuf,
    .can_spare = true,
};

Result<void> parse_dmabuf(const Snapshot& snapshot, Dmabuf& out) {
  out = {};
  const std::string end_path = Gatherer::end_of(kBufinfoPath);
  const std::string lines_path = Gatherer::lines_of(kBufinfoPath);
  FileText bufinfo{kBufinfoPath, {}, ENOENT};
  std::optional<std::string_view> end;
  std::optional<std::string_view> more;
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const FileText file = snapshot[i];
    if (file.path == kBufinfoPath) bufinfo = file;
    if (file.path == end_path) end = file.text;
    if (file.path == lines_path && file.ok()) more = file.text;
  }
  std::optional<Error> failure;
  if (bufinfo.ok()) {
    if (auto ok = parse_bufinfo(bufinfo.text, end, out.bufinfo, more.value_or("")); ok) {
      take_bufinfo(end.has_value(), out);
    } else {
      failure = std::move(ok.error()).within("bufinfo");
      out.bufinfo = {};
      out.absent.add("malformed");
    }
  }
  int sysfs_error = 0;
  if (!bufinfo.ok() || failure) sysfs_error = take_sysfs(snapshot, out);
  const bool lists_all =
      bufinfo.ok() && !failure && (more || out.bufinfo.rows == out.bufinfo.buffers);
  parse_dmabuf_holders(snapshot, out.bufinfo.of_nvmap, lists_all, out.held);
  out.held.is_sparing = bufinfo.error == ETIMEDOUT;
  parse_drm(snapshot, out.drm, out.absent);
  take_holders(out);
  if (bufinfo.ok() && !failure) return {};

  const Errc why = bufinfo.ok() ? Errc::kMalformed : bufinfo.as_error().code;
  if (!bufinfo.ok()) out.absent.add(reason_without_bufinfo(why));
  if (out.buffers || out.holders_known) return {};
  if (failure) return tl::unexpected(std::move(*failure));
  if (why == Errc::kTimeout) {
    return fail(why, "bufinfo is omitted, as a reading did not return, and no process is known");
  }
  if (why != Errc::kAbsent) return tl::unexpected(bufinfo.as_error());
  if (out.held.processes_denied > 0 || (out.held.hidden && out.held.processes > 0)) {
    return fail(Errc::kDenied,
                "no bufinfo in debugfs, and no permission for the descriptors of most processes");
  }
  if (sysfs_error != 0 && errc_of_errno(sysfs_error) == Errc::kDenied) {
    return fail(Errc::kDenied, std::string(kDmabufSysfs) + ": permission denied");
  }
  return fail(Errc::kAbsent, "no DMA-BUF in debugfs or sysfs, and no process to be seen");
}

void DmabufSource::write_names(SampleWriter& out, WriteContext& context) const {
  const std::vector<DmabufName>& names = reading_.held.names;
  sizes_.clear();
  for (const DmabufName& name : names) {
    sizes_.push_back(name.bytes + kLeastBuffer * (name.unsized + name.beyond));
  }
  shown_.update(names, sizes_, context.awake, context.now);
  struct Sums {
    std::uint64_t buffers = 0;
    std::uint64_t bytes = 0;
    std::uint64_t descriptors = 0;
    std::uint64_t unsized = 0;
    std::uint64_t beyond = 0;
    std::uint64_t clientless = 0;
    bool mappings_missed = false;

    void add(const DmabufName& name) {
      buffers += name.buffers;
      bytes += name.bytes;
      descriptors += name.descriptors;
      unsized += name.unsized;
      beyond += name.beyond;
      clientless += name.clientless_bytes;
      mappings_missed = mappings_missed || name.mappings_missed;
    }
  };
  // What was seen to be clientless is so. That nothing was says something only where all is known.
  const bool knows_clients = reading_.held.clientless_known();
  const auto put = [&](const Sums& sums, std::string_view name) {
    out.put(dmabuf_metric("jetmem_dmabuf_holder_descriptors"), sums.descriptors, name);
    if (reading_.held.is_cut() || sums.beyond > 0 || sums.mappings_missed) {
      context.absent.add("holder_cut");
      return;
    }
    if (sums.unsized > 0 && sums.buffers == 0) return;
    out.put(dmabuf_metric("jetmem_dmabuf_holder_buffers"), sums.buffers, name);
    out.put(dmabuf_metric("jetmem_dmabuf_holder_bytes"), sums.bytes, name);
    if (knows_clients || sums.clientless > 0) {
      out.put(dmabuf_metric("jetmem_dmabuf_holder_clientless_bytes"), sums.clientless, name);
    }
  };
  Sums rest;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!shown_.shows(i)) rest.add(names[i]);
  }
  for (const ShownGroups::Shown& one : shown_.all()) {
    if (!one.shown) continue;
    Sums sums;
    sums.add(names[one.group]);
    put(sums, one.key.command);
  }
  if (!reading_.held.is_cut()) put(rest, ShownGroups::kOther);
  out.put(dmabuf_metric("jetmem_dmabuf_holders_suppressed"), shown_.suppressed_count());
}

static void write_drm(SampleWriter& out, const Drm& drm) {
  out.put(dmabuf_metric("jetmem_drm_clients"), drm.clients);
  for (const Drm::Region& region : drm.regions) {
    const auto put = [&](const std::optional<std::uint64_t>& bytes, std::string_view kind) {
      out.put(dmabuf_metric("jetmem_drm_bytes"), bytes, region.driver, region.region, kind);
    };
    put(region.figures.total, "total");
    put(region.figures.resident, "resident");
    put(region.figures.shared, "shared");
  }
  for (const Drm::Use& use : drm.uses) {
    const Drm::Region& region = drm.regions[use.region];
    const std::string_view name = use.is_rest ? ShownGroups::kOther : std::string_view(use.name);
    out.put(dmabuf_metric("jetmem_drm_process_bytes"), use.bytes, region.driver, region.region,
            name);
  }
}

void DmabufSource::write(SampleWriter& out, WriteContext& context) const {
  const Dmabuf& r = reading_;
  out.put(dmabuf_metric("jetmem_dmabuf_buffers"), r.buffers, r.origin);
  out.put(dmabuf_metric("jetmem_dmabuf_bytes"), r.bytes, r.origin);
  out.put(dmabuf_metric("jetmem_dmabuf_largest_bytes"), r.largest);
  if (r.buffers) {
    for (const DmabufShare& exporter : r.bufinfo.exporters) {
      out.put(dmabuf_metric("jetmem_dmabuf_exporter_buffers"), exporter.buffers, exporter.name);
      out.put(dmabuf_metric("jetmem_dmabuf_exporter_bytes"), exporter.bytes, exporter.name);
    }
    for (const DmabufShare& device : r.bufinfo.devices) {
      out.put(dmabuf_metric("jetmem_dmabuf_device_buffers"), device.buffers, device.name);
      out.put(dmabuf_metric("jetmem_dmabuf_device_bytes"), device.bytes, device.name);
    }
    out.put(dmabuf_metric("jetmem_dmabuf_unlisted_buffers"), r.unlisted_buffers);
    // In sysfs the size of each buffer is a file of its own: those not read are of unknown size.
    if (r.bytes) out.put(dmabuf_metric("jetmem_dmabuf_unlisted_bytes"), r.unlisted_bytes);
  }
  out.put(dmabuf_metric("jetmem_dmabuf_processes_denied"), r.held.processes_denied);
  if (!r.holders_known) return;
  out.put(dmabuf_metric("jetmem_dmabuf_unsized_descriptors"), r.held.unsized);
  write_names(out, context);
  // Parts of sums are no sums.
  if (r.held.is_cut()) context.absent.add("walk_cut");
  if (!r.held.is_cut()) write_drm(out, r.drm);
  const bool knows_mapped = std::none_of(r.held.holders.begin(), r.held.holders.end(),
                                         [](const auto& h) { return h.mappings_missed; });
  if (r.held.is_cut() || r.held.beyond > 0 || !knows_mapped) return;
  // A kernel that tells no size tells nothing to add up.
  if (r.held.unsized > 0 && r.held.buffers == 0) return;
  out.put(dmabuf_metric("jetmem_dmabuf_held_buffers"), r.held.buffers);
  out.put(dmabuf_metric("jetmem_dmabuf_held_bytes"), r.held.bytes);
  if (r.held.clientless_known()) {
    out.put(dmabuf_metric("jetmem_dmabuf_clientless_bytes"), r.held.clientless_bytes);
  }
  out.put(dmabuf_metric("jetmem_dmabuf_shared_buffers"), r.held.shared_buffers);
  out.put(dmabuf_metric("jetmem_dmabuf_shared_bytes"), r.held.shared_bytes);
}

}  // namespace jetmem
