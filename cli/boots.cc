// jetmem boots: why the device restarted, and what had changed before.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/small_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/one_shot.h"
#include "cli/since.h"
#include "collectors/boot/reset_reason.h"
#include "collectors/boot/source.h"
#include "collectors/boot/story.h"

namespace jetmem {
namespace {

using boot::Boot;
using boot::Change;
using boot::DeviceEnd;
using boot::History;
using boot::Mark;
using boot::Moment;
using boot::What;

constexpr std::size_t kMaxHistory = 256U << 10;
constexpr std::size_t kMaxTrouble = 300;
constexpr std::chrono::minutes kSignOfLife{15};  // of jetmemd's history

struct BootsOptions {
  std::string state_directory;
  bool json = false;
};

// What is known, from wherever.
struct Known {
  const BootFacts* facts = nullptr;  // null: could not be had
  const History* history = nullptr;
  const boot::Marks* marks = nullptr;
  std::string trouble;  // why there is no history
};

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// How long a boot was seen to run.
std::string ran(const Boot& boot) {
  return boot::duration_text(static_cast<std::int64_t>(boot.last.uptime));
}

nlohmann::ordered_json moment_json(const Moment& moment) {
  nlohmann::ordered_json json;
  json["time"] = nullptr;
  if (moment.plausible()) json["time"] = utc_time(std::chrono::seconds(moment.wall));
  json["since_boot_seconds"] = moment.uptime;
  return json;
}

nlohmann::ordered_json boot_json(const History& history, std::size_t i) {
  const Boot& boot = history.boots[i];
  nlohmann::ordered_json json;
  json["boot"] = boot.number;
  json["boot_id"] = boot.id;
  json["first_seen"] = moment_json(boot.first);
  json["last_seen"] = moment_json(boot.last);
  json["ended"] = device_end_name(boot.end);
  json["reset_reason"] = nullptr;
  if (!boot.reset_reason.empty()) {
    json["reset_reason"] = boot.reset_reason;
    json["reset_level"] = boot.reset_level;
    json["reset_cause"] = reset_cause_name(cause_of_reset(boot.reset_reason));
  }
  json["crash_recorded"] = nullptr;
  if (!boot.crash.empty()) json["crash_recorded"] = boot.crash;
  json["jetmem_starts"] = boot.starts;
  json["jetmem_unclean_ends"] = boot.unclean_runs;
  for (const What what : {What::kKernel, What::kL4t, What::kPowerMode, What::kVersion}) {
    const std::string& value = boot.values[static_cast<std::size_t>(what)];
    const std::string name(what == What::kVersion ? "jetmem_version" : what_name(what));
    json[name] = nullptr;
    if (!value.empty()) json[name] = value;
  }
  return json;
}

void print_json(const Known& known) {
  nlohmann::ordered_json json;
  json["why"] = nullptr;
  json["worrying"] = nullptr;
  json["down_seconds"] = nullptr;
  json["boots"] = nlohmann::ordered_json::array();
  json["changes"] = nlohmann::ordered_json::array();
  json["marks"] = nlohmann::ordered_json::array();
  json["pstore_records"] = nlohmann::ordered_json::array();
  if (known.history != nullptr) {
    const History& history = *known.history;
    const boot::Story story = why_restarted(history, kSignOfLife);
    json["why"] = story.text;
    json["worrying"] = story.worrying;
    if (const auto down = seconds_down(history)) json["down_seconds"] = *down;
    for (std::size_t i = history.boots.size(); i-- > 0;) {
      json["boots"].push_back(boot_json(history, i));
    }
    for (std::size_t i = history.changes.size(); i-- > 0;) {
      const Change& change = history.changes[i];
      nlohmann::ordered_json each;
      each["boot"] = change.boot;
      each["at"] = moment_json(change.at);
      each["what"] = what_name(change.what);
      each["from"] = change.from;
      each["to"] = change.to;
      json["changes"].push_back(std::move(each));
    }
  } else {
    json["no_history"] = known.trouble;
  }
  if (known.marks != nullptr) {
    for (std::size_t i = known.marks->list.size(); i-- > 0;) {
      const Mark& mark = known.marks->list[i];
      nlohmann::ordered_json each;
      each["at"] = moment_json(
          known.history != nullptr ? by_last_clock(*known.history, mark.boot, mark.at) : mark.at);
      each["boot_id"] = mark.boot;
      each["text"] = mark.text;
      json["marks"].push_back(std::move(each));
    }
  }
  if (known.facts != nullptr) {
    for (const PstoreRecord& record : known.facts->records) {
      nlohmann::ordered_json each;
      each["name"] = record.name;
      each["place"] = record.archived ? "archive" : "pstore";
      each["kind"] = pstore_kind_name(record.kind);
      each["line"] = nullptr;
      if (!record.line.empty()) each["line"] = record.line;
      json["pstore_records"].push_back(std::move(each));
    }
  }
  put(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

// What of a boot is told besides the boot: a change, or a mark.
struct Aside {
  Moment at;
  std::string text;
};

std::vector<Aside> asides(const Known& known, const Boot& boot) {
  std::vector<Aside> all;
  for (const Change& change : known.history->changes) {
    if (change.boot == boot.number) all.push_back({change.at, change_words(change)});
  }
  if (known.marks != nullptr) {
    for (const Mark& mark : known.marks->list) {
      if (mark.boot == boot.id) {
        all.push_back({by_last_clock(*known.history, mark.boot, mark.at), "mark: " + mark.text});
      }
    }
  }
  // Within one boot its own clock has the order.
  std::stable_sort(all.begin(), all.end(),
                   [](const Aside& a, const Aside& b) { return a.at.uptime > b.at.uptime; });
  return all;
}

void print_boot(const Known& known, std::size_t i) {
  const History& history = *known.history;
  const Boot& boot = history.boots[i];
  Moment began = boot.first;
  if (const auto at = boot::began(boot.last)) began.wall = *at;
  std::string head = "boot " + std::to_string(boot.number) + "  " + moment_text(began);
  if (boot.end == DeviceEnd::kNotYet) {
    head += "  runs for " + ran(boot);
  } else {
    head += "  ran " + ran(boot) + ", then: ";
    head += end_words(boot);
    if (i + 1 < history.boots.size()) {
      const Boot& next = history.boots[i + 1];
      if (!next.reset_reason.empty()) head += "; " + boot::reset_words(next.reset_reason);
      if (!next.crash.empty()) head += "; " + next.crash;
    }
  }
  put(wrapped(head, 0));
  std::string more;
  const std::string& kernel = boot.values[static_cast<std::size_t>(What::kKernel)];
  const std::string& l4t = boot.values[static_cast<std::size_t>(What::kL4t)];
  if (!kernel.empty()) more += "kernel " + kernel + "; ";
  if (!l4t.empty()) more += "L4T " + l4t + "; ";
  more += "jetmemd started " + counted(boot.starts, "time");
  if (boot.unclean_runs > 0) {
    more += ", " + std::to_string(boot.unclean_runs) + " of them after it was killed or crashed";
  }
  put(wrapped(more, 4));
  for (const Aside& aside : asides(known, boot)) {
    put(wrapped(moment_text(aside.at) + "  " + aside.text, 4));
  }
}

void print_records(const BootFacts& facts) {
  if (facts.backend == "none") {
    put(wrapped("A panic would leave no record: the kernel has no pstore backend.", 0));
  }
  if (facts.records.empty()) return;
  put("\nRecords of pstore, whenever they were written:\n");
  for (const PstoreRecord& record : facts.records) {
    std::string text = record.name + " (" + std::string(pstore_kind_name(record.kind));
    if (record.archived) text += ", moved by systemd-pstore";
    text += ")";
    if (!record.line.empty()) text += ": " + record.line;
    put(wrapped(text, 2));
  }
}

void print_text(const Known& known) {
  if (known.history == nullptr) {
    put(wrapped("There is no history of boots: " + known.trouble + ".", 0));
    if (known.facts != nullptr && !known.facts->reset_reason.empty()) {
      put(wrapped("Before this boot: " + boot::reset_words(known.facts->reset_reason) + ".", 0));
    }
    if (known.facts != nullptr) print_records(*known.facts);
    return;
  }
  const History& history = *known.history;
  std::string why = why_restarted(history, kSignOfLife).text;
  if (!why.empty() && why[0] >= 'a' && why[0] <= 'z') why[0] = static_cast<char>(why[0] - 32);
  put(wrapped(why + ".", 0) + "\n");
  for (std::size_t i = history.boots.size(); i-- > 0;) print_boot(known, i);
  std::string all = counted(history.boots_seen, "boot") + ", " +
                    counted(history.unclean_boots, "unclean end") + " of the device, " +
                    counted(history.unclean_runs, "unclean end") + " of jetmemd";
  if (history.boots_seen > history.boots.size()) {
    all += "; the last " + std::to_string(history.boots.size()) + " are shown";
  }
  put("\n" + wrapped(all + ".", 0));
  if (known.facts != nullptr) print_records(*known.facts);
}

// Of a directory that was named: as jetmemd left it there.
Known read_directory(const std::string& directory, History& history, boot::Marks& marks,
                     bool& failed) {
  Known known;
  const std::string path = directory + "/" + std::string(boot::kHistoryFile);
  auto text = read_small_file(path, kMaxHistory);
  Result<void> ok;
  if (text) {
    ok = boot::parse_history(*text, history);
    if (!ok) ok.error().message.insert(0, path + ": ");
  } else {
    ok = tl::unexpected(std::move(text.error()));
  }
  if (ok) known.history = &history;
  if (!ok) known.trouble = printable(ok.error().message, kMaxTrouble);
  failed = !ok && ok.error().code != Errc::kAbsent;
  if (!ok && ok.error().code == Errc::kDenied) known.trouble += "; try sudo jetmem boots";
  const auto marks_text = read_small_file(directory + "/" + std::string(boot::kMarksFile));
  if (marks_text) {
    boot::parse_marks(*marks_text, marks);
    known.marks = &marks;
  }
  return known;
}

int run_boots(const std::string& root, const BootsOptions& options) {
  History history;
  boot::Marks marks;
  Known known;
  bool failed = false;
  auto shot = OneShot::read(root, {"boot"});
  if (!shot) {
    std::fprintf(stderr, "jetmem boots: %s\n", shot.error().message.c_str());
    return kExitFailed;
  }
  const auto* facts = (*shot)->sampler().readings().get<BootFacts>();
  if (!options.state_directory.empty()) {
    known = read_directory(options.state_directory, history, marks, failed);
  } else if (facts != nullptr) {
    if (!facts->history_error) {
      known.history = &facts->history;
    } else {
      known.trouble = printable(facts->history_error->message, kMaxTrouble);
      failed = facts->history_error->code != Errc::kAbsent;
      if (facts->history_error->code == Errc::kDenied) known.trouble += "; try sudo jetmem boots";
      if (!failed) known.trouble = "jetmemd has not kept one here yet";
    }
    known.marks = &facts->marks;
  } else {
    const SourceStatus& status = (*shot)->sampler().status((*shot)->chosen().front());
    known.trouble = printable(status.reason, kMaxTrouble);
    failed = true;
  }
  known.facts = facts;
  if (options.json) {
    print_json(known);
  } else {
    print_text(known);
  }
  if (failed) std::fprintf(stderr, "jetmem boots: %s\n", known.trouble.c_str());
  return failed ? kExitFailed : kExitOk;
}

}  // namespace

void add_boots_command(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("boots", "Why the device restarted, its boots, and what had changed");
  auto options = std::make_shared<BootsOptions>();
  command->add_flag("--json", options->json, "As JSON, newest first");
  command
      ->add_option("--state-dir", options->state_directory,
                   "Where jetmemd keeps its history (default: /var/lib/jetmem)")
      ->type_name("DIR");
  command->footer(
      "Newest first: when each boot was first seen, how long it ran and how it ended, with what\n"
      "changed in it (kernel, L4T, power mode, settings) and the marks of jetmem mark. Clean: "
      "jetmem\n"
      "was told to stop by a shutdown. Not clean: it ran and was never told (power loss, panic,\n"
      "watchdog). The history is root's and jetmemd's: sudo jetmem boots. --root DIR reads below "
      "DIR.\n"
      "Exit status: 0, also where no history was kept yet; 1 when it could not be read; 2 on a "
      "wrong\n"
      "command line.");
  command->callback([options, &context] { context.status = run_boots(context.root, *options); });
}

}  // namespace jetmem
