// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/source_records.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/root/recorded.h"
#include "cli/bundle/reduce_log.h"
#include "cli/draw/number_text.h"

namespace jetmem {
namespace {

constexpr std::string_view kCommandLine = "/proc/cmdline";
constexpr std::string_view kKernelLog = "/dev/kmsg";
constexpr std::size_t kKernelLogBytes = 4U << 20;
// Beyond it a bundle could not be unpacked; what comes then is in the records alone.
constexpr std::size_t kMostFiles = 15'000;
constexpr std::size_t kMostErrors = 4096;

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

// Sources whose text is a log or written by people may hold private data.
bool is_log(std::string_view path) {
  return path.find("/sys/fs/pstore/") != std::string_view::npos ||
         path.find("/systemd/pstore/") != std::string_view::npos;
}
bool is_note(std::string_view path) {
  return path.starts_with("/var/lib/jetmem/") || path.starts_with("/run/jetmem/");
}

// The newest records, from the beginning of one.
void keep_newest(std::string& text, bool& cut) {
  if (text.size() <= kKernelLogBytes) return;
  cut = true;
  text.erase(0, text.size() - kKernelLogBytes);
  std::size_t end = text.find('\n');
  // A line that begins with a blank belongs to the record before it.
  while (end != std::string::npos && end + 1 < text.size() && text[end + 1] == ' ') {
    end = text.find('\n', end + 1);
  }
  text.erase(0, end == std::string::npos ? text.size() : end + 1);
}

int read_kernel_log(int fd, std::string& text, bool& cut) {
  std::array<char, 16384> piece;
  if (::lseek(fd, 0, SEEK_SET) < 0) return errno;
  // Where records come faster than they are read there would be no end.
  for (int n = 0; n < 200'000; ++n) {
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size < 0 && (errno == EINTR || errno == EPIPE || errno == EINVAL)) continue;
    if (size < 0 && errno != EAGAIN) return errno;
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > 2 * kKernelLogBytes) keep_newest(text, cut);
  }
  keep_newest(text, cut);
  return ::lseek(fd, 0, SEEK_SET) < 0 ? errno : 0;
}

}  // namespace

void SourceRecords::keep(Result<void> result) {
  if (result_ && !result) result_ = std::move(result);
}

std::string SourceRecords::redacted_text(const FileText& file) {
  if (is_log(file.path) && whole_log_) return redact_text(file.text, redacted_);
  if (is_log(file.path)) {
    return LogReducer(nullptr, redacted_).crash_record(file.path, file.text);
  }
  if (file.path.ends_with("/boots.json") && !whole_log_) {
    return redact_text(LogReducer(nullptr, redacted_).boots(file.text), redacted_, /*ids=*/false);
  }
  if (is_note(file.path)) return redact_text(file.text, redacted_, /*ids=*/false);
  return std::string(file.text);
}

// A gatherer records a listed folder as an empty record.
bool SourceRecords::is_folder(const FileText& file) const {
  if (!file.text.empty() || !file.path.starts_with('/')) return false;
  std::vector<std::string> names;
  bool cut = false;
  return root_.list(file.path, 1, names, cut) != ENOTDIR;
}

// True: the tree has the text.
bool SourceRecords::put(const FileText& file) {
  if (!file.path.starts_with('/') || file.path.find('\0') != std::string_view::npos) return false;
  if (bundle_.has(file.path, file.text)) return true;
  if (!bundle_.is_free(file.path) || bundle_.entries() >= kMostFiles) return false;
  if (is_folder(file)) {
    keep(bundle_.add_folder(file.path));
    return false;
  }
  keep(bundle_.add(file.path, file.text));
  return result_.has_value();
}

void SourceRecords::take(const SourceInfo& info, const Snapshot& snapshot) {
  if (!result_) return;
  const bool is_new = taken_.emplace(info.name).second;
  if (!is_new) return;
  std::string out = recorded_head(snapshot.truncated());
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    FileText file = snapshot[i];
    if (!file.ok()) {
      const bool is_path = file.path.starts_with('/');
      const bool is_reported = file.error > 0 && !is_missing(file.error);
      if (is_path && is_reported && errors_.size() < kMostErrors) {
        errors_.push_back({std::string(file.path), file.error});
      }
      if (info.access == Access::kStream && file.error == FileText::kNotRegular) {
        keep(bundle_.add_folder(file.path));
      }
      append_recorded(out, file, false);
      continue;
    }
    if (file.path == kCommandLine) {
      const std::string text = redact_command_line(file.text, redacted_) + "\n";
      if (bundle_.is_free(file.path)) keep(bundle_.add(file.path, text));
      // This source compares a digest of it: that of a part would report a change that never was.
      if (info.name == "boot") continue;
      file.text = text;
      append_recorded(out, file, true);
      continue;
    }
    const std::string text = redacted_text(file);
    file.text = text;
    append_recorded(out, file, put(file));
  }
  if (info.access != Access::kStream) {
    keep(bundle_.add(std::string(kRecordsFolder) + std::string(info.name), out));
  }
}

void SourceRecords::take_kernel_log(const SourceInfo& info, int fd,
                                    const kernel_log::Catalogue* site) {
  if (!result_) return;
  taken_.emplace(info.name);
  std::string text;
  bool cut = false;
  if (const int error = read_kernel_log(fd, text, cut); error != 0) {
    errors_.push_back({std::string(kKernelLog), error});
    omitted_.push_back(
        {std::string(kKernelLog), FileText{kKernelLog, {}, error}.as_error().message});
    return;
  }
  if (cut) {
    omitted_.push_back({std::string(kKernelLog),
                        "all but the newest " + bytes_text(std::uint64_t{kKernelLogBytes})});
  }
  keep(bundle_.add(kKernelLog, whole_log_ ? redact_text(text, redacted_)
                                          : LogReducer(site, redacted_).kernel_log(text)));
}

std::vector<Manifest::RecordedError> SourceRecords::errors() const {
  std::vector<Manifest::RecordedError> out;
  std::set<std::string_view> known;
  for (const Manifest::RecordedError& each : errors_) {
    // One source may read what another may not.
    const bool was_read = bundle_.has_folder(each.path) || !bundle_.is_free(each.path);
    if (!was_read && known.emplace(each.path).second) out.push_back(each);
  }
  return out;
}

}  // namespace jetmem
