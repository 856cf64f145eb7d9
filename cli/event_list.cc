#include "cli/event_list.h"

#include "base/text.h"
#include "cli/event_text.h"
#include "cli/since.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::Field;

std::string key_of(const Event& event) {
  const kernel_log::KindInfo& info = kernel_log::info_of(event.kind());
  std::string key(info.name);
  for (const std::string_view name : info.key) {
    const Field* field = name.empty() ? nullptr : event.find(name);
    key.push_back('\0');
    if (field == nullptr) continue;
    key.append(std::to_string(field->number)).push_back(':');
    key.append(event.text(name));
  }
  return key;
}

std::string since_boot(Nanoseconds time) {
  return "[" + seconds_text(std::chrono::duration_cast<std::chrono::microseconds>(time)) + "]";
}

}  // namespace

void EventList::add(const Event& event, std::optional<Nanoseconds> wall) {
  Row row;
  row.key = key_of(event);
  row.has_wall = wall.has_value();
  row.first = wall;
  if (!wall && event.stamp) row.first = *event.stamp;
  row.last = row.first;
  if (Row* same = same_as(row.key, row)) {
    ++same->repeats;
    same->last = row.last;
    return;
  }
  std::string head;
  if (row.first) head = (wall ? local_time(*wall) : since_boot(*row.first)) + " ";
  head.append(kernel_log::info_of(event.kind()).name);
  bool& explained = explained_[static_cast<std::size_t>(event.kind())];
  row.block = event_block(head, event, !explained);
  explained = true;
  const std::optional<Nanoseconds> now = row.last;
  rows_.push_back(std::move(row));
  // What nothing can be added to any more.
  while (rows_.size() > kMaxRows || (rows_.size() > 1 && (!now || !rows_.front().last ||
                                                          *now - *rows_.front().last > kMaxGap))) {
    print_first();
  }
}

EventList::Row* EventList::same_as(const std::string& key, const Row& row) {
  for (auto it = rows_.rbegin(); it != rows_.rend(); ++it) {
    if (it->key != key) continue;
    if (it->has_wall != row.has_wall || it->last.has_value() != row.last.has_value())
      return nullptr;
    if (!row.last) return it == rows_.rbegin() ? &*it : nullptr;
    return *row.last - *it->last <= kMaxGap ? &*it : nullptr;
  }
  return nullptr;
}

void EventList::print_first() {
  const Row& row = rows_.front();
  std::string text = row.block;
  if (row.repeats > 0) {
    text.append("    repeated ").append(counted(row.repeats, "time"));
    if (row.last) {
      text.append(" until ");
      text.append(row.has_wall ? local_time_short(*row.last, *row.first) : since_boot(*row.last));
    }
    text.append("\n");
  }
  print_(text);
  rows_.pop_front();
}

void EventList::finish() {
  while (!rows_.empty()) print_first();
}

}  // namespace jetmem
