#include "collectors/boot/gather.h"

#include <array>
#include <cerrno>
#include <string>
#include <vector>

namespace jetmem {
namespace {

// The header and the first lines; of the end what a panic prints: its line, registers, two stacks.
constexpr std::size_t kHead = 1024;
constexpr std::size_t kTail = 16384;
constexpr std::size_t kMostRecords = 24;
constexpr std::size_t kMostArchived = 12;

struct Left {
  std::size_t out = 0;
};

bool is_pmc(std::string_view name) {
  constexpr std::string_view kEnd = ".pmc";
  return name == "pmc" ||
         (name.size() > kEnd.size() && name.substr(name.size() - kEnd.size()) == kEnd);
}

// Of an unnamed reset the kernel warns at each reading; so far this process has met one.
bool& met_unnamed() {
  static bool met = false;
  return met;
}

bool gather_reset(Gatherer& gatherer, const std::string& folder, std::string_view prefix) {
  const std::string reason = folder + "/" + std::string(prefix) + "reset_reason";
  if (gatherer.root().is_live() && met_unnamed()) {
    gatherer.add(reason, "UNKNOWN\n");
    return true;
  }
  const FileText text = gatherer.read(reason);
  if (text.error == ENOENT) {
    gatherer.forget();
    return false;
  }
  if (gatherer.root().is_live() && text.text == "UNKNOWN\n") met_unnamed() = true;
  gatherer.read(folder + "/" + std::string(prefix) + "reset_level");
  return true;
}

void gather_reset(Gatherer& gatherer) {
  std::vector<std::string> names;
  for (const char* parent : {"/sys/devices/platform", "/sys/devices/platform/bus@0"}) {
    if (gatherer.list(parent, names) != 0) continue;
    for (const std::string& name : names) {
      if (is_pmc(name) && gather_reset(gatherer, std::string(parent) + "/" + name, "")) return;
    }
  }
  gather_reset(gatherer, "/sys/kernel/pmc", "tegra_");
}

void take(Gatherer& gatherer, const std::string& path, std::size_t& room, Left& left) {
  if (room == 0 || !gatherer.has_room()) {
    ++left.out;
    return;
  }
  --room;
  if (gatherer.read_ends(path, kHead, kTail).error == ENOENT) gatherer.forget();  // just removed
}

// systemd-pstore keeps records below folders named by number, which for most is the time: the
// newest, which is the largest, first. Where it put parts together only that is read.
void take_archived(Gatherer& gatherer, const std::string& folder, int depth, std::size_t& room,
                   Left& left) {
  std::vector<std::string> names;
  const int error = gatherer.list(folder, names);
  if (error == ENOTDIR && depth > 0) {
    take(gatherer, folder, room, left);
    return;
  }
  if (error != 0 || depth == 0) gatherer.add(folder, {}, error);
  if (error != 0 || depth > 2) return;
  for (const std::string& name : names) {
    if (depth > 0 && name == "dmesg.txt") {
      take(gatherer, folder + "/" + name, room, left);
      return;
    }
  }
  for (std::size_t i = names.size(); i-- > 0;) {
    if (room == 0) {
      left.out += i + 1;
      return;
    }
    take_archived(gatherer, folder + "/" + names[i], depth + 1, room, left);
  }
}

}  // namespace

void gather_boot(Gatherer& gatherer) {
  gather_reset(gatherer);
  Left left;
  std::vector<std::string> names;
  const int error = gatherer.list(kPstore, names);
  gatherer.add(kPstore, {}, error);
  std::size_t room = kMostRecords;
  // A panic and an oops first: of what else there is some may be left out.
  for (const bool dmesg : {true, false}) {
    for (const std::string& name : names) {
      if ((name.rfind("dmesg", 0) == 0) == dmesg) {
        take(gatherer, std::string(kPstore) + "/" + name, room, left);
      }
    }
  }
  room = kMostArchived;
  take_archived(gatherer, std::string(kPstoreArchive), 0, room, left);
  gatherer.note(kPstoreLeftOut.substr(kPstoreLeftOut.find(':') + 1), left.out);
}

}  // namespace jetmem
