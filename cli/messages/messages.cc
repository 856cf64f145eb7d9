// SPDX-License-Identifier: Apache-2.0
// jetmem messages list|explain|check|test: the messages that jetmem knows, and a site's own.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/json/fields.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "cli/client/rule_input.h"
#include "cli/client/site_messages_input.h"
#include "cli/commands.h"
#include "cli/decode/log_format.h"
#include "cli/draw/table.h"
#include "cli/exit_codes.h"
#include "collectors/kernel_log/catalogue/message_notes.h"
#include "collectors/kernel_log/decode/decode.h"
#include "config/yaml_fields.h"
#include "report/events/event_json.h"
#include "report/messages/message_check.h"
#include "rules/model/rules.h"

namespace jetmem {
namespace {

using kernel_log::Catalogue;
using kernel_log::Event;
using kernel_log::KindInfo;
using kernel_log::Message;
using kernel_log::Voice;

// PATH..., or messages.directory.
Result<YamlFiles> files_of(const char* command, const std::vector<std::string>& paths,
                           const std::vector<std::string>& config) {
  if (paths.empty()) {
    const auto settings = settings_for(command, config);
    if (!settings) return tl::unexpected(settings.error());
    return read_yaml_files(settings->messages.directory);
  }
  YamlFiles files;
  for (const std::string& path : paths) add_yaml_path(path, files);
  return files;
}

// "dev=tegra-vi timeout_ms=2500"
std::string fields_text(const Event& event) {
  std::string out;
  std::string_view last;
  for (std::size_t i = 0; i < event.size(); ++i) {
    if (event[i].name == last) continue;
    last = event[i].name;
    out += (out.empty() ? "" : " ") + std::string(last) + "=" +
           printable(field_as_text(event, last), Event::kMaxText);
  }
  return out;
}

// --- check

struct CheckOptions : Target {
  std::vector<std::string> paths;
  bool shipped = false;
};

int run_check(const CheckOptions& needed) {
  const MessageForm form = needed.shipped ? MessageForm::kShipped : MessageForm::kUser;
  const auto found = files_of("messages check", needed.paths, needed.config);
  if (!found) return exit_code(found.error().code);
  const YamlFiles& files = *found;
  MessageFile file;
  if (needed.shipped) {
    file.errors = files.errors;
    for (const ConfigText& each : files.views()) read_messages(form, each.name, each.text, file);
  } else {
    file = read_site_messages(files);
  }
  std::vector<ConfigError> errors = file.errors;
  for (ConfigError& each : check_messages(form, file)) errors.push_back(std::move(each));
  sort_errors(files.views(), errors);
  print_errors(errors);
  const std::string count = counted(file.messages.size(), "message") + " and " +
                            counted(file.examples.size(), "example") + " in " +
                            counted(files.names.size(), "file");
  if (errors.empty()) {
    std::printf("ok: %s\n", count.c_str());
    return kExitOk;
  }
  print_error(counted(errors.size(), "error") + "; read: " + count);
  return exit_code(rules_error({.paths = needed.paths}));
}

void add_check(const Command& messages) {
  const Command command =
      messages.add("check", "Check messages and their examples, show each error");
  command.without_root();
  auto& options = command.runs(run_check);
  command.option("PATH", options.paths, "",
                 "Files of messages, or directories of *.yaml (default: messages.directory)");
  command.config();
  command.flag("--shipped", options.shipped,
               "They are jetmem's own, checked in place of those that are built in");
  command.footer(
      "Each example must give the fields that it says, fit no other message, and give no wrong "
      "value "
      "where it is cut off. docs/write-a-message.md describes the files.");
  command.exit_status("0 if they are valid");
}

// --- list

struct ListOptions : Target {
  bool kinds = false;
};

struct Listed {
  const Message* message = nullptr;
  std::string source;
  std::string file;  // of a site's own
  int line = 0;
};

std::vector<Listed> all_messages(const MessageFile& own) {
  std::vector<Listed> out;
  for (std::size_t i = 0; i < own.messages.size(); ++i) {
    out.push_back({&own.messages[i], own.sources[i], own.files[i], own.places[i].line});
  }
  const auto shipped = kernel_log::shipped_messages();
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    out.push_back({&shipped[i], std::string(kernel_log::shipped_notes()[i].source), {}, 0});
  }
  return out;
}

std::string kinds_json() {
  std::vector<KindInfo> kinds(kernel_log::all_kinds().begin(), kernel_log::all_kinds().end());
  return json::write_document(1, [&](json::Fields& v) {
    v.schema("jetmem-kinds/1");
    v.list("kinds", kinds, [](json::Fields& each, const KindInfo& kind) {
      each.output("name", std::string(kind.name));
      each.output("group", std::string(group_name(kind.group)));
      each.output("level", std::string(log_level_name(kind.level)));
      each.output("meaning", std::string(kind.meaning));
      each.output("remedy", std::string(kind.remedy));
    });
  });
}

int list_kinds(bool as_json) {
  if (as_json) {
    put(kinds_json());
    return kExitOk;
  }
  std::printf("%-26s %-13s %s\n", "KIND", "GROUP", "LEVEL");
  for (const KindInfo& kind : kernel_log::all_kinds()) {
    std::printf("%-26s %-13s %s\n", std::string(kind.name).c_str(),
                std::string(group_name(kind.group)).c_str(),
                std::string(log_level_name(kind.level)).c_str());
    put(wrapped(kind.meaning, 4));
  }
  return kExitOk;
}

std::string list_json(const MessageFile& own) {
  std::vector<Listed> all = all_messages(own);
  return json::write_document(1, [&](json::Fields& v) {
    v.schema("jetmem-messages/1");
    v.list("messages", all, [](json::Fields& each, const Listed& it) {
      each.output("id", std::string(it.message->id));
      each.output("kind", std::string(info_of(it.message->kind).name));
      each.output("own", !it.file.empty());
      each.output("source", printable(it.source, 1000));
      if (it.file.empty()) return;
      each.output("file", printable(it.file, 1000));
      each.output("line", static_cast<std::uint64_t>(it.line));
    });
    v.output("config_errors", std::uint64_t{own.errors.size()});
  });
}

int run_list(const ListOptions& needed) {
  if (needed.kinds) return list_kinds(needed.json);
  const auto files = files_of("messages list", {}, needed.config);
  if (!files) return exit_code(files.error().code);
  const MessageFile own = read_site_messages(*files);
  print_errors(own.errors);
  if (needed.json) {
    put(list_json(own));
    return own.errors.empty() ? kExitOk : kExitData;
  }
  Table table{{"MESSAGE"}, {"KIND"}, {"SOURCE"}};
  for (const Listed& each : all_messages(own)) {
    std::string source = printable(each.source, 200);
    if (!each.file.empty()) {
      source = "own: " + printable(each.file, 1000) + ":" + std::to_string(each.line) +
               (source.empty() ? "" : "; " + source);
    }
    table.row({std::string(each.message->id), std::string(info_of(each.message->kind).name),
               std::move(source)});
  }
  put(table.text());
  return own.errors.empty() ? kExitOk : kExitData;
}

void add_list(const Command& messages) {
  const Command command =
      messages.add("list", "List the messages that jetmem knows, and the site's own");
  command.without_root();
  auto& options = command.runs(run_list);
  command.flag("--kinds", options.kinds, "The kinds of events that a message may have, instead");
  command.config();
  command.json("As JSON");
  command.footer(
      "The site's own, of messages.directory, come first. Errors are on standard error.");
  command.exit_status("0 if there are no errors");
}

// --- explain

struct ExplainOptions : Target {
  std::string id;
};

int no_such_message(const std::string& id, const std::vector<Listed>& all) {
  std::vector<std::string_view> ids;
  for (const Listed& each : all) ids.push_back(each.message->id);
  warn("messages explain", "unknown message '" + printable(id, 60) + "'" + did_you_mean(id, ids) +
                               "; `jetmem messages list` lists them");
  return kExitUsage;
}

void put_example(const Message& message, const std::string& lines) {
  if (lines.empty()) return;
  put("\nExample:\n");
  Lines each(lines);
  for (std::string_view line; each.next(line);) put("  " + printable(line, 4096) + "\n");
  const Catalogue catalogue(std::span(&message, 1));
  Event event;
  const std::string_view first = std::string_view(lines).substr(0, lines.find('\n'));
  if (!catalogue.decode(first, Voice::kUnknown, event)) return;
  put(wrapped("gives " + fields_text(event), 4));
}

int run_explain(const ExplainOptions& needed) {
  const auto files = files_of("messages explain", {}, needed.config);
  if (!files) return exit_code(files.error().code);
  const MessageFile own = read_site_messages(*files);
  const std::vector<Listed> all = all_messages(own);
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const Listed& each) { return each.message->id == needed.id; });
  if (it == all.end()) {
    print_errors(own.errors);
    return no_such_message(needed.id, all);
  }
  const Message& message = *it->message;
  const KindInfo& kind = kernel_log::info_of(message.kind);
  put(std::string(message.id) + ": " + std::string(kind.name) + ", printed by " +
      (message.program ? "programs" : "the kernel") + "\n");
  if (!it->file.empty()) {
    put("This site's own: " + printable(it->file, 1000) + ":" + std::to_string(it->line) + "\n");
  }
  if (!it->source.empty()) put(wrapped("Source: " + printable(it->source, 1000), 0));
  const auto index = static_cast<std::size_t>(
      &message - (it->file.empty() ? kernel_log::shipped_messages().data() : own.messages.data()));
  if (!message.forms.empty()) put("\nThe line:\n");
  // To be copied: on one line, however long.
  Lines forms(it->file.empty() ? kernel_log::shipped_notes()[index].forms : own.form_texts[index]);
  for (std::string_view form; forms.next(form);) put("  " + printable(form, 4096) + "\n");
  if (message.forms.empty() && !message.anchors.empty()) {
    put("\nDecoded by a function, of lines with:\n");
    for (const std::string_view anchor : message.anchors) put("  " + printable(anchor, 200) + "\n");
  }
  std::string example;
  if (it->file.empty()) {
    example = kernel_log::shipped_notes()[index].example;
  } else {
    for (const MessageExample& each : own.examples) {
      if (each.message == index && !each.nothing && example.empty()) example = each.lines[0];
    }
  }
  put_example(message, example);
  const bool has_own = !message.cause.empty() || !message.remedy.empty();
  put("\n" +
      wrapped("Cause: " + std::string(message.cause.empty() ? kind.meaning : message.cause.view()),
              0));
  put(wrapped(
      "Remedy: " + std::string(message.remedy.empty() ? kind.remedy : message.remedy.view()), 0));
  if (!has_own) {
    put(
        wrapped("That is said of the kind; `jetmem doctor` and `jetmem decode` may know more from "
                "the event's fields and the machine.",
                0));
  }
  return kExitOk;
}

void add_explain(const Command& messages) {
  const Command command =
      messages.add("explain", "What a message looks like, what it means and what to do");
  command.without_root();
  auto& options = command.runs(run_explain);
  command.option("ID", options.id, "", "The message").required();
  command.config();
  command.exit_status("0 if it is known");
}

// --- test

struct TestOptions : Target {
  std::string file;
  std::string log;
};

class LineTester {
 public:
  LineTester(const MessageFile& file, bool as_json) : file_(file), json_(as_json) {
    for (const Message& message : file.messages) counts_[message.id] = 0;
  }

  void event(const Event& event) {
    if (event.is_guess()) return;
    const auto count = counts_.find(message_id(event));
    if (count == counts_.end()) return;
    ++count->second;
    ++own_;
    if (json_) {
      nlohmann::ordered_json json = event_json(event);
      json["line"] = event.line;
      put(json.dump() + "\n");
      return;
    }
    put("line " + std::to_string(event.line) + ": " + std::string(count->first) + "\n");
    put(wrapped(kernel_log::describe(event), 4));
    if (event.size() > 0) put(wrapped(fields_text(event), 4));
  }

  void summary(const std::string& name, std::uint64_t lines, std::uint64_t of_events) const {
    if (json_) return;
    if (own_ > 0) put("\n");
    for (const Message& message : file_.messages) {
      put(std::string(message.id) + ": " + counted(counts_.at(message.id), "line") + "\n");
    }
    put(wrapped(counted(lines, "line") + " read: " + std::to_string(own_) + " of messages of " +
                    printable(name, 300) + ", " +
                    std::to_string(of_events - std::min(of_events, own_)) +
                    " of messages that jetmem knows itself, " +
                    std::to_string(lines - std::min(lines, of_events)) + " of none.",
                0));
  }

 private:
  const MessageFile& file_;
  bool json_;
  std::map<std::string_view, std::uint64_t> counts_;
  std::uint64_t own_ = 0;
};

int run_test(const TestOptions& needed) {
  YamlFiles files;
  add_yaml_path(needed.file, files);
  const MessageFile file = read_site_messages(files);
  print_errors(file.errors);
  if (file.messages.empty()) {
    warn("messages test", "no valid message in " + printable(needed.file, 300));
    return exit_code(rules_error({.paths = {needed.file}}));
  }
  const auto input = open_input({}, needed.log, "", "kernel-log");
  if (!input) return failed("messages test", input.error());
  const Catalogue own(file.messages);
  LineTester tester(file, needed.json);
  std::uint64_t guessed = 0;
  const auto log = std::make_unique<kernel_log::TextLog>(
      kernel_log::Soc::kUnknown,
      [&](const Event& event, std::string_view) {
        if (event.is_guess()) ++guessed;
        tester.event(event);
      },
      kernel_log::Catalogues{.second = &own});
  const auto read = feed_from(input->fd.get(), input->path, *log);
  if (!read) return failed("messages test", read.error());
  const kernel_log::TextLog::Counts& counts = log->counts();
  tester.summary(needed.file, counts.lines, counts.sending - std::min(counts.sending, guessed));
  return file.errors.empty() ? kExitOk : kExitData;
}

void add_test(const Command& messages) {
  const Command command = messages.add(
      "test", "Show which lines of a log fit the messages of a file, and their fields");
  auto& options = command.runs(run_test);
  command.option("FILE", options.file, "", "A file of messages, or a directory of *.yaml")
      .required();
  command.option("LOG", options.log, "", "The log; - or nothing: standard input");
  command.json("One JSON object per line for each event, nothing else");
  command.footer(
      "The log may have any form that `jetmem decode kernel-log` reads. A line that jetmem itself "
      "knows is an event of jetmem's, whatever the file says: `jetmem messages check` reports "
      "that.");
  command.exit_status("0 if the file is valid and the log was read, whatever fits");
}

}  // namespace

void add_messages_command(const Command& program) {
  const Command messages =
      program.add("messages", "List, explain, check and try messages of the kernel and programs");
  messages.require_command();
  add_list(messages);
  add_explain(messages);
  add_check(messages);
  add_test(messages);
}

}  // namespace jetmem
