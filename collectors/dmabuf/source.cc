// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/source.h"

#include <array>

#include "collectors/dmabuf/gather.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::uint16_t kNames = ShownGroups::kMost + 1;

constexpr std::array kMetrics{
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
          {"command"}, kNames),
    gauge("jetmem_dmabuf_holder_bytes",
          "Memory in DMA-BUFs that processes of this name have open, each buffer once per name: "
          "one that two programs share counts for both. A buffer that is mapped and whose "
          "descriptor was closed is not counted.",
          {"command"}, kNames),
    gauge("jetmem_dmabuf_holder_descriptors",
          "Descriptors of DMA-BUFs that processes of this name have open: several may refer to "
          "one buffer. Steady growth is the leak. Where a process has more than 4096, its "
          "buffers and bytes are omitted, its descriptors are still counted.",
          {"command"}, kNames),
    gauge("jetmem_dmabuf_holders_suppressed",
          "Names that are among the largest holders and have no series of their own, because 100 "
          "new names had already got one that day."),
    gauge("jetmem_dmabuf_held_buffers",
          "DMA-BUFs that any visible process has open, each once. Absent when not all processes "
          "could be examined. With no process denied, the rest of jetmem_dmabuf_buffers is held "
          "by drivers or mappings only."),
    gauge("jetmem_dmabuf_held_bytes",
          "Memory in DMA-BUFs that any visible process has open, each once."),
    gauge("jetmem_dmabuf_shared_buffers", "DMA-BUFs that more than one process has open."),
    gauge("jetmem_dmabuf_shared_bytes", "Memory in DMA-BUFs that more than one process has open."),
    gauge("jetmem_dmabuf_unsized_descriptors",
          "Open descriptors of DMA-BUFs whose size the kernel does not report (before Linux "
          "5.3): held by processes, and in none of the holder metrics."),
    gauge("jetmem_dmabuf_processes_denied",
          "Processes whose descriptors may not be examined, kernel threads among them. Above 0 "
          "the holder metrics cover only a part of the processes: jetmem-reader needs "
          "CAP_SYS_PTRACE."),
};
consteval const Descriptor& metric(std::string_view name) { return find_metric(kMetrics, name); }

// A buffer without a size is at least a page: enough to tell who has many.
constexpr std::uint64_t kLeastBuffer = 4096;

const SystemClock kSystemClock;

}  // namespace

const SourceInfo DmabufSource::kInfo{
    .name = "dmabuf",
    .what = "DMA-BUF buffers: how many, whose, and which processes hold them",
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(60),
    .grant = "CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE for jetmem-reader, or run as root",
    .throttled = true,
    .metrics = kMetrics,
    .limits = kDmabufLimits,
    .gather = gather_dmabuf,
};

DmabufSource::DmabufSource() : DmabufSource(kSystemClock) {}

void DmabufSource::choose_names() const {
  const std::vector<DmabufName>& names = reading_.held.names;
  sizes_.clear();
  {
    Refill<Processes::Group> groups(names_);
    for (const DmabufName& name : names) {
      groups.add().key.command = name.name;
      sizes_.push_back(name.bytes + kLeastBuffer * (name.unsized + name.beyond));
    }
  }
  shown_.update(names_, sizes_, clock_.mono(), clock_.boot());
}

void DmabufSource::write_names(SampleWriter& out, AbsentValues& absent) const {
  choose_names();
  const std::vector<DmabufName>& names = reading_.held.names;
  struct Sums {
    std::uint64_t buffers = 0;
    std::uint64_t bytes = 0;
    std::uint64_t descriptors = 0;
    std::uint64_t unsized = 0;
    std::uint64_t beyond = 0;
  };
  const auto put = [&](const Sums& sums, std::string_view name) {
    out.put(metric("jetmem_dmabuf_holder_descriptors"), sums.descriptors, name);
    if (sums.beyond > 0) {
      absent.add("holder_cut");
      return;
    }
    if (sums.unsized > 0 && sums.buffers == 0) return;
    out.put(metric("jetmem_dmabuf_holder_buffers"), sums.buffers, name);
    out.put(metric("jetmem_dmabuf_holder_bytes"), sums.bytes, name);
  };
  Sums rest;
  for (const DmabufName& name : names) {
    rest.buffers += name.buffers;
    rest.bytes += name.bytes;
    rest.descriptors += name.descriptors;
    rest.unsized += name.unsized;
    rest.beyond += name.beyond;
  }
  for (const ShownGroups::Shown& one : shown_.all()) {
    if (!one.shown) continue;
    const DmabufName& name = names[one.group];
    put({name.buffers, name.bytes, name.descriptors, name.unsized, name.beyond}, name.name);
    rest.buffers -= name.buffers;
    rest.bytes -= name.bytes;
    rest.descriptors -= name.descriptors;
    rest.unsized -= name.unsized;
    rest.beyond -= name.beyond;
  }
  if (!reading_.held.is_cut()) put(rest, ShownGroups::kOther);
  out.put(metric("jetmem_dmabuf_holders_suppressed"), shown_.suppressed_count());
}

void DmabufSource::write(SampleWriter& out, WriteContext& context) const {
  context.absent.add(reading_.absent);
  const auto put = [&](const Descriptor& descriptor, std::uint64_t value, const auto&... labels) {
    out.put(descriptor, value, labels...);
  };
  const Dmabuf& r = reading_;
  if (r.buffers) put(metric("jetmem_dmabuf_buffers"), *r.buffers, r.origin);
  if (r.bytes) put(metric("jetmem_dmabuf_bytes"), *r.bytes, r.origin);
  if (r.largest) put(metric("jetmem_dmabuf_largest_bytes"), *r.largest);
  if (r.buffers) {
    for (const DmabufShare& exporter : r.bufinfo.exporters) {
      put(metric("jetmem_dmabuf_exporter_buffers"), exporter.buffers, exporter.name);
      put(metric("jetmem_dmabuf_exporter_bytes"), exporter.bytes, exporter.name);
    }
    for (const DmabufShare& device : r.bufinfo.devices) {
      put(metric("jetmem_dmabuf_device_buffers"), device.buffers, device.name);
      put(metric("jetmem_dmabuf_device_bytes"), device.bytes, device.name);
    }
    put(metric("jetmem_dmabuf_unlisted_buffers"), r.unlisted_buffers);
    // In sysfs the size of each buffer is a file of its own: those not read are of unknown size.
    if (r.bytes) put(metric("jetmem_dmabuf_unlisted_bytes"), r.unlisted_bytes);
  }
  put(metric("jetmem_dmabuf_processes_denied"), r.held.processes_denied);
  if (!r.holders_known) return;
  put(metric("jetmem_dmabuf_unsized_descriptors"), r.unsized);
  write_names(out, context.absent);
  // Parts of sums are no sums.
  if (r.held.is_cut()) context.absent.add("walk_cut");
  if (r.held.is_cut() || r.held.beyond > 0) return;
  // A kernel that tells no size tells nothing to add up.
  if (r.unsized > 0 && r.held.buffers == 0) return;
  put(metric("jetmem_dmabuf_held_buffers"), r.held.buffers);
  put(metric("jetmem_dmabuf_held_bytes"), r.held.bytes);
  put(metric("jetmem_dmabuf_shared_buffers"), r.held.shared_buffers);
  put(metric("jetmem_dmabuf_shared_bytes"), r.held.shared_bytes);
}

}  // namespace jetmem
