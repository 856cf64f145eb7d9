// SPDX-License-Identifier: Apache-2.0
#include "report/answers/boots_answer.h"

#include <utility>

#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "collectors/device/boot/reset_reason.h"

namespace jetmem {
namespace {

constexpr std::chrono::minutes kSignOfLife{15};  // of jetmemd's history
constexpr std::size_t kMaxProblem = 300;

}  // namespace

// describe() is looked up in the namespace of its type.
namespace boot {

static void describe(json::Fields& v, Moment& moment) {
  if (moment.plausible()) v.output("time", utc_time(std::chrono::seconds(moment.wall)));
  v("since_boot_seconds", moment.uptime);
}

static void describe(json::Fields& v, Boot& boot) {
  v("boot", boot.number);
  v("boot_id", boot.id);
  v("first_seen", boot.first);
  v("last_seen", boot.last);
  v.output("ended", std::string(device_end_name(boot.end)));
  if (!boot.reset_reason.empty()) {
    v("reset_reason", boot.reset_reason);
    v("reset_level", boot.reset_level);
    v.output("reset_cause", std::string(reset_cause_name(cause_of_reset(boot.reset_reason))));
  }
  v.unless_empty("crash_recorded", boot.crash);
  v("jetmem_starts", boot.starts);
  if (boot.starts_are_least) v("jetmem_starts_are_least", boot.starts_are_least);
  v("jetmem_unclean_stops", boot.unclean_runs);
  for (const What what : {What::kKernel, What::kL4t, What::kPowerMode, What::kVersion}) {
    const std::string name(what == What::kVersion ? "jetmem_version" : what_name(what));
    v.unless_empty(name.c_str(), boot.values[static_cast<std::size_t>(what)]);
  }
}

static void describe(json::Fields& v, boot::Change& change) {
  v("boot", change.boot);
  v("at", change.at);
  v.output("what", std::string(what_name(change.what)));
  v("from", change.from);
  v("to", change.to);
}

static void describe(json::Fields& v, Mark& mark) {
  v("at", mark.at);
  v("boot_id", mark.boot);
  v("text", mark.text);
}

}  // namespace boot

static void describe(json::Fields& v, PstoreRecord& record) {
  v("name", record.name);
  v.output("place", std::string(record.archived ? "archive" : "pstore"));
  v.output("kind", std::string(pstore_kind_name(record.kind)));
  v.unless_empty("line", record.line);
}

static void describe(json::Fields& v, BootsAnswer& answer) {
  describe_head(v, BootsAnswer::kSchema, answer.from);
  std::vector<boot::Boot> boots;
  std::vector<boot::Change> changes;
  if (answer.history) {
    v.output("reason", answer.summary.text);
    v.output("worrying", answer.summary.worrying);
    if (answer.seconds_down) v.output("downtime_seconds", *answer.seconds_down);
    boots.assign(answer.history->boots.rbegin(), answer.history->boots.rend());
    changes.assign(answer.history->changes.rbegin(), answer.history->changes.rend());
  }
  v("boots", boots);
  v("changes", changes);
  std::vector<boot::Mark> marks(answer.marks.rbegin(), answer.marks.rend());
  v("marks", marks);
  if (answer.records) v("pstore_records", *answer.records);
  v.absent(answer.absent);
}

BootsAnswer boots_answer(AnswerFrom from, Result<boot::History> history, const boot::Marks& marks,
                         const BootFacts* facts) {
  BootsAnswer out;
  out.from = std::move(from);
  out.marks = marks.list;
  if (facts != nullptr) {
    out.records = facts->records;
  } else {
    out.absent.emplace_back("pstore_records", "only jetmem boots on that machine reads them");
  }
  if (!history) {
    out.absent.emplace_back("boots", printable(history.error().message, kMaxProblem));
    return out;
  }
  out.history = std::move(*history);
  out.summary = restart_summary(*out.history, kSignOfLife);
  out.seconds_down = boot::seconds_down(*out.history);
  for (boot::Mark& mark : out.marks) {
    mark.at = from_last_clock(*out.history, mark.boot, mark.at);
  }
  return out;
}

std::string boots_json(const BootsAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
