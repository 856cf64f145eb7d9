// SPDX-License-Identifier: Apache-2.0
#include "report/messages/message_file.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/catalogue.h"
#include "config/yaml_fields.h"

namespace jetmem {

using kernel_log::Catalogue;
using kernel_log::Constant;
using kernel_log::EventKind;
using kernel_log::FieldType;
using kernel_log::Message;
using kernel_log::Role;

namespace {

constexpr std::array<std::string_view, 4> kFileKeys{"messages", "heads", "kinds", "causes"};
constexpr std::array<std::string_view, 12> kUserKeys{"id",   "kind",    "line",   "source",
                                                     "note", "program", "set",    "unless",
                                                     "say",  "cause",   "remedy", "examples"};
constexpr std::array<std::string_view, 28> kShippedKeys{
    "id",       "kind",  "line",     "source",       "note",  "program", "set",
    "unless",   "say",   "examples", "anchors",      "is",    "step",    "repeats",
    "last",     "join",  "prefer",   "stands_alone", "of",    "decode",  "accept",
    "complete", "joins", "add",      "describe",     "cause", "remedy",  "generic"};
constexpr std::array<std::string_view, 6> kExampleKeys{"line", "lines", "gives",
                                                       "kind", "soc",   "note"};
constexpr std::array<std::string_view, 6> kHooks{"decode", "accept", "complete",
                                                 "joins",  "add",    "describe"};

struct RoleName {
  std::string_view name;
  Role value;
};
constexpr std::array kRoles{RoleName{"whole", Role::kWhole}, RoleName{"opens", Role::kOpens},
                            RoleName{"follows", Role::kFollows},
                            RoleName{"follows_or_opens", Role::kFollowsOrOpens}};

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxConfigName &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-'; });
}

bool is_field_name(std::string_view text) {
  return is_config_name(text) && text != "kind" && text != "line" && text != "time" &&
         text != "summary";
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
                      std::span<const std::string_view>(kFileKeys).first(user ? 1 : 4),
                      "a file of messages");
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
      read_message(each);
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

  bool flag(const YamlMap& map, const char* name, const std::string& key) {
    const YamlNode* const node = map.get(name);
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
      const std::size_t begin = line.find("{@");
      out += line.substr(0, begin);
      if (begin == std::string_view::npos) return out;
      const std::size_t end = std::min(line.find('}', begin), line.size() - 1);
      const std::string_view name = line.substr(begin + 2, end - begin - 2);
      if (const auto head = heads_.find(name); head != heads_.end()) {
        out += head->second;
      } else {
        std::vector<std::string_view> names;
        for (const auto& each : heads_) names.push_back(each.first);
        errors_.add(at, key,
                    key + ": no piece of a line is named '" + printable(name, 40) + "'" +
                        did_you_mean(name, names));
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
      if (map.get("decode") == nullptr) {
        errors_.add(entry.at, key + ".line",
                    key + " has no line: what does the message look like?");
      }
      return texts;
    }
    for (auto& [word, at] : fields_.words(*node, key + ".line")) {
      const std::string line = with_heads(word, at, key + ".line");
      std::string error = kernel_log::form_error(line);
      if (forms.size() == UINT8_MAX) error = "more than 255 lines: make several messages of them";
      if (!error.empty()) {
        errors_.add(at, key + ".line", key + ".line: " + error);
        continue;
      }
      kernel_log::CompiledForm form = kernel_log::compile_form(line);
      forms.push_back(form.as_form(keep(std::move(form.code))));
      texts += line + "\n";
    }
    message.forms = std::span<const kernel_log::Form>(forms);
    return texts;
  }

  Constant constant(std::string_view name, const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kNull) return {name, FieldType::kNull, {}, 0};
    if (!node.quoted && (node.text == "true" || node.text == "false")) {
      return {name, FieldType::kBool, {}, node.text == "true" ? 1 : 0};
    }
    if (const auto number = parse_i64(node.text); number && !node.quoted) {
      return {name, FieldType::kNumber, {}, *number};
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
                      key + ".set: '" + printable(name, 40) + "' cannot be the name of a field");
        }
        set.push_back(constant(keep(name), node->items[i]));
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
      if (n < message.piece.of.size()) message.piece.of[n++] = kind_named(kind, map, key);
    }
  }

  EventKind kind_named(std::string_view name, const YamlMap& map, const std::string& key) {
    if (const auto kind = kernel_log::kind_named(name)) return *kind;
    std::vector<std::string_view> names;
    for (const auto& info : kernel_log::all_kinds()) names.push_back(info.name);
    const YamlNode* const node = map.get("kind");
    errors_.add(node == nullptr ? Position{} : node->at, key + ".kind",
                key + ".kind: there is no kind '" + printable(name, 60) + "'" +
                    did_you_mean(name, names, "; `jetmem messages list --kinds` shows them"));
    return EventKind::kNone;
  }

  void read_message(const YamlNode& node) {
    std::string key = "messages[" + std::to_string(out_.messages.size()) + "]";
    const std::size_t before = errors_.count();
    const bool user = form_ == MessageForm::kUser;
    const YamlMap map(errors_, node, key,
                      user ? std::span<const std::string_view>(kUserKeys)
                           : std::span<const std::string_view>(kShippedKeys),
                      "a message");
    if (!map.ok() && !map.is_map()) return;
    Message message;
    message.id = text(map, "id", key);
    if (message.id.empty()) {
      errors_.add(node.at, key + ".id", key + " has no id: '- id: my-driver-timeout'");
    } else if (!is_id(message.id)) {
      errors_.add(node.at, key + ".id", key + ".id must be lower-case letters, digits and '-'");
    } else {
      key = message.id;
    }
    const bool twice = std::any_of(out_.messages.begin(), out_.messages.end(),
                                   [&](const Message& each) { return each.id == message.id; }) ||
                       (user && Catalogue::shipped().find(message.id) != nullptr);
    if (twice)
      errors_.add(node.at, key + ".id", "'" + key + "' is there already: choose another id");
    message.kind = EventKind::kCustom;
    if (const YamlNode* const kind = map.get("kind")) {
      const std::string name = fields_.word(*kind, key + ".kind").value_or("");
      message.kind = name == "none" ? EventKind::kNone : kind_named(name, map, key);
      if (message.kind == EventKind::kNone) message.piece.role = Role::kNothing;
    } else if (!user) {
      errors_.add(node.at, key + ".kind", key + " has no kind");
    }
    message.program = flag(map, "program", key);
    std::string form_texts = set_forms(map, node, key, message);
    set_constants(map, key, message);
    message.say = text(map, "say", key);
    message.cause = text(map, "cause", key);
    message.remedy = text(map, "remedy", key);
    const std::string source(text(map, "source", key));
    if (!user) {
      set_piece(map, key, message);
      message.generic = flag(map, "generic", key);
      message.anchors = list(map, "anchors", key);
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
    const std::size_t index = out_.messages.size();
    const std::size_t examples = out_.examples.size();
    const YamlNode* const list = map.get("examples");
    if (list == nullptr || list->kind != YamlNode::Kind::kList || list->items.empty()) {
      errors_.add(node.at, key + ".examples",
                  key + " has no example: add a line as the log has it, and the fields it gives");
    } else {
      for (const YamlNode& each : list->items) read_example(each, key, index);
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

  void read_example(const YamlNode& node, const std::string& entry, std::size_t index) {
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
    if (example.lines.empty()) errors_.add(node.at, key, key + ": an example has no line");
    if (const YamlNode* const kind = map.get("kind")) example.kind = kind->text;
    if (const YamlNode* const soc = map.get("soc")) {
      example.soc = kernel_log::soc_named(soc->text).value_or(kernel_log::Soc::kUnknown);
    }
    const YamlNode* const gives = map.get("gives");
    if (gives != nullptr && gives->kind == YamlNode::Kind::kMap) {
      for (std::size_t i = 0; i < gives->items.size(); ++i) {
        const YamlNode& value = gives->items[i];
        std::string shown = value.kind == YamlNode::Kind::kNull ? "null" : value.text;
        if (value.kind == YamlNode::Kind::kList) {
          shown = "[";
          for (const YamlNode& item : value.items) {
            shown += (shown.size() > 1 ? "," : "") + item.text;
          }
          shown += "]";
        }
        example.fields[gives->keys[i].text] = shown;
      }
    } else if (gives != nullptr && gives->text == "nothing") {
      example.nothing = true;
    } else {
      errors_.add(node.at, key,
                  key + ": an example needs what it gives: 'gives: {field: value}', or 'nothing'");
    }
    out_.examples.push_back(std::move(example));
  }

  ConfigErrors errors_;
  YamlFields fields_;
  MessageForm form_;
  MessageFile& out_;
  std::map<std::string, std::string_view, std::less<>> heads_;
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

}  // namespace jetmem
