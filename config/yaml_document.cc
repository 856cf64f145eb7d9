// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr const char* kNoAliases = "aliases (*name) are not supported; write the value out";

Position position_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

// Thrown by the builder to leave the parser early; caught in parse_yaml.
struct Stop {
  YamlProblem problem;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlDocument& out) : out_(out) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    throw Stop{{position_of(mark),
                "text after the end of the settings; keep one document (no second '---') and check "
                "the indentation"}};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    location(make(YamlNode::Kind::kNull, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    add(mark, kNoAliases);
    location(make(YamlNode::Kind::kRefused, mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node = make(YamlNode::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag != "?";
    location(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  static YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.at = position_of(mark);
    return node;
  }
  void add(const YAML::Mark& mark, std::string message) {
    out_.problems.push_back({position_of(mark), std::move(message)});
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) add(mark, "anchors (&name) are not supported; write each value out");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // "?" and "!" are the parser's own marks for plain and quoted.
    if (tag.empty() || tag == "?" || tag == "!") return;
    add(mark, "tags are not supported; remove '" + printable(tag, 60) + "'");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    // The parser recurses once per level, so this also bounds its stack.
    if (open_.size() >= static_cast<std::size_t>(kMaxYamlDepth)) {
      throw Stop{{position_of(mark), "more than " + std::to_string(kMaxYamlDepth) +
                                         " levels of lists and maps; settings need fewer"}};
    }
    open_.push_back(make(kind, mark));
  }
  void close() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    location(std::move(node));
  }
  void location(YamlNode node) {
    if (++nodes_ > kMaxYamlNodes) {
      throw Stop{{node.at, "more than " + std::to_string(kMaxYamlNodes) +
                               " values in one file; is this the right file?"}};
    }
    if (open_.empty()) {
      out_.root = std::move(node);
      return;
    }
    YamlNode& parent = open_.back();
    const bool is_key =
        parent.kind == YamlNode::Kind::kMap && parent.keys.size() == parent.items.size();
    (is_key ? parent.keys : parent.items).push_back(std::move(node));
  }

  YamlDocument& out_;
  std::vector<YamlNode> open_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

// The first byte of a line that no settings file holds. Not for beauty: yaml-cpp takes U+0004 for
// the end of the file, guesses UTF-16 and UTF-32 from zero bytes, and reads a lone CR as text.
std::optional<YamlProblem> check_line(std::string_view line, int number) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::string clean = printable(line, line.size() + 3);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i < clean.size() && (line[i] == clean[i] || line[i] == '\t')) continue;
    const Position at{number, static_cast<int>(i) + 1};
    if (i < clean.size() && clean[i] == '?') {
      return YamlProblem{at, "a control character; remove it (is this a text file?)"};
    }
    return YamlProblem{at, "not valid UTF-8; save the file as UTF-8"};
  }
  const std::size_t indent = line.find_first_not_of(' ');
  if (indent != std::string_view::npos && line[indent] == '\t') {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] != '#') {
      return YamlProblem{{number, static_cast<int>(indent) + 1},
                         "a tab in the indentation; YAML wants spaces"};
    }
  }
  return std::nullopt;
}

// Counts on from the lines before; the column, from 1, of the one bracket too many, or 0.
int count_brackets(std::string_view line, int& open) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '[' || line[i] == '{') {
      if (++open > kMaxYamlOpenBrackets) return static_cast<int>(i) + 1;
    } else if ((line[i] == ']' || line[i] == '}') && open > 0) {
      --open;
    }
  }
  return 0;
}

std::optional<YamlProblem> check_text(std::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return YamlProblem{{}, "is larger than " + std::to_string(kMaxYamlBytes >> 10) +
                               " KiB; is this the right file? Settings and rules can be spread "
                               "over several files"};
  }
  Lines lines(text);
  std::string_view line;
  int open = 0;
  while (lines.next(line)) {
    const int number = static_cast<int>(lines.number());
    if (auto problem = check_line(line, number)) return problem;
    if (const int column = count_brackets(line, open); column > 0) {
      return YamlProblem{{number, column},
                         "more than " + std::to_string(kMaxYamlOpenBrackets) +
                             " brackets ('[' or '{') are open here; close each one where its list "
                             "or map ends (those in quotes and comments count too)"};
    }
  }
  return std::nullopt;
}

YamlProblem syntax_problem(const YAML::Exception& e) {
  if (e.msg == YAML::ErrorMsg::EOF_IN_SCALAR) {
    return {{}, "not valid YAML: a quote (\" or ') is opened and never closed"};
  }
  // An alias without its anchor; yaml-cpp 0.8 appends the name.
  if (e.msg.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR)) return {position_of(e.mark), kNoAliases};
  std::string message = "not valid YAML (" + printable(e.msg, 120);
  message.append(
      "); check the indentation here and in the line above, the quotes and brackets, and the space "
      "behind each ':'");
  return {position_of(e.mark), std::move(message)};
}

}  // namespace

YamlDocument parse_yaml(std::string_view text) {
  YamlDocument document;
  take_prefix(text, "\xef\xbb\xbf");  // the byte order mark that some editors write
  if (auto problem = check_text(text)) {
    document.problems.push_back(std::move(*problem));
    return document;
  }
  try {
    // At the end of a line yaml-cpp closes an open quote silently, and a path would take in every
    // setting below it. Inside a line it complains: so the last line is always this comment.
    std::istringstream stream(std::string(text) + "\n#");
    YAML::Parser parser(stream);
    TreeBuilder builder(document);
    // The second call finds nothing, or what does not belong there: the builder stops it.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    document.readable = true;
  } catch (const Stop& stop) {
    document.problems.push_back(stop.problem);
  } catch (const YAML::Exception& e) {
    document.problems.push_back(syntax_problem(e));
  } catch (const std::exception& e) {
    document.problems.push_back({{}, "cannot be parsed: " + printable(e.what(), 120)});
  }
  return document;
}

}  // namespace jetmem
