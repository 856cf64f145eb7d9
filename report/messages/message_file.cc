// SPDX-License-Identifier: Apache-2.0
#include "report/messages/message_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/kernel_log/catalogue/form_check.h"
#include "collectors/kernel_log/line/scan.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence.h"
#include "config/named.h"
#include "config/yaml_fields.h"

namespace jetmem {

using kernel_log::Catalogue;
using kernel_log::Constant;
using kernel_log::EventKind;
using kernel_log::FieldType;
using kernel_log::Message;
using kernel_log::Role;

namespace {

constexpr std::array<std::string_view, 5> kFileKeys{"messages", "defaults", "heads", "kinds",
                                                    "causes"};
constexpr std::array<std::string_view, 2> kDefaultKeys{"kind", "program"};
constexpr std::array<std::string_view, 13> kUserKeys{
    "id",     "kind", "line",  "source", "note",     "program", "set",
    "unless", "say",  "cause", "remedy", "examples", "nothing"};
constexpr std::array<std::string_view, 30> kShippedKeys{
    "id",   "kind",     "line",         "source",  "note",   "program", "set",      "unless",
    "say",  "examples", "nothing",      "anchors", "is",     "step",    "repeats",  "last",
    "join", "prefer",   "stands_alone", "of",      "decode", "accept",  "complete", "joins",
    "add",  "describe", "cause",        "remedy",  "generic", "after"};
constexpr std::array<std::string_view, 6> kExampleKeys{"line", "lines", "gives",
                                                       "kind", "soc",   "note"};
constexpr std::array<std::string_view, 6> kHooks{"decode", "accept", "complete",
                                                 "joins",  "add",    "describe"};

// Fields that jetmem itself reads as yes or no.
constexpr std::array<std::string_view, 2> kYesOrNo{"harmless", "fallback"};

// So much of a site's line must be text that each such line has, in letters and digits: "{dev:dev}:
// {text} failed" fits any driver's line.
constexpr std::size_t kLeastFixed = 6;
constexpr std::size_t kLeastFixedBehindField = 12;

constexpr std::array kRoles{Named<Role>{Role::kWhole, "whole"}, Named<Role>{Role::kOpens, "opens"},
                            Named<Role>{Role::kFollows, "follows"},
                            Named<Role>{Role::kFollowsOrOpens, "follows_or_opens"}};

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxConfigName &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-'; });
}

bool is_field_name(std::string_view text) {
  // What JSON says of each event beside its fields.
  constexpr std::array<std::string_view, 7> kTaken{"kind",    "line",  "time",  "summary",
                                                   "message", "event", "origin"};
  return is_config_name(text) && std::find(kTaken.begin(), kTaken.end(), text) == kTaken.end();
}

// The message's id as fields of an entry are called in errors: "messages[3]" until it has one.
class MessageReader {
 public:
  MessageReader(MessageForm form, std::string_view name, MessageFile& out)
      : errors_(std::string(name), out.errors), fields_(errors_), form_(form), out_(out) {
    for (const kernel_log::Head& head : kernel_log::shipped_heads())
      heads_[std::string(head.name)] = head.form;
  }

  void read(std::string_view text) {
    const YamlDocument document = parse_yaml(text);
    errors_.add(document.problems);
    if (!document.readable) return;
    const bool user = form_ == MessageForm::kUser;
    const YamlMap map(errors_, document.root, "",
                      std::span<const std::string_view>(kFileKeys).first(user ? 2 : 5),
                      "a file of messages");
    if (const YamlNode* const node = map.get("defaults")) {
      defaults_.emplace(errors_, *node, "defaults", kDefaultKeys, "what a file's messages are");
      if (!defaults_->ok()) return;
    }
    if (const YamlNode* const heads = values_by_name(map, "heads", "heads")) {
      for (std::size_t i = 0; i < heads->items.size(); ++i) {
        heads_[heads->keys[i].text] = keep(heads->items[i].text);
      }
    }
    const YamlNode* const list = map.get("messages");
    if (list == nullptr) {
      if (user && map.ok())
        errors_.add(document.root.at, "messages", "no messages: begin with 'messages:'");
      return;
    }
    if (list->kind != YamlNode::Kind::kList) {
      errors_.add(list->at, "messages", "messages must be a list: begin each with '- id: NAME'");
      return;
    }
    for (const YamlNode& each : list->items) {
      if (user && out_.messages.size() == kMaxSiteMessages) {
        errors_.add(each.at, "messages",
                    "more than " + std::to_string(kMaxSiteMessages) +
                        " messages: this one and those behind it are not read");
        return;
      }
      read_message(each, static_cast<std::size_t>(&each - list->items.data()));
    }
  }

 private:
  std::string_view keep(std::string text) { return out_.texts.emplace_back(std::move(text)); }

  std::string_view text(const YamlMap& map, const char* name, const std::string& key) {
    const YamlNode* const node = map.get(name);
    return node == nullptr ? std::string_view{} : keep(fields_.text(*node, key + "." + name));
  }

  // Null where the key is absent, or has an error.
  const YamlNode* values_by_name(const YamlMap& map, const char* name, const std::string& key) {
    const YamlNode* const node = map.get(name);
    if (node == nullptr || node->kind == YamlNode::Kind::kMap) return node;
    errors_.add(node->at, key, key + " must be a map: '" + name + ": {name: value}'");
    return nullptr;
  }

  const YamlNode* own_or_default(const YamlMap& map, const char* name) const {
    const YamlNode* const own = map.get(name);
    return own != nullptr || !defaults_ ? own : defaults_->get(name);
  }

  bool flag(const YamlMap& map, const char* name, const std::string& key) {
    const YamlNode* const node = own_or_default(map, name);
    if (node == nullptr) return false;
    const auto word = fields_.word(*node, key + "." + name);
    if (word && *word != "true" && *word != "false") {
      errors_.add(node->at, key + "." + name, key + "." + name + " must be true or false");
    }
    return word == "true";
  }

  std::span<const kernel_log::Text> list(const YamlMap& map, const char* name,
                                         const std::string& key) {
    std::vector<kernel_log::Text>& kept = out_.lists.emplace_back();
    if (const YamlNode* const node = map.get(name)) {
      for (auto& [word, at] : fields_.words(*node, key + "." + name)) kept.push_back(keep(word));
    }
    return kept;
  }

  std::string with_heads(std::string_view line, Position at, const std::string& key) {
    std::string out;
    while (true) {
      std::size_t begin = 0;
      while (begin < line.size() && !line.substr(begin).starts_with("{@")) {
        begin += line[begin] == '\\' ? 2U : 1U;
      }
      out += line.substr(0, begin);
      if (begin >= line.size()) return out;
      const std::size_t end = line.find('}', begin);
      if (end == std::string_view::npos) {
        errors_.add(at, key, key + ": '{@' without '}': write '\\{' for one that is printed");
        return out;
      }
      const std::string_view name = line.substr(begin + 2, end - begin - 2);
      if (const auto head = heads_.find(name); head != heads_.end()) {
        out += head->second;
      } else {
        std::vector<std::string_view> names;
        for (const auto& each : heads_) names.push_back(each.first);
        errors_.add(at, key,
                    key + ": no piece of a line is named '" + printable(name, 40) + "'" +
                        did_you_mean(name, names, "; there are: " + join_names(names)));
      }
      line.remove_prefix(end + 1);
    }
  }

  // Their texts, one a line.
  std::string set_forms(const YamlMap& map, const YamlNode& entry, const std::string& key,
                        Message& message) {
    std::vector<kernel_log::Form>& forms = out_.forms.emplace_back();
    std::string texts;
    const YamlNode* const node = map.get("line");
    if (node == nullptr) {
      if (map.get("decode") == nullptr && map.ok()) {
        errors_.add(entry.at, key + ".line",
                    key +
                        " has no line: add 'line:' with what the driver prints, and {name} for "
                        "what varies");
      }
      return texts;
    }
    for (auto& [word, at] : fields_.words(*node, key + ".line")) {
      const std::string line = with_heads(word, at, key + ".line");
      const kernel_log::FormReport report = kernel_log::examine_form(line);
      const std::size_t least = report.begins_with_text ? kLeastFixed : kLeastFixedBehindField;
      std::string error = report.error;
      if (forms.size() == UINT8_MAX) error = "more than 255 lines: make several messages of them";
      if (!error.empty()) {
        errors_.add(at, key + ".line", key + ".line: " + error);
        continue;
      }
      if (form_ == MessageForm::kUser && report.fixed < least) {
        errors_.add(at, key + ".line",
                    key + ".line fits too much: " + std::to_string(report.fixed) +
                        " letters and digits of it are fixed, " + std::to_string(least) +
                        " are needed" +
                        (report.begins_with_text ? "" : " where it begins with a field") +
                        "; add the name of the driver or program, or more of what it prints");
      }
      for (const std::string& name : report.fields) {
        if (form_ == MessageForm::kUser && !is_field_name(name)) {
          errors_.add(at, key + ".line",
                      key + ".line: '" + name + "' cannot be the name of a field: choose another");
        }
        known_.insert(name);
      }
      kernel_log::CompiledForm form = kernel_log::compile_form(line);
      forms.push_back(form.as_form(keep(std::move(form.code))));
      texts += line + "\n";
    }
    message.forms = std::span<const kernel_log::Form>(forms);
    return texts;
  }

  // `used`: "say".
  void check_known(std::string_view name, std::string_view used, Position at,
                   const std::string& key) {
    if (known_.contains(name)) return;
    const std::vector<std::string_view> names(known_.begin(), known_.end());
    errors_.add(at, key + "." + std::string(used),
                key + "." + std::string(used) + ": no line of the message has a field '" +
                    printable(name, 40) + "'" +
                    did_you_mean(name, names,
                                 names.empty() ? "; there is none: put {name} into the line"
                                               : "; there are: " + join_names(names)));
  }

  // The fields that an entry names must be those that its lines, or `set`, give.
  void check_names(const YamlMap& map, const std::string& key, const Message& message) {
    if (const YamlNode* const node = map.get("unless");
        node != nullptr && node->kind == YamlNode::Kind::kMap) {
      for (const YamlNode& name : node->keys) check_known(name.text, "unless", name.at, key);
    }
    for (const char* const name : {"join", "prefer"}) {
      if (const YamlNode* const node = map.get(name)) check_known(node->text, name, node->at, key);
    }
    const YamlNode* const node = map.get("say");
    if (node == nullptr) return;
    const kernel_log::PatternReport report = kernel_log::examine_pattern(message.say);
    if (!report.error.empty()) errors_.add(node->at, key + ".say", key + ".say: " + report.error);
    // Further lines of an event have further fields.
    if (message.piece.role != Role::kWhole) return;
    for (const std::string_view name : report.fields) check_known(name, "say", node->at, key);
  }

  Constant constant(std::string_view name, const YamlNode& node, const std::string& key) {
    if (node.kind == YamlNode::Kind::kNull) return {name, FieldType::kNull, {}, 0};
    if (!node.quoted && (node.text == "true" || node.text == "false")) {
      return {name, FieldType::kBool, {}, node.text == "true" ? 1 : 0};
    }
    if (const auto number = parse_i64(node.text); number && !node.quoted) {
      return {name, FieldType::kNumber, {}, *number};
    }
    const std::string_view digits = std::string_view(node.text).substr(node.text.starts_with('-'));
    if (!node.quoted && !digits.empty() && too_large_number(digits) == digits) {
      errors_.add(node.at, key + ".set",
                  key + ".set: " + printable(node.text, 40) + " is " + std::string(kTooLarge) +
                      "; put it in quotes to keep it as text");
    }
    return {name, FieldType::kText, keep(node.text), 0};
  }

  void set_constants(const YamlMap& map, const std::string& key, Message& message) {
    std::vector<Constant>& set = out_.constants.emplace_back();
    if (const YamlNode* const node = values_by_name(map, "set", key + ".set")) {
      for (std::size_t i = 0; i < node->items.size(); ++i) {
        const std::string& name = node->keys[i].text;
        if (!is_field_name(name)) {
          errors_.add(node->keys[i].at, key + ".set",
                      key + ".set: '" + printable(name, 40) +
                          "' cannot be the name of a field: letters, digits and '_', and none of "
                          "kind, line, time, summary");
        }
        set.push_back(constant(keep(name), node->items[i], key));
        if (set.back().type != FieldType::kBool &&
            std::find(kYesOrNo.begin(), kYesOrNo.end(), name) != kYesOrNo.end()) {
          errors_.add(node->items[i].at, key + ".set",
                      key + ".set: '" + name + "' must be true or false, without quotes");
        }
        known_.insert(name);
      }
    }
    message.set = std::span<const Constant>(set);
    std::vector<kernel_log::Exception>& unless = out_.exceptions.emplace_back();
    if (const YamlNode* const node = values_by_name(map, "unless", key + ".unless")) {
      for (std::size_t i = 0; i < node->items.size(); ++i) {
        for (auto& [word, at] : fields_.words(node->items[i], key + ".unless")) {
          unless.push_back({keep(node->keys[i].text), keep(word)});
        }
      }
    }
    message.unless = std::span<const kernel_log::Exception>(unless);
  }

  void set_piece(const YamlMap& map, const std::string& key, Message& message) {
    if (const YamlNode* const node = map.get("is")) {
      message.piece.role = fields_.choice(*node, key + ".is", kRoles).value_or(Role::kWhole);
    }
    if (const YamlNode* const node = map.get("step")) {
      message.piece.step = static_cast<std::uint8_t>(parse_u64(node->text).value_or(0));
    }
    message.piece.repeats = flag(map, "repeats", key);
    message.piece.last = flag(map, "last", key);
    message.piece.stands_alone = flag(map, "stands_alone", key);
    message.piece.join = text(map, "join", key);
    message.piece.prefer = text(map, "prefer", key);
    std::size_t n = 0;
    for (const std::string_view kind : list(map, "of", key)) {
      if (n < message.piece.of.size())
        message.piece.of[n++] = kind_named(kind, *map.get("of"), key);
    }
  }

  EventKind kind_named(std::string_view name, const YamlNode& node, const std::string& key) {
    if (const auto kind = kernel_log::kind_named(name)) return *kind;
    std::vector<std::string_view> names;
    for (const auto& info : kernel_log::all_kinds()) names.push_back(info.name);
    errors_.add(node.at, key + ".kind",
                key + ".kind: there is no kind '" + printable(name, 60) + "'" +
                    did_you_mean(name, names, "; `jetmem messages list --kinds` shows them"));
    return EventKind::kNone;
  }

  void read_message(const YamlNode& node, std::size_t position) {
    std::string key = "messages[" + std::to_string(position) + "]";
    const std::size_t before = errors_.count();
    const bool user = form_ == MessageForm::kUser;
    const YamlMap map(errors_, node, key,
                      user ? std::span<const std::string_view>(kUserKeys)
                           : std::span<const std::string_view>(kShippedKeys),
                      "a message");
    if (!map.ok() && !map.is_map()) return;
    known_.clear();
    Message message;
    const YamlNode* const id = map.get("id");
    message.id = text(map, "id", key);
    if (id == nullptr) {
      if (map.ok())
        errors_.add(node.at, key + ".id", key + " has no id: '- id: my-driver-timeout'");
    } else if (is_id(message.id)) {
      key = message.id;
    } else if (id->kind == YamlNode::Kind::kScalar) {
      errors_.add(id->at, key + ".id",
                  key + ".id must be at most " + std::to_string(kMaxConfigName) +
                      " lower-case letters, digits and '-': 'my-driver-timeout', not '" +
                      printable(message.id, kMaxConfigName) + "'");
    }
    const bool twice = std::any_of(out_.messages.begin(), out_.messages.end(),
                                   [&](const Message& each) { return each.id == message.id; }) ||
                       (user && Catalogue::shipped().find(message.id) != nullptr);
    if (twice)
      errors_.add(id == nullptr ? node.at : id->at, key + ".id",
                  "'" + key + "' is there already: choose another id");
    message.kind = EventKind::kCustom;
    if (const YamlNode* const kind = own_or_default(map, "kind")) {
      const auto name = fields_.word(*kind, key + ".kind");
      if (user && name == "none") {
        errors_.add(kind->at, key + ".kind",
                    key +
                        ".kind: 'none' is for jetmem's own messages; 'set: {harmless: true}' "
                        "records a line that is no reason for an alert");
      } else if (name && name != "none") {
        message.kind = kind_named(*name, *kind, key);
      } else {
        message.kind = EventKind::kNone;
      }
      if (message.kind == EventKind::kNone) message.piece.role = Role::kNothing;
    } else if (!user) {
      errors_.add(node.at, key + ".kind", key + " has no kind");
    }
    message.program = flag(map, "program", key);
    const std::size_t before_lines = errors_.count();
    std::string form_texts = set_forms(map, node, key, message);
    const bool knows_fields = map.ok() && errors_.count() == before_lines;
    set_constants(map, key, message);
    message.say = text(map, "say", key);
    message.cause = text(map, "cause", key);
    message.remedy = text(map, "remedy", key);
    const std::string source(text(map, "source", key));
    if (!user) {
      set_piece(map, key, message);
      message.generic = flag(map, "generic", key);
      message.anchors = list(map, "anchors", key);
      message.after = list(map, "after", key);
      // Code is known by the entry that was built in.
      if (const Message* const built = Catalogue::shipped().find(message.id)) {
        message.code = built->code;
      }
      const bool needs_code = std::any_of(kHooks.begin(), kHooks.end(), [&](std::string_view hook) {
        return map.get(hook) != nullptr;
      });
      if (needs_code && message.code == 0) {
        errors_.add(node.at, key, key + " names code that is not built in: build first");
      }
    }
    // What code adds is not known here.
    if (knows_fields && message.code == 0) check_names(map, key, message);
    const std::size_t index = out_.messages.size();
    const std::size_t examples = out_.examples.size();
    const YamlNode* const nothing = map.get("nothing");
    if (nothing != nullptr) {
      for (auto& [line, at] : fields_.words(*nothing, key + ".nothing"))
        out_.examples.push_back({at, index, {line}, kernel_log::Soc::kUnknown, true, {}, {}});
    }
    // A further line of an event is none by itself.
    const bool no_event =
        message.piece.role == Role::kNothing || message.piece.role == Role::kFollows;
    const YamlNode* const list = map.get("examples");
    if (list == nullptr || list->kind != YamlNode::Kind::kList || list->items.empty()) {
      if (map.ok() && !(nothing != nullptr && no_event)) {
        errors_.add(node.at, key + ".examples",
                    key + " has no example: add a line as the log has it, and the fields it gives");
      }
    } else {
      for (const YamlNode& each : list->items) read_example(each, key, index, map.get("set"));
    }
    if (errors_.count() != before) {
      out_.examples.resize(examples);
      return;
    }
    out_.messages.push_back(message);
    out_.files.push_back(errors_.file());
    out_.places.push_back(node.at);
    out_.sources.push_back(source);
    out_.form_texts.push_back(std::move(form_texts));
  }

  // Those that are there already stay.
  static void add_fields(const YamlNode& map, std::map<std::string, std::string>& fields) {
    for (std::size_t i = 0; i < map.items.size(); ++i) {
      const YamlNode& value = map.items[i];
      std::string shown = value.kind == YamlNode::Kind::kNull ? "null" : value.text;
      if (value.kind == YamlNode::Kind::kList) {
        shown = "[";
        for (const YamlNode& item : value.items) shown += (shown.size() > 1 ? "," : "") + item.text;
        shown += "]";
      }
      fields.emplace(map.keys[i].text, shown);
    }
  }

  // `set`: of the entry, or null.
  void read_example(const YamlNode& node, const std::string& entry, std::size_t index,
                    const YamlNode* set) {
    const std::string key = entry + ".examples";
    const YamlMap map(errors_, node, key, kExampleKeys, "an example");
    if (!map.is_map()) return;
    MessageExample example;
    example.at = node.at;
    example.message = index;
    for (const char* name : {"line", "lines"}) {
      const YamlNode* const lines = map.get(name);
      if (lines == nullptr) continue;
      for (auto& [line, at] : fields_.words(*lines, key + "." + name))
        example.lines.push_back(line);
    }
    if (example.lines.empty() && map.ok()) {
      errors_.add(node.at, key, key + ": an example has no line: add 'line:' as the log has it");
    }
    if (const YamlNode* const kind = map.get("kind")) {
      kind_named(kind->text, *kind, key);
      example.kind = kind->text;
    }
    if (const YamlNode* const soc = map.get("soc")) {
      example.soc = kernel_log::soc_named(soc->text).value_or(kernel_log::Soc::kUnknown);
    }
    const YamlNode* const gives = map.get("gives");
    example.nothing = gives != nullptr && gives->text == "nothing";
    if (gives != nullptr && gives->kind == YamlNode::Kind::kMap) {
      add_fields(*gives, example.fields);
    } else if (gives != nullptr && !example.nothing && map.ok()) {
      errors_.add(gives->at, key,
                  key + ": what an example gives is 'gives: {field: value}', or 'nothing'");
    }
    if (set != nullptr) add_fields(*set, example.fields);
    out_.examples.push_back(std::move(example));
  }

  ConfigErrors errors_;
  YamlFields fields_;
  MessageForm form_;
  MessageFile& out_;
  std::optional<YamlMap> defaults_;  // of the file
  std::map<std::string, std::string_view, std::less<>> heads_;
  std::set<std::string, std::less<>> known_;  // fields of the entry that is read
};

}  // namespace

void read_messages(MessageForm form, std::string_view name, std::string_view text,
                   MessageFile& out) {
  MessageReader(form, name, out).read(text);
}

std::string field_as_text(const kernel_log::Event& event, std::string_view name) {
  std::string list;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const kernel_log::Field& field = event[i];
    if (field.name != name) continue;
    switch (field.type) {
      case FieldType::kNumber:
        return std::to_string(field.number);
      case FieldType::kBool:
        return field.number != 0 ? "true" : "false";
      case FieldType::kNull:
        return "null";
      case FieldType::kText:
        return std::string(event.text_of(field));
      case FieldType::kItem:
        list += (list.empty() ? "[" : ",") + std::string(event.text_of(field));
        break;
    }
  }
  return list.empty() ? list : list + "]";
}

std::string_view too_large_number(std::string_view text) {
  using kernel_log::is_name_char;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && is_name_char(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    const bool hex = word.starts_with("0x") && word.size() > 2;
    const std::string_view digits = word.substr(hex ? 2 : 0);
    const bool is_number = std::all_of(digits.begin(), digits.end(), [&](char c) {
      return hex ? kernel_log::Scan::is_hex_digit(c) : is_digit(c);
    });
    const bool fits = hex ? kernel_log::parse_hex(word).value_or(UINT64_MAX) <= INT64_MAX
                          : parse_i64(word).has_value();
    if (is_number && !word.empty() && !fits) return word;
    if (at == begin) ++at;
  }
  return {};
}

}  // namespace jetmem
