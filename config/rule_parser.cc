#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "config/rule_words.h"
#include "config/rules.h"
#include "config/setting_types.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;

constexpr std::size_t kMaxTextBytes = 600;
constexpr std::size_t kMaxNameBytes = 60;
constexpr std::size_t kMaxListItems = 32;
constexpr std::size_t kMaxErrorsPerFile = 100;

std::string join(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

bool is_word(std::string_view text, bool upper_first) {
  if (text.empty() || text.size() > kMaxNameBytes) return false;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !is_digit(c) && c != '_') return false;
  }
  return upper_first ? text[0] >= 'A' && text[0] <= 'Z' : !is_digit(text[0]);
}

bool is_page_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-'; });
}

// "95%", "12MiB", "10m", "-3.5": the number in base units.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  std::string_view digits = text;
  const bool percent = !digits.empty() && digits.back() == '%';
  if (percent) digits.remove_suffix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                            std::chars_format::general);
  if (error == std::errc() && end == digits.data() + digits.size() && std::isfinite(value)) {
    // Dividing keeps 95% the same double as 0.95.
    return percent ? value / 100 : value;
  }
  if (percent) return std::nullopt;
  const bool negative = text.starts_with('-');
  const double sign = negative ? -1 : 1;
  if (negative) text.remove_prefix(1);
  if (const auto size = parse_size(text)) return sign * static_cast<double>(*size);
  if (const auto time = parse_duration(text)) {
    return sign * std::chrono::duration<double>(*time).count();
  }
  return std::nullopt;
}

class FileParser {
 public:
  FileParser(std::string file, ParsedRules& out) : file_(std::move(file)), out_(out) {}

  void parse(std::string_view text) {
    const YamlDocument document = parse_yaml(text);
    for (const YamlProblem& problem : document.problems) add(problem.at, {}, problem.message);
    if (!document.readable || document.root.kind == Kind::kNull) return finish();
    static constexpr std::array<std::string_view, 3> kNames{"thresholds", "disable", "rules"};
    Map map(*this, document.root, "", kNames, "a file of rules");
    if (const YamlNode* node = map.get("thresholds")) take_thresholds(*node);
    if (const YamlNode* node = map.get("disable")) {
      for (const auto& [name, at] : words(*node, "disable")) {
        disabled_.push_back({name, at});
      }
    }
    if (const YamlNode* node = map.get("rules")) {
      if (node->kind != Kind::kList) {
        add(node->at, "rules",
            "rules must be a list, found " + found(*node) +
                "; begin each rule with '- alert: NAME'");
      } else {
        for (const YamlNode& item : node->items) take_rule(item);
      }
    }
    finish();
  }

  // What can only be said once every file was read.
  struct Disabled {
    std::string name;
    Position at;
  };
  const std::vector<Disabled>& disabled() const { return disabled_; }
  const std::string& file() const { return file_; }
  void add(Position at, std::string key, std::string message) {
    if (added_ == kMaxErrorsPerFile) {
      message =
          "has more errors than these " + std::to_string(kMaxErrorsPerFile) + "; mend them first";
      at = {};
      key.clear();
    }
    if (added_++ <= kMaxErrorsPerFile) {
      out_.errors.push_back({file_, at.line, at.column, std::move(key), std::move(message)});
    }
  }

 private:
  // A map with a closed set of names; what is wrong with it is said once, when it is made.
  class Map {
   public:
    Map(FileParser& parser, const YamlNode& node, std::string key,
        std::span<const std::string_view> names, std::string_view what)
        : node_(node) {
      if (node.kind != Kind::kMap) {
        if (node.kind != Kind::kRefused) {
          parser.add(node.at, key,
                     std::string(what) + " must be a map, found " + found(node) +
                         "; known here: " + join(names));
        }
        return;
      }
      ok_ = true;
      for (std::size_t i = 0; i < node.keys.size(); ++i) {
        const YamlNode& name = node.keys[i];
        const std::string shown = printable(name.text, 100);
        if (name.kind != Kind::kScalar ||
            std::find(names.begin(), names.end(), name.text) == names.end()) {
          const std::string_view near =
              nearest_name(name.text, std::vector<std::string_view>(names.begin(), names.end()));
          parser.add(name.at, key,
                     "unknown key '" + shown + "'" +
                         (near.empty() ? "; known here: " + join(names)
                                       : "; did you mean '" + std::string(near) + "'?"));
          ok_ = false;
          continue;
        }
        for (std::size_t j = 0; j < i; ++j) {
          if (node.keys[j].text != name.text) continue;
          parser.add(name.at, key,
                     "'" + shown + "' is set twice, first in line " +
                         std::to_string(node.keys[j].at.line) + "; keep one");
          ok_ = false;
        }
        if (node.items[i].kind == Kind::kNull) {
          parser.add(name.at, key, "'" + shown + "' has no value; write one or remove the line");
          ok_ = false;
        }
      }
    }
    const YamlNode* get(std::string_view name) const {
      if (node_.kind != Kind::kMap) return nullptr;
      for (std::size_t i = 0; i < node_.keys.size(); ++i) {
        if (node_.keys[i].text == name && node_.items[i].kind != Kind::kNull)
          return &node_.items[i];
      }
      return nullptr;
    }
    bool ok() const { return ok_; }

   private:
    const YamlNode& node_;
    bool ok_ = false;
  };

  void finish() {
    std::stable_sort(
        out_.errors.begin(), out_.errors.end(), [](const ConfigError& a, const ConfigError& b) {
          return a.file == b.file && std::pair(a.line, a.column) < std::pair(b.line, b.column);
        });
  }

  std::optional<std::string> word(const YamlNode& node, const std::string& key) {
    if (node.kind == Kind::kScalar) return node.text;
    if (node.kind != Kind::kRefused)
      add(node.at, key, key + " must be a word, found " + found(node));
    return std::nullopt;
  }

  // A word, or a list of words.
  std::vector<std::pair<std::string, Position>> words(const YamlNode& node,
                                                      const std::string& key) {
    std::vector<std::pair<std::string, Position>> out;
    if (node.kind != Kind::kList) {
      if (auto one = word(node, key)) out.emplace_back(std::move(*one), node.at);
      return out;
    }
    if (node.items.size() > kMaxListItems) {
      add(node.at, key, key + " has more than " + std::to_string(kMaxListItems) + " items");
      return out;
    }
    for (const YamlNode& item : node.items) {
      if (auto one = word(item, key)) out.emplace_back(std::move(*one), item.at);
    }
    return out;
  }

  std::optional<std::chrono::milliseconds> duration(const Map& map, const std::string& key,
                                                    std::chrono::milliseconds most) {
    const YamlNode* node = map.get(key);
    if (node == nullptr) return std::nullopt;
    ValueProblems problems;
    const auto value = Duration{std::chrono::milliseconds(0), most}.read(*node, problems);
    for (ValueProblem& problem : problems) add(problem.at, key, key + " " + problem.message);
    return value;
  }

  template <class List>
  auto choice(const YamlNode& node, const std::string& key, const List& list)
      -> std::optional<decltype(list[0].value)> {
    const auto text = word(node, key);
    if (!text) return std::nullopt;
    for (const auto& each : list) {
      if (each.name == *text) return each.value;
    }
    const auto names = names_of(list);
    const std::string_view near = nearest_name(*text, names);
    add(node.at, key,
        key + " must be one of " + join(names) + ", found '" + printable(*text, 60) + "'" +
            (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
    return std::nullopt;
  }

  void take_thresholds(const YamlNode& node) {
    if (node.kind != Kind::kMap) {
      add(node.at, "thresholds", "thresholds must be a map of names, found " + found(node));
      return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const YamlNode& name = node.keys[i];
      const std::string key = "thresholds." + printable(name.text, 100);
      if (name.kind != Kind::kScalar || !is_word(name.text, false)) {
        add(name.at, key, "the name of a threshold must be letters, digits and '_'");
        continue;
      }
      take_threshold(name, node.items[i], key);
    }
  }

  void take_threshold(const YamlNode& name, const YamlNode& node, const std::string& key) {
    auto& all = out_.rules.thresholds;
    const auto earlier = std::find_if(all.begin(), all.end(),
                                      [&](const NamedThreshold& t) { return t.name == name.text; });
    if (earlier != all.end() && earlier->file == file_) {
      add(name.at, key,
          "'" + name.text + "' is set twice, first in line " + std::to_string(earlier->at.line) +
              "; keep one");
      return;
    }
    NamedThreshold threshold;
    threshold.name = name.text;
    threshold.file = file_;
    threshold.at = name.at;
    const YamlNode* value = &node;
    if (node.kind == Kind::kMap) {
      static constexpr std::array<std::string_view, 2> kNames{"value", "what"};
      const Map map(*this, node, key, kNames, key);
      if (!map.ok()) return;
      value = map.get("value");
      if (const YamlNode* what = map.get("what")) threshold.what = text(*what, key + ".what");
      if (value == nullptr) {
        add(node.at, key, key + " has no value; write one, as in {value: 95%, what: ...}");
        return;
      }
    }
    const auto written = word(*value, key);
    if (!written) return;
    const auto number = parse_number(*written);
    if (!number) {
      add(value->at, key,
          key + " must be a number such as 3, 95%, 12MiB or 10m, found " + found(*value));
      return;
    }
    threshold.value = *number;
    threshold.written = *written;
    if (earlier == all.end()) {
      if (threshold.what.empty()) {
        // What changes a value must name one that is there.
        std::vector<std::string_view> names;
        for (const NamedThreshold& t : all) names.push_back(t.name);
        const std::string_view near = nearest_name(name.text, names);
        add(name.at, key,
            "no rule has a threshold '" + name.text + "'" +
                (near.empty() ? "; a new one needs a meaning: {value: " + *written + ", what: ...}"
                              : "; did you mean '" + std::string(near) + "'?"));
        return;
      }
      all.push_back(std::move(threshold));
      return;
    }
    if (threshold.what.empty()) threshold.what = earlier->what;
    *earlier = std::move(threshold);
  }

  std::optional<Threshold> number(const YamlNode& node, const std::string& key) {
    const auto written = word(node, key);
    if (!written) return std::nullopt;
    Threshold threshold;
    if (written->starts_with('$')) {
      // Its value is looked up when every file was read.
      threshold.name = written->substr(1);
      return threshold;
    }
    if (const auto value = parse_number(*written)) {
      threshold.value = *value;
      return threshold;
    }
    add(node.at, key,
        key +
            " must be a number such as 3, 95%, 12MiB or 10m, or $NAME of a "
            "threshold, found " +
            found(node));
    return std::nullopt;
  }

  std::string text(const YamlNode& node, const std::string& key) {
    const auto value = word(node, key);
    if (!value) return {};
    if (value->empty() || value->size() > kMaxTextBytes) {
      add(node.at, key, key + " must have from 1 to " + std::to_string(kMaxTextBytes) + " bytes");
    } else if (printable(*value, kMaxTextBytes) != *value) {
      add(node.at, key, key + " must be one line of printable text");
    }
    return *value;
  }

  void take_labels(const YamlNode& node, const std::string& key, bool equal, Condition& condition) {
    if (node.kind != Kind::kMap) {
      add(node.at, key,
          key + " must be a map of labels, found " + found(node) + "; write it as {name: value}");
      return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      if (node.keys[i].kind != Kind::kScalar || !is_word(node.keys[i].text, false)) {
        add(node.keys[i].at, key, "the name of a label must be letters, digits and '_'");
        continue;
      }
      LabelMatcher matcher{node.keys[i].text, equal, {}, node.keys[i].at};
      for (auto& [value, at] : words(node.items[i], key + "." + matcher.label)) {
        matcher.values.push_back(std::move(value));
      }
      for (const LabelMatcher& other : condition.labels) {
        if (other.label == matcher.label) {
          add(matcher.at, key, "label '" + matcher.label + "' is matched twice; keep one");
        }
      }
      if (matcher.values.empty()) {
        add(matcher.at, key, "label '" + matcher.label + "' needs a value");
        continue;
      }
      condition.labels.push_back(std::move(matcher));
    }
  }

  std::optional<Condition> take_condition(const YamlNode& node, bool first) {
    static constexpr std::array<std::string_view, 14> kNames{
        "metric", "labels",   "not_labels", "function", "window",       "ahead", "above",
        "below",  "at_least", "at_most",    "equal_to", "not_equal_to", "clear", "on"};
    const std::size_t before = added_;
    const Map map(*this, node, "when", kNames, "a condition");
    if (node.kind != Kind::kMap) return std::nullopt;
    Condition condition;
    const YamlNode* metric = map.get("metric");
    if (metric == nullptr) {
      add(node.at, "when", "a condition needs a metric");
      return std::nullopt;
    }
    condition.metric = word(*metric, "metric").value_or("");
    condition.metric_at = metric->at;
    if (const YamlNode* labels = map.get("labels")) take_labels(*labels, "labels", true, condition);
    if (const YamlNode* labels = map.get("not_labels")) {
      take_labels(*labels, "not_labels", false, condition);
    }
    if (const YamlNode* function = map.get("function")) {
      condition.function_at = function->at;
      if (const auto f = choice(*function, "function", kFunctions)) condition.function = *f;
    }
    take_times(map, node, condition);
    take_comparison(map, node, condition);
    if (const YamlNode* on = map.get("on")) {
      condition.on_at = on->at;
      for (auto& [label, at] : words(*on, "on")) condition.on.push_back(std::move(label));
      if (first) add(on->at, "on", "on belongs to the second and later conditions");
      if (condition.function == Function::kAbsent) {
        add(on->at, "on", "absent cannot be tied to labels; remove on");
      }
    }
    if (added_ != before) return std::nullopt;
    return condition;
  }

  void take_times(const Map& map, const YamlNode& node, Condition& condition) {
    const bool windowed =
        condition.function != Function::kNone && condition.function != Function::kAbsent;
    const std::string name(function_name(condition.function));
    if (const auto window = duration(map, "window", kMaxWindow)) {
      condition.window = *window;
      if (!windowed) {
        add(map.get("window")->at, "window", "window belongs to a function over time");
      } else if (*window < std::chrono::seconds(2)) {
        add(map.get("window")->at, "window", "window must be at least 2s");
      }
    } else if (windowed && map.get("window") == nullptr) {
      add(node.at, "window", name + " needs a window, such as 5m");
    }
    if (const auto ahead = duration(map, "ahead", std::chrono::hours(24 * 30))) {
      condition.ahead = *ahead;
      if (condition.function != Function::kPredict) {
        add(map.get("ahead")->at, "ahead", "ahead belongs to the function predict");
      }
    } else if (condition.function == Function::kPredict && map.get("ahead") == nullptr) {
      add(node.at, "ahead", "predict needs ahead: in which time, such as 4h");
    }
  }

  void take_comparison(const Map& map, const YamlNode& node, Condition& condition) {
    for (const auto& each : kComparisons) {
      const YamlNode* value = map.get(each.name);
      if (value == nullptr) continue;
      if (condition.comparison) {
        add(value->at, std::string(each.name),
            "a condition compares once; '" + std::string(comparison_name(*condition.comparison)) +
                "' is there already");
      }
      condition.comparison = each.value;
      if (const auto threshold = number(*value, std::string(each.name))) {
        condition.threshold = *threshold;
      }
    }
    if (const YamlNode* clear = map.get("clear")) {
      if (const auto threshold = number(*clear, "clear")) condition.clear = *threshold;
      if (condition.comparison && (*condition.comparison == Comparison::kEqual ||
                                   *condition.comparison == Comparison::kNotEqual)) {
        add(clear->at, "clear", "clear needs above, below, at_least or at_most");
      }
    }
    const bool is_absent = condition.function == Function::kAbsent;
    if (is_absent && (condition.comparison || condition.clear)) {
      add(node.at, "when", "absent compares nothing: remove the comparison");
    }
    if (!is_absent && !condition.comparison && map.ok()) {
      add(node.at, "when",
          "a condition needs a comparison: one of " + join(names_of(kComparisons)));
    }
  }

  void take_rule(const YamlNode& node) {
    static constexpr std::array<std::string_view, 10> kNames{
        "alert",  "severity", "when",  "for",    "keep_firing_for",
        "unless", "summary",  "cause", "remedy", "runbook"};
    const std::size_t before = added_;
    const Map map(*this, node, "rules", kNames, "a rule");
    if (node.kind != Kind::kMap) return;
    Rule rule;
    rule.file = file_;
    rule.at = node.at;
    take_head(map, node, rule);
    if (const YamlNode* when = map.get("when")) {
      if (when->kind != Kind::kList || when->items.empty() || when->items.size() > kMaxConditions) {
        add(when->at, "when",
            "when must be a list of 1 to " + std::to_string(kMaxConditions) +
                " conditions, each beginning with '- metric: NAME'");
      } else {
        for (const YamlNode& item : when->items) {
          if (auto c = take_condition(item, rule.when.empty())) rule.when.push_back(std::move(*c));
        }
      }
    } else {
      add(node.at, "when", "a rule needs when: its conditions");
    }
    if (const auto hold = duration(map, "for", kMaxWindow)) rule.hold = *hold;
    if (const auto keep = duration(map, "keep_firing_for", kMaxWindow))
      rule.keep_firing_for = *keep;
    if (const YamlNode* unless = map.get("unless")) {
      for (auto& [name, at] : words(*unless, "unless")) rule.unless.push_back(std::move(name));
    }
    take_texts(map, node, rule);
    if (added_ != before) return;
    if (out_.rules.rules.size() == kMaxRules) {
      add(node.at, "rules", "more than " + std::to_string(kMaxRules) + " rules");
      return;
    }
    out_.rules.rules.push_back(std::move(rule));
  }

  void take_head(const Map& map, const YamlNode& node, Rule& rule) {
    const YamlNode* alert = map.get("alert");
    if (alert == nullptr) {
      add(node.at, "alert", "a rule needs a name: '- alert: NAME'");
    } else if (const auto name = word(*alert, "alert"); name && !is_word(*name, true)) {
      add(alert->at, "alert",
          "the name of an alert must begin with a capital letter and have "
          "letters, digits and '_' only, found " +
              found(*alert));
    } else if (name) {
      rule.name = *name;
      if (const Rule* other = out_.rules.find(*name)) {
        add(alert->at, "alert",
            "alert " + *name + " is defined already, in " + other->file + ":" +
                std::to_string(other->at.line) + "; give this one another name (disable: [" +
                *name + "] switches the other off)");
      }
    }
    const YamlNode* severity = map.get("severity");
    if (severity == nullptr) {
      add(node.at, "severity", "a rule needs a severity: " + join(names_of(kSeverities)));
    } else if (const auto s = choice(*severity, "severity", kSeverities)) {
      rule.severity = *s;
    }
  }

  void take_texts(const Map& map, const YamlNode& node, Rule& rule) {
    const auto take = [&](const char* key, std::string& into, Position* at) {
      const YamlNode* value = map.get(key);
      if (value == nullptr) return;
      into = text(*value, key);
      if (at != nullptr) *at = value->at;
    };
    take("summary", rule.texts.summary, &rule.texts.summary_at);
    take("cause", rule.texts.cause, &rule.texts.cause_at);
    take("remedy", rule.texts.remedy, &rule.texts.remedy_at);
    take("runbook", rule.texts.runbook, nullptr);
    if (map.get("summary") == nullptr) {
      add(node.at, "summary", "a rule needs a summary: what the person paged reads first");
    }
    if (!rule.texts.runbook.empty() && !is_page_name(rule.texts.runbook)) {
      add(map.get("runbook")->at, "runbook",
          "runbook must be the name of a page: small letters, digits and '-'");
    }
  }

  std::string file_;
  ParsedRules& out_;
  std::size_t added_ = 0;
  std::vector<Disabled> disabled_;
};

// Thresholds, `disable` and `unless` may name what another file has.
void resolve(ParsedRules& parsed, std::span<FileParser> parsers) {
  RuleSet& set = parsed.rules;
  std::vector<std::string_view> names;
  for (const Rule& rule : set.rules) names.push_back(rule.name);
  const auto known = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto no_such = [&](std::string_view name) {
    const std::string_view near = nearest_name(name, names);
    return "there is no alert '" + printable(name, 60) + "'" +
           (near.empty() ? std::string() : "; did you mean '" + std::string(near) + "'?");
  };
  for (FileParser& parser : parsers) {
    for (const auto& [name, at] : parser.disabled()) {
      if (!known(name)) {
        parser.add(at, "disable", no_such(name));
      } else {
        set.disabled.push_back(name);
      }
    }
  }
  std::vector<std::string_view> thresholds;
  for (const NamedThreshold& threshold : set.thresholds) thresholds.push_back(threshold.name);
  const auto look_up = [&](Threshold& threshold) -> std::string {
    if (threshold.name.empty()) return {};
    for (const NamedThreshold& named : set.thresholds) {
      if (named.name != threshold.name) continue;
      threshold.value = named.value;
      return {};
    }
    const std::string_view near = nearest_name(threshold.name, thresholds);
    return "there is no threshold '" + printable(threshold.name, 60) + "'" +
           (near.empty() ? "; declare it under thresholds:"
                         : "; did you mean '$" + std::string(near) + "'?");
  };
  // What is wrong with a rule, and why it is left out.
  const auto problem_of = [&](Rule& rule) -> std::pair<Position, std::string> {
    for (const std::string& name : rule.unless) {
      if (name == rule.name) return {rule.at, "an alert cannot silence itself"};
      if (!known(name)) return {rule.at, "unless: " + no_such(name)};
    }
    for (Condition& condition : rule.when) {
      std::string problem = look_up(condition.threshold);
      if (problem.empty() && condition.clear) problem = look_up(*condition.clear);
      if (!problem.empty()) return {condition.metric_at, std::move(problem)};
      if (!condition.clear || !condition.comparison) continue;
      const double start = condition.threshold.value;
      const double stop = condition.clear->value;
      const bool upwards = *condition.comparison == Comparison::kAbove ||
                           *condition.comparison == Comparison::kAtLeast;
      if (upwards ? stop > start : stop < start) {
        return {condition.metric_at, std::string("clear must be ") + (upwards ? "below" : "above") +
                                         " the threshold: it is where the alert stops"};
      }
    }
    return {};
  };
  std::erase_if(set.rules, [&](Rule& rule) {
    auto [at, message] = problem_of(rule);
    if (message.empty()) return false;
    parsed.errors.push_back(
        {rule.file, at.line, at.column, rule.name, rule.name + ": " + std::move(message)});
    return true;
  });
  // Switched off: out of the set, and of what others name.
  std::erase_if(set.rules, [&](const Rule& rule) {
    return std::find(set.disabled.begin(), set.disabled.end(), rule.name) != set.disabled.end();
  });
}

}  // namespace

ParsedRules parse_rules(std::span<const ConfigText> files) {
  ParsedRules parsed;
  std::vector<FileParser> parsers;
  parsers.reserve(files.size());
  for (const ConfigText& file : files) {
    parsers.emplace_back(file.name, parsed);
    parsers.back().parse(file.text);
  }
  resolve(parsed, parsers);
  return parsed;
}

}  // namespace jetmem
