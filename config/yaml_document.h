// SPDX-License-Identifier: Apache-2.0
// A YAML file as a small tree that knows where each value stands.
//
// yaml-cpp's own Node is not used: it keeps the first of two equal keys silently, expands aliases
// (a few lines can mean gigabytes) and takes tags as hints. Its parser's events give all of that
// away before it happens. This is the only file that calls yaml-cpp; its exceptions end here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jetmem {

struct Position {
  int line = 0;  // from 1; 0 means the file as a whole
  int column = 0;
  bool operator==(const Position&) const = default;
};

struct YamlNode {
  enum class Kind {
    kNull,
    kScalar,
    kList,
    kMap,
    kRefused,  // an alias: already among the problems
  };

  Kind kind = Kind::kNull;
  bool quoted = false;  // "true" in quotes is text, not a boolean
  Position at;
  std::string text;             // of a scalar
  std::vector<YamlNode> keys;   // of a map, as many as items; equal ones are all here
  std::vector<YamlNode> items;  // of a list, or a map's values
};

struct YamlProblem {
  Position at;
  std::string message;
};

struct YamlDocument {
  YamlNode root;  // null for an empty file
  std::vector<YamlProblem> problems;
  bool readable = false;  // false: the problems are all there is, `root` means nothing
};

// yaml-cpp holds up to 250 bytes for each byte of a bracket that nobody closes, and finds out how
// deep a text is only when it has all of it: both are bounded before it sees any.
constexpr std::size_t kMaxYamlBytes = 128U << 10;
constexpr int kMaxYamlOpenBrackets = 100;  // also those in comments and quotes
constexpr int kMaxYamlDepth = 32;
constexpr std::size_t kMaxYamlNodes = 20'000;

YamlDocument parse_yaml(std::string_view text);

}  // namespace jetmem
