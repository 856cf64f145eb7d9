// SPDX-License-Identifier: Apache-2.0
// From the text of bufinfo, of sysfs and of the processes' descriptors to one reading.

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>

#include "base/text/text.h"
#include "collectors/dmabuf/gather.h"
#include "collectors/dmabuf/source.h"
#include "collectors/storage.h"
#include "collectors/sysfs/one_value.h"

namespace jetmem {
namespace {

constexpr std::string_view kNoteBuffers = "jetmem:buffers";

// What the kernel lists of all buffers in sysfs, a folder for each.
class SysfsSum {
 public:
  explicit SysfsSum(Dmabuf& out) : out_(out), exporters_(out.bufinfo.exporters) {}

  void take(const FileText& file) {
    if (file.path == kNoteBuffers) {
      listed_ = true;
      buffers_ = one_u64(file.text).value_or(0);
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
    out_.buffers = buffers_ - std::min(gone_, buffers_);
    out_.unlisted_buffers = left_out_ + unknown_;
    if (out_.unlisted_buffers == 0) out_.bytes = bytes_;
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
    exporters_.add_exporter(exporter_, *size);
  }

  Dmabuf& out_;
  DmabufShares exporters_;
  bool listed_ = false;
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

// The errno of listing it.
int take_sysfs(const Snapshot& snapshot, Dmabuf& out) {
  out.bufinfo.devices.clear();
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
  out.holders_known = held.processes > 0 && (most_seen || held.buffers + held.unsized > 0);
  out.holders_whole = out.holders_known && held.whole();
  out.unsized = held.unsized;
  const auto add = [&](std::string_view reason, std::uint64_t count) {
    if (count > 0) out.absent.add(reason, count);
  };
  add("process_denied", held.processes_denied);
  add("processes_hidden", held.hidden ? 1 : 0);
  add("beyond_bound", held.processes_omitted + held.descriptors_left_out);
  add("unreadable", held.unreadable);
  add("size_unknown", held.unsized);
  add("malformed", held.malformed);
}

}  // namespace

bool Dmabuf::operator==(const Dmabuf& other) const {
  const auto stats = [](const Dmabuf& d) {
    return std::tie(d.buffers, d.bytes, d.origin, d.largest, d.bufinfo.exporters, d.bufinfo.devices,
                    d.unlisted_buffers, d.unlisted_bytes, d.holders_known, d.holders,
                    d.holders_whole, d.unsized, d.held);
  };
  return stats(*this) == stats(other);
}

Result<void> parse_dmabuf(const Snapshot& snapshot, Dmabuf& out) {
  out.buffers.reset();
  out.bytes.reset();
  out.origin = {};
  out.largest.reset();
  out.unlisted_buffers = out.unlisted_bytes = 0;
  out.absent.reset();

  static const std::string kEndPath = Gatherer::end_of(kBufinfoPath);
  FileText bufinfo{kBufinfoPath, {}, ENOENT};
  std::optional<std::string_view> end;
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const FileText file = snapshot[i];
    if (file.path == kBufinfoPath) bufinfo = file;
    if (file.path == kEndPath) end = file.text;
  }
  std::optional<Error> failure;
  if (bufinfo.ok()) {
    if (auto ok = parse_bufinfo(bufinfo.text, end, out.bufinfo); ok) {
      take_bufinfo(end.has_value(), out);
    } else {
      failure = std::move(ok.error()).within("bufinfo");
      out.absent.add("malformed");
    }
  }
  int sysfs_error = 0;
  if (!bufinfo.ok() || failure) sysfs_error = take_sysfs(snapshot, out);
  parse_dmabuf_holders(snapshot, out.held);
  take_holders(out);
  out.holders = out.held.holders;
  if (bufinfo.ok() && !failure) return {};

  // Not as_error(): its message would be made anew each minute.
  const bool is_errno = bufinfo.error > 0;
  const Errc why =
      bufinfo.ok() ? Errc::kMalformed : (is_errno ? errc_of_errno(bufinfo.error) : Errc::kIo);
  if (why == Errc::kDenied) out.absent.add("debugfs_denied");
  if (why == Errc::kAbsent) out.absent.add("debugfs_absent");
  if (!bufinfo.ok() && why != Errc::kDenied && why != Errc::kAbsent) out.absent.add("unreadable");
  if (out.buffers || out.holders_known) return {};
  if (failure) return tl::unexpected(std::move(*failure));
  if (why != Errc::kAbsent) return tl::unexpected(bufinfo.as_error());
  if (out.held.processes_denied > 0 || (out.held.hidden && out.held.processes > 0)) {
    return fail(Errc::kDenied,
                "no bufinfo in debugfs, and the descriptors of most processes may "
                "not be looked at");
  }
  if (sysfs_error != 0 && errc_of_errno(sysfs_error) == Errc::kDenied) {
    return fail(Errc::kDenied, std::string(kDmabufSysfs) + " may not be read");
  }
  return fail(Errc::kAbsent, "no DMA-BUF in debugfs or sysfs, and no process to be seen");
}

}  // namespace jetmem
