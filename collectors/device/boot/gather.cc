// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/gather.h"

#include <sys/timex.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

namespace jetmem {
namespace {

// The header and the first lines; of the end what a panic prints: its line, registers, two stacks.
constexpr std::size_t kRecordHead = 1024;
constexpr std::size_t kRecordTail = 16384;
constexpr std::size_t kMostRecords = 24;
constexpr std::size_t kMostArchived = 12;

bool is_pmc(std::string_view name) { return name == "pmc" || name.ends_with(".pmc"); }

bool gather_reset(Gatherer& gatherer, const std::string& folder, std::string_view prefix,
                  SavedReset* unnamed) {
  const std::string reason_path = folder + "/" + std::string(prefix) + "reset_reason";
  const std::string level_path = folder + "/" + std::string(prefix) + "reset_level";
  if (unnamed != nullptr && unnamed->kept) {
    gatherer.add(reason_path, unnamed->reason);
    gatherer.add(level_path, unnamed->level, unnamed->level_error);
    return true;
  }
  const FileText reason = gatherer.read_if_any(reason_path);
  if (reason.error == ENOENT) return false;
  const std::string reason_text(reason.text);
  const bool reason_ok = reason.ok();
  const FileText level = gatherer.read(level_path);
  constexpr std::string_view kUnnamed = "UNKNOWN\n";
  if (unnamed != nullptr && reason_ok && (reason_text == kUnnamed || level.text == kUnnamed)) {
    *unnamed = {true, reason_text, std::string(level.text), level.error};
  }
  return true;
}

void take(Gatherer& gatherer, const std::string& path, std::size_t& room, std::size_t& left_out) {
  if (room == 0 || !gatherer.has_room()) {
    ++left_out;
    return;
  }
  --room;
  if (gatherer.read_ends(path, kRecordHead, kRecordTail).error == ENOENT)
    gatherer.forget();  // just removed
}

void note(Gatherer& gatherer, std::string_view record, std::size_t number) {
  gatherer.note(record.substr(record.find(':') + 1), number);
}

// systemd-pstore keeps records below folders named by number, which for most is the time: the
// newest, which is the largest, first. Where it put parts together only that is read.
void take_archived(Gatherer& gatherer, const std::string& folder, int depth, std::size_t& room,
                   std::size_t& left_out) {
  std::vector<std::string> names;
  const int error = gatherer.list(folder, names);
  if (error == ENOTDIR && depth > 0) {
    take(gatherer, folder, room, left_out);
    return;
  }
  if (error != 0 || depth == 0) gatherer.add(folder, {}, error);
  if (error != 0 || depth > 2) return;
  for (const std::string& name : names) {
    if (depth > 0 && name == "dmesg.txt") {
      take(gatherer, folder + "/" + name, room, left_out);
      return;
    }
  }
  for (std::size_t i = names.size(); i-- > 0;) {
    if (room == 0) {
      left_out += i + 1;
      return;
    }
    take_archived(gatherer, folder + "/" + names[i], depth + 1, room, left_out);
  }
}

}  // namespace

void gather_reset(Gatherer& gatherer, SavedReset* unnamed) {
  std::vector<std::string> names;
  for (const char* parent : {"/sys/devices/platform", "/sys/devices/platform/bus@0"}) {
    if (gatherer.list(parent, names) != 0) continue;
    for (const std::string& name : names) {
      const std::string folder = std::string(parent) + "/" + name;
      if (is_pmc(name) && gather_reset(gatherer, folder, "", unnamed)) return;
    }
  }
  gather_reset(gatherer, "/sys/kernel/pmc", "tegra_", unnamed);
}

void gather_clock(Gatherer& gatherer) {
  timex requested{};  // modes 0: nothing is set
  const int state = ::adjtimex(&requested);
  if (state < 0) return;
  note(gatherer, kClockSynchronized,
       state != TIME_ERROR && (requested.status & STA_UNSYNC) == 0 ? 1 : 0);
}

void gather_boot(Gatherer& gatherer) {
  static SavedReset unnamed;  // of this process
  if (gatherer.root().is_live()) gather_clock(gatherer);
  gather_reset(gatherer, gatherer.root().is_live() ? &unnamed : nullptr);
  std::size_t left_out = 0;
  std::vector<std::string> names;
  const int error = gatherer.list(kPstore, names);
  gatherer.add(kPstore, {}, error);
  std::size_t room = kMostRecords;
  // A panic and an oops first: of the others some may be omitted. Of those the largest,
  // which where a name begins with the time (efi) is the newest.
  for (const bool dmesg : {true, false}) {
    for (std::size_t i = names.size(); i-- > 0;) {
      if ((names[i].rfind("dmesg", 0) == 0) == dmesg) {
        take(gatherer, std::string(kPstore) + "/" + names[i], room, left_out);
      }
    }
  }
  note(gatherer, kPstoreLeftOut, left_out);
  room = kMostArchived;
  left_out = 0;
  take_archived(gatherer, std::string(kPstoreArchive), 0, room, left_out);
  note(gatherer, kArchiveLeftOut, left_out);
}

}  // namespace jetmem
