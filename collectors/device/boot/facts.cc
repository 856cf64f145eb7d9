// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/facts.h"

#include <algorithm>
#include <cerrno>

#include "base/text/text.h"
#include "collectors/device/boot/gather.h"
#include "collectors/device/identity.h"
#include "collectors/sysfs/clocks/power_mode.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

using boot::What;

enum Path : std::size_t {
  kOsrelease,
  kCommandLine,
  kL4t,
  kPowerMode,
  kHistory,
  kMarks,
  kBackend,
  kStarts,
  kUptime
};

constexpr std::size_t kMaxWord = 64;
constexpr std::uint64_t kMaxUptime = 100ULL * 365 * 86400;  // seconds

// A name as the kernel prints it: letters, digits and a few signs, of a likely length.
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxWord &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

class BootFactsParser {
 public:
  BootFactsParser(const Snapshot& snapshot, BootFacts& out) : snapshot_(snapshot), out_(out) {}

  void values() {
    take_word_of(kBootPaths[kOsrelease], value(What::kKernel));
    if (const auto text = text_of(kBootPaths[kCommandLine])) {
      const auto line = one_value(*text);
      if (line) {
        short_digest(*line, value(What::kCommandLine));
      } else {
        out_.absent.add("malformed");
      }
    }
    if (const auto text = text_of(kBootPaths[kL4t])) {
      device::take_l4t_release(*text, value(What::kL4t));
      if (value(What::kL4t).empty()) out_.absent.add("malformed");
    }
    if (const auto text = text_of(kBootPaths[kPowerMode])) {
      if (const auto mode = clocks::power_mode_of(*text)) {
        value(What::kPowerMode).assign(std::to_string(*mode));
      } else {
        out_.absent.add("malformed");
      }
    }
  }

  void reset() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      const std::string_view leaf = file.path.substr(file.path.rfind('/') + 1);
      const bool reason = leaf == "reset_reason" || leaf == "tegra_reset_reason";
      if (!reason && leaf != "reset_level" && leaf != "tegra_reset_level") continue;
      if (!file.ok()) {
        unreadable(file, "reset_reason_denied");
        continue;
      }
      std::optional<std::string_view> word = one_value(file.text);
      if (word) take_prefix(*word, "TEGRA_RESET_LEVEL_");
      // A reset without a name of its own is printed as a null pointer.
      if (word == "(null)") word = "UNKNOWN";
      if (!word || !is_word(*word)) {
        out_.absent.add("malformed");
        continue;
      }
      (reason ? out_.reset_reason : out_.reset_level).assign(*word);
    }
  }

  void pstore() {
    take_word_of(kBootPaths[kBackend], out_.backend);
    if (out_.backend == "(null)") out_.backend = "none";
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      std::string_view name = file.path;
      if (name == kPstore || name == kPstoreArchive) {
        const bool archive = name == kPstoreArchive;
        (archive ? out_.archive_listed : out_.pstore_listed) = file.ok();
        if (!file.ok()) unreadable(file, archive ? "archive_denied" : "pstore_denied");
        continue;
      }
      const bool archived = take_prefix(name, kPstoreArchive);
      if ((!archived && !take_prefix(name, kPstore)) || !take_prefix(name, "/")) continue;
      if (out_.records.size() == BootFacts::kMaxRecords) {
        cut(archived, 1);
        continue;
      }
      std::string_view tail;
      if (i + 1 < snapshot_.size() && is_end_of(snapshot_[i + 1].path, file.path)) {
        tail = snapshot_[i + 1].text;
      }
      PstoreRecord& record = out_.records.emplace_back();
      record.archived = archived;
      parse_pstore_record(name, file.text, tail, record);
      if (!file.ok()) {
        record.unreadable = true;
        unreadable(file, "record_denied");
      }
    }
    for (const bool archived : {false, true}) {
      const FileText left_out = snapshot_.find(archived ? kArchiveLeftOut : kPstoreLeftOut);
      if (left_out.ok()) cut(archived, one_u64(left_out.text).value_or(0));
    }
  }

  void uptime() {
    const auto text = text_of(kBootPaths[kUptime]);
    if (!text) return;
    std::string_view rest = *text;
    const auto seconds = take_u64(rest);
    // The number's end shows that it was not cut.
    const bool is_whole = seconds && *seconds < kMaxUptime && take_prefix(rest, ".") &&
                          rest.find('\n') != std::string_view::npos;
    if (is_whole) {
      out_.uptime = std::chrono::seconds(*seconds);
    } else {
      out_.absent.add("malformed");
    }
  }

  void starts() {
    const auto text = text_of(kBootPaths[kStarts]);
    if (!text) return;
    if (boot::parse_starts(*text, out_.starts)) return;
    out_.starts = {};
    out_.absent.add("malformed");
  }

  void history() {
    const auto text = snapshot_.text_of(kBootPaths[kHistory]);
    const auto ok = text ? boot::parse_history(*text, out_.history) : tl::unexpected(text.error());
    out_.history_error.reset();
    if (!ok) {
      out_.history.clear();
      out_.history_error = ok.error();
    }
    boot::parse_marks(snapshot_.find(kBootPaths[kMarks]).text, out_.marks);
    if (out_.history_error && out_.history_error->code == Errc::kDenied) {
      out_.absent.add("history_denied");
    } else if (out_.history_error && out_.history_error->code != Errc::kAbsent) {
      out_.absent.add("history_malformed");
    }
    if (out_.marks.malformed > 0) out_.absent.add("malformed_mark", out_.marks.malformed);
  }

 private:
  void cut(bool archived, std::uint64_t records) {
    if (records == 0) return;
    (archived ? out_.archive_cut : out_.pstore_cut) = true;
    out_.absent.add("too_many_records", records);
  }

  void take_word_of(std::string_view path, std::string& out) {
    const auto text = text_of(path);
    if (!text) return;
    const auto word = one_value(*text);
    if (word && is_word(*word)) {
      out.assign(*word);
    } else {
      out_.absent.add("malformed");
    }
  }

  std::string& value(What what) { return out_.values[static_cast<std::size_t>(what)]; }

  static bool is_end_of(std::string_view path, std::string_view of) {
    return take_prefix(path, "jetmem:end of ") && path == of;
  }

  void unreadable(const FileText& file, std::string_view denied) {
    switch (file.error > 0 ? errc_of_errno(file.error) : Errc::kIo) {
      case Errc::kAbsent:
        return;
      case Errc::kDenied:
        out_.absent.add(denied);
        return;
      default:
        out_.absent.add("unreadable");
    }
  }

  std::optional<std::string_view> text_of(std::string_view path) {
    const FileText file = snapshot_.find(path);
    if (file.ok()) return file.text;
    unreadable(file, "denied");
    return std::nullopt;
  }

  const Snapshot& snapshot_;
  BootFacts& out_;
};

}  // namespace

bool BootFacts::can_mask_crash() const {
  return std::any_of(records.begin(), records.end(), [](const PstoreRecord& record) {
    return record.unreadable && record.kind != PstoreKind::kPmsg &&
           record.kind != PstoreKind::kOther;
  });
}

Result<void> parse_boot(const Snapshot& snapshot, bool with_history, BootFacts& out) {
  out = {};
  BootFactsParser parser(snapshot, out);
  parser.values();
  parser.reset();
  parser.pstore();
  parser.uptime();
  if (const auto synchronized = one_u64(snapshot.find(kClockSynchronized).text)) {
    out.clock_synchronized = *synchronized == 1;
  }
  if (with_history) parser.starts();
  if (with_history) parser.history();
  // The history on flash does not have the last starts of a crash loop.
  boot::History& history = out.history;
  if (out.starts.is_total && !history.boots.empty() && history.boots.back().id == out.starts.boot) {
    history.count_starts(out.starts.count, out.starts.stopped);
  }
  bool any = !out.reset_reason.empty() || !out.backend.empty() || out.pstore_listed ||
             out.archive_listed || !out.records.empty() || !out.history_error;
  for (const std::string& value : out.values) any = any || !value.empty();
  if (any) return {};
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const FileText file = snapshot[i];
    if (!file.ok() && file.error != ENOENT) return tl::unexpected(file.as_error());
  }
  return fail(Errc::kAbsent, "nothing on this machine describes its boots");
}

}  // namespace jetmem
