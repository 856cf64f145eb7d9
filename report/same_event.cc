#include "report/same_event.h"

namespace jetmem {
namespace {

bool is_within(Nanoseconds at, Nanoseconds from, Nanoseconds to) {
  return at >= from - kSameEventSlack && at <= to + kSameEventSlack;
}

}  // namespace

bool is_same_event(const EventRecord& recorded, const EventRecord& of_log) {
  if (recorded.id > 0 && recorded.id == of_log.id) return true;
  if (recorded.what != of_log.what || recorded.kind != of_log.kind) return false;
  if (recorded.boot > 0 && of_log.boot > 0 && recorded.boot != of_log.boot) return false;
  if (recorded.subject != of_log.subject) return false;
  if (recorded.at && of_log.at) {
    // The boot clock counts anew in each boot: alone it says nothing of two that are not known.
    const bool same_boot = recorded.boot > 0 && recorded.boot == of_log.boot;
    if (same_boot && is_within(*of_log.at, *recorded.at, recorded.until.value_or(*recorded.at))) {
      return true;
    }
  }
  if (recorded.wall && of_log.wall) {
    const Nanoseconds lasted =
        recorded.at && recorded.until ? *recorded.until - *recorded.at : Nanoseconds(0);
    return is_within(*of_log.wall, *recorded.wall, *recorded.wall + lasted);
  }
  return !recorded.at && !of_log.at && recorded.summary == of_log.summary;
}

}  // namespace jetmem
