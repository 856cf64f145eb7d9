// SPDX-License-Identifier: Apache-2.0
// Given this YAML, then these settings, or these errors with their place and fix.
#include "config/load.h"

#include <sstream>

#include "config/yaml_document.h"
#include "tests/config/config_fixture.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

TEST(Load, NothingSetMeansDefaults) {
  const Settings defaults = default_settings(test_sources());
  for (const std::string_view text : {"", "\n", "# only a comment\n", "---\n", "---\n...\n", "{}",
                                      "\xef\xbb\xbf", "  \t \n", "\t# tab before a comment\n"}) {
    EXPECT_EQ(good(text), defaults) << text;
  }
  EXPECT_EQ(good("\xef\xbb\xbflog:\r\n  level: error\r\n").log.level, LogLevel::kError);
  EXPECT_EQ(defaults.log.level, LogLevel::kInfo);
  ASSERT_EQ(defaults.http.listen.size(), 1U);
  EXPECT_EQ(defaults.http.listen[0].text(), "127.0.0.1:10743");
  ASSERT_NE(defaults.find_source("pagetypeinfo"), nullptr);
  EXPECT_EQ(defaults.find_source("pagetypeinfo")->interval, 5min);
  EXPECT_EQ(defaults.find_source("nosuch"), nullptr);
}

TEST(Load, AValueThatIsWrongLaterHasItsPlace) {
  const TempDir dir;
  const std::string path = dir.write("a.yaml", "log: {level: debug}\nalerts:\n  program: /x\n");
  const auto loaded = load_settings(std::array{ConfigFile{path}}, test_sources());
  ASSERT_TRUE(loaded);
  const ConfigError error = error_of_setting(*loaded, "alerts.program", "gone");
  EXPECT_EQ(error.line, 3);
  EXPECT_EQ(describe(error), path + ":3: alerts.program: gone");
  EXPECT_EQ(error_of_setting(*loaded, "probe.program", "gone").line, 0);
}

TEST(Load, EveryKindOfValue) {
  const Settings s = good(R"(
log: {level: debug}
http:
  listen: ["0.0.0.0:0", '[::]:10743', "unix:/run/jetmem/api.socket"]
  max_connections: 1024
  request_timeout: 1m30s
reader: {deadline: 100ms, socket: "", program: /opt/jetmem/jetmem-reader}
sources:
  meminfo: {enabled: false, interval: 250ms}
  pagetypeinfo:
    interval: 1h
)");
  EXPECT_EQ(s.log.level, LogLevel::kDebug);
  ASSERT_EQ(s.http.listen.size(), 3U);
  EXPECT_EQ(s.http.listen[1].text(), "[::]:10743");
  EXPECT_EQ(s.http.listen[2].host, "/run/jetmem/api.socket");
  EXPECT_EQ(s.http.max_connections, 1024U);
  EXPECT_EQ(s.http.request_timeout, 90s);
  EXPECT_EQ(s.reader.deadline, 100ms);
  EXPECT_EQ(s.reader.socket, "");
  EXPECT_EQ(s.reader.program, "/opt/jetmem/jetmem-reader");
  EXPECT_FALSE(s.find_source("meminfo")->enabled);
  EXPECT_EQ(s.find_source("meminfo")->interval, 250ms);
  EXPECT_TRUE(s.find_source("thermal")->enabled);
  EXPECT_EQ(s.find_source("pagetypeinfo")->interval, 1h);
}

struct BadValue {
  std::string text;
  std::string error;
};

TEST(Load, UnknownKeysNameTheNearest) {
  const BadValue cases[] = {
      {"sources:\n  meminfo:\n    intervall: 1s\n",
       "3:5 sources.meminfo.intervall 'sources.meminfo.interval'"},
      {"htpp: {}\n", "1:1 htpp 'http'"},
      {"sources: {meminof: {}}\n", "1:11 sources.meminof 'sources.meminfo'"},
      // The right name in the wrong place.
      {"max_wedged: 2\n", "1:1 max_wedged 'reader.max_wedged'"},
      // Nothing is near: say what there is.
      {"zzzzzzzzzzz: 2\n", "1:1 zzzzzzzzzzz"},
      {"sources: {gpu-temperatures: {}}\n", "1:11 sources.gpu-temperatures"},
      {"http.max_connections: 3\n", "1:1 http.max_connections"},
  };
  for (const BadValue& c : cases) EXPECT_EQ(places_of(c.text), "a.yaml:" + c.error) << c.text;
  EXPECT_THAT(errors_of("\"\": {log: {level: info}}\n"), HasSubstr("unknown key ''"));
  EXPECT_THAT(errors_of("\"log\\x1b[2J\": {}\n"), HasSubstr("unknown key 'log?[2J'"));
  EXPECT_THAT(errors_of("\"log\\0\": {}\n"), HasSubstr("unknown key 'log?'"));
}

TEST(Load, BadValuesAreReportedWithPlaceAndKey) {
  const std::vector<BadValue> cases{
      {"log: {level: verbose}", "1:14 log.level"},
      {"log: {level: Info}", "1:14 log.level 'info'"},
      {"log: {level: [info]}", "1:14 log.level"},
      {"http: {max_connections: 0}", "1:25 http.max_connections"},
      {"http: {max_connections: 99999999999999999999999}", "1:25 http.max_connections"},
      {"http: {max_connections: -5}", "1:25 http.max_connections"},
      {"http: {max_connections: \"64\"}", "1:25 http.max_connections"},
      {"http: {max_connections: 064}", "1:25 http.max_connections"},
      {"http: {max_connections: 0x40}", "1:25 http.max_connections"},
      {"http: {max_connections: 64.0}", "1:25 http.max_connections"},
      {"http:\n  request_timeout: 10", "2:20 http.request_timeout"},
      {"http:\n  request_timeout: 10ms", "2:20 http.request_timeout"},
      {"http:\n  request_timeout: {s: 10}", "2:20 http.request_timeout"},
      {"sources: {pagetypeinfo: {interval: 59s}}", "1:36 sources.pagetypeinfo.interval"},
      {"sources: {pagetypeinfo: {interval: 61m}}", "1:36 sources.pagetypeinfo.interval"},
      {"probe: {frame: 12}", "1:16 probe.frame"},
      {"probe: {frame: 1KiB}", "1:16 probe.frame"},
      {"probe: {frame: 257MiB}", "1:16 probe.frame"},
      {"probe: {frame: [12MiB]}", "1:16 probe.frame"},
      {"sources: {meminfo: {enabled: yes}}", "1:30 sources.meminfo.enabled"},
      {"sources: {meminfo: {enabled: Off}}", "1:30 sources.meminfo.enabled"},
      {"sources: {meminfo: {enabled: \"true\"}}", "1:30 sources.meminfo.enabled"},
      {"sources: {meminfo: {enabled: maybe}}", "1:30 sources.meminfo.enabled"},
      {"sources: {meminfo: false}", "1:20 sources.meminfo"},
      {"log:\n  level:debug\n", "2:3 log"},
      {"reader: {socket: run/x}", "1:18 reader.socket"},
      {"reader: {program: \"/a\\nb\"}", "1:19 reader.program"},
      {"reader: {socket: /" + std::string(107, 'x') + "}", "1:18 reader.socket"},
      {"[log]", "1:1 "},
      {"log level", "1:1 "},
      {"? [log]\n: {}\n", "1:3 "},
      // Null is no value.
      {"log:\n  level:\n", "2:3 log.level"},
      {"log:\n  level: ~\n", "2:3 log.level"},
      {"log:\n  level: null\n", "2:3 log.level"},
      {"log:\nhttp: {}\n", "1:1 log"},
      // The same key twice.
      {"log:\n  level: info\nlog:\n  level: debug\n", "3:1 log"},
      {"sources:\n  meminfo:\n    interval: 1s\n    'interval': 2s\n",
       "4:5 sources.meminfo.interval"},
  };
  for (const BadValue& c : cases) EXPECT_EQ(places_of(c.text), "a.yaml:" + c.error) << c.text;
}

TEST(Load, ListenAddresses) {
  EXPECT_TRUE(good("http: {listen: []}").http.listen.empty());
  EXPECT_EQ(good("http:\n  listen:\n    - 127.0.0.1:0\n    - 127.0.0.1:0\n").http.listen.size(),
            2U);
  const std::vector<BadValue> cases{
      {"localhost:80", "is not a numeric address"},
      {"127.0.0.1", "has no port"},
      {"127.0.0.1:", "has no valid port"},
      {"127.0.0.1:65536", "has no valid port"},
      {"127.0.0.1:+80", "has no valid port"},
      {"127.0.0.1: 80", "has no valid port"},
      {"127.0.0.256:80", "is not a numeric address"},
      {":80", "names no address"},
      {"*:80", "names no address"},
      {"::1:80", "put the address in brackets"},
      {"[::1:80", "lacks the closing ']'"},
      {"[::g]:80", "is not an IPv6 address"},
      {"[127.0.0.1]:80", "is not an IPv6 address"},
      {"[::1]80", "has no port"},
      {"unix:run/x", "needs an absolute path"},
      {"unix:", "needs an absolute path"},
      {"/run/x", "write unix: in front"},
      {"unix:/" + std::string(107, 'x'), "more than 107 bytes"},
      {"127.0.0.1\\0:80", "NUL"},
      {"", "has no port"},
  };
  for (const BadValue& c : cases) {
    const std::string text = "http: {listen: [\"" + c.text + "\"]}";
    EXPECT_THAT(
        errors_of(text),
        AllOf(HasSubstr("a.yaml:1:17: http.listen item 1 is not usable: '"), HasSubstr(c.error)));
  }
  // Unquoted, this is a list within the list to YAML; and one address is no list.
  EXPECT_THAT(errors_of("http: {listen: [[::1]]}"), HasSubstr("put it in quotes"));
  EXPECT_THAT(errors_of("http: {listen: 127.0.0.1:1}"), HasSubstr("write it in brackets"));
  EXPECT_EQ(errors_of("http:\n  listen:\n  - \"[::1]:1\"\n  -\n  - \"[0:0::1]:1\"\n"),
            "a.yaml:5:3: http.listen item 2 must be an address such as 127.0.0.1:10743, "
            "[::1]:10743 or unix:/run/jetmem/api.socket, found no value\n"
            "a.yaml:5:5: http.listen item 3 repeats \"[::1]:1\"; remove it\n");
  std::string many = "http: {listen: [";
  for (int i = 0; i < 17; ++i) many += "\"127.0.0.1:0\", ";
  EXPECT_THAT(errors_of(many + "]}"), HasSubstr("at most 16 items, found 17"));
}

TEST(Load, AllErrorsAreCollectedInTheOrderOfTheLines) {
  EXPECT_EQ(places_of("http:\n  max_connections: many\n  nonsense_here: 1\nlog: {level: *x}\n"
                      "lgo: &x {}\n"),
            "a.yaml:4:14 ");
  EXPECT_EQ(places_of("http:\n  max_connections: many\n  nonsense_here: 1\nlgo: &x {}\n"),
            "a.yaml:2:20 http.max_connections\na.yaml:3:3 http.nonsense_here\na.yaml:4:1 lgo "
            "'log'\na.yaml:4:6 ");
  const std::array texts{ConfigText{"a.yaml", "log: {level: no}"}, ConfigText{"b.yaml", "x: ["},
                         ConfigText{"c.yaml", "log: {levle: info}"}};
  const auto loaded = parse_settings(texts, test_sources());
  ASSERT_FALSE(loaded);
  ASSERT_EQ(loaded.error().size(), 3U);
  EXPECT_EQ(loaded.error()[0].key, "log.level");
  EXPECT_EQ(loaded.error()[1].file, "b.yaml");
  EXPECT_EQ(loaded.error()[2], (ConfigError{"c.yaml", 1, 7, "log.levle",
                                            "unknown key 'log.levle'; did you mean 'log.level'?"}));
}

TEST(Load, ErrorsAreBounded) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "x" + std::to_string(i) + ": 1\n";
  const auto loaded = parse_text(text);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().size(), 101U);
  EXPECT_THAT(loaded.error().back().message, HasSubstr("more errors"));
}

TEST(Load, LaterFilesOverrideKeyByKey) {
  const std::array texts{
      ConfigText{"a.yaml", "http:\n  listen: ['127.0.0.1:1', '127.0.0.1:2']\n  max_connections: 5"},
      ConfigText{"b.yaml", "\n\nhttp:\n  listen: ['127.0.0.1:3']\n"}};
  const auto loaded = parse_settings(texts, test_sources());
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->values.http.listen.size(), 1U);
  EXPECT_EQ(loaded->values.http.listen[0].port, 3);
  EXPECT_EQ(loaded->values.http.max_connections, 5U);
  EXPECT_EQ(loaded->origins.at("http.listen"), "b.yaml:4");
  EXPECT_EQ(loaded->origins.at("http.max_connections"), "a.yaml:3");
  EXPECT_EQ(loaded->origins.at("http.request_timeout"), "default");
  EXPECT_EQ(loaded->origins.at("sources.thermal.interval"), "default");
}

TEST(Load, WhatYamlOffersBeyondSettingsAndBinaryAreRefused) {
  const std::vector<BadValue> cases{
      {"log: &a {level: info}\n", "1:6: anchors (&name) are not supported; write each value out"},
      {"log:\n  level: !!str info\n", "2:10: tags are not supported; remove 'tag:yaml.org"},
      {"log: !evil {level: info}\n", "1:6: tags are not supported; remove '!evil'"},
      {"reader: &a {max_wedged: 2}\nlog:\n  <<: *a\n", "3:3: merge keys (<<) are not supported"},
      {"reader: &a {max_wedged: 2}\nlog:\n  level: *a\n", "3:10: aliases (*name) are not"},
      {"log:\n  level: *unknown\n", "2:10: aliases (*name) are not supported; write the value out"},
      {"log: {level: info}\n---\nlog: {level: debug}\n", "2:1: text after the end of the settings"},
      {"log: {level: info}\n---\n", "text after the end of the settings"},
      {"{log: {level: info}}\nhttp: {}\n", "a.yaml:"},
      {"log: {level: info}\n- http\n", "a.yaml:"},
      {"log: {level: info}}\n", "1:19: not valid YAML"},
      {"log: {level: info\n", "not valid YAML"},
      {"log: \"info\n", "never closed"},
      {"log:\n\tlevel: info\n", "2:1: a tab in the indentation; YAML wants spaces"},
      {"log:\n  level: info\n   extra: 1\n", "3:9: not valid YAML"},
      {"%YAML 3.0\n---\nlog: {}\n", "not valid YAML"},
      // U+0004 is the end of the file to yaml-cpp: what follows would be dropped silently.
      {"log: {}\n\x04htpp: {}\n", "a.yaml:2:1: a control character"},
      {{"l\0o\0g\0", 6}, "1:2: a control character"},
      {"\xff\xfel\0o\0g\0", "1:1: not valid UTF-8"},
      {"log: {}\nhttp: \xc3(", "2:7: not valid UTF-8"},
      {"log: {}\rhttp: {}\n", "1:8: a control character"},
      {"log: caf\xc3\xa9\n", "found 'caf\xc3\xa9'"},
      {"log: \x7f", "1:6: a control character"},
  };
  for (const BadValue& c : cases) EXPECT_THAT(errors_of(c.text), HasSubstr(c.error)) << c.text;
}

TEST(Load, AnOpenQuoteDoesNotSwallowTheSettingsBelow) {
  for (const std::string_view rest : {"\"", "'", "\"\n", "\"/x", "\"/x\n", "'/x\n\n", "'/x''\n",
                                      "\"/x\\\n", "\"/x \t\nlog: {}\n"}) {
    EXPECT_THAT(errors_of("reader:\n  program: " + std::string(rest)),
                HasSubstr("a.yaml: not valid"))
        << rest;
  }
  EXPECT_EQ(good("reader:\n  program: '/x'").reader.program, "/x");
}

TEST(Load, BombsAreDefused) {
  // Each line means ten times the one before: 10^9 words when expanded.
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string alias = "*a" + std::to_string(i - 1);
    bomb.append(name).append(": &").append(name).append(" [").append(alias);
    for (int j = 0; j < 9; ++j) bomb.append(",").append(alias);
    bomb.append("]\n");
  }
  EXPECT_THAT(errors_of(bomb), HasSubstr("aliases (*name) are not supported"));

  // Of what yaml-cpp would hold in memory it sees nothing.
  constexpr std::size_t kMany = 30'000;
  const std::tuple<std::string_view, std::size_t, const char*> repeated[] = {
      {"[", kMany, "a.yaml:1:101: more than 100 brackets"},
      {"{a: ", kMany, "more than 100 brackets"},
      {"[{\n", kMany, "a.yaml:51:1: more than 100 brackets"},
      {"{? ", kMany, "more than 100 brackets"},
      {"[", 40, "more than 32 levels"},
      {"- ", kMany, "more than 32 levels"},
      {"? ", kMany, "more than 32 levels"},
      {"- a\n", kMany, "more than 20000 values"},
      {"]", kMany, "not valid YAML"},
      {"x", kMaxYamlBytes, "must be a map"},
      {"x", kMaxYamlBytes + 1, "larger than 128 KiB"},
      {"&a ", kMany, "not valid YAML"},
      {"--- ", kMany, "a.yaml:"}};
  for (const auto& [piece, count, error] : repeated) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text.append(piece);
    EXPECT_THAT(errors_of(text), HasSubstr(error)) << piece;
  }
}

TEST(ShowSettings, SaysWhereEachValueComesFrom) {
  const auto loaded = parse_text("reader:\n  program: '/opt/it''s \"x\"\\y'\nhttp: {listen: []}\n");
  ASSERT_TRUE(loaded) << describe(loaded.error());
  const std::string shown = show_settings(*loaded);
  for (const char* part :
       {"log:\n  level: info  # default\n", "http:\n  listen: []  # a.yaml:3\n",
        "\n  program: \"/opt/it's \\\"x\\\"\\\\y\"  # a.yaml:2\n", "\n  frame: 12MiB  # default\n",
        "sources:\n  meminfo:\n    enabled: true  # default\n    interval: 1s  # default\n"}) {
    EXPECT_THAT(shown, HasSubstr(part));
  }
  // Each line is a section or a value with its origin.
  std::istringstream lines(shown);
  std::size_t sections = 0;
  std::size_t defaults = 0;
  std::size_t all = 0;
  for (std::string line; std::getline(lines, line); ++all) {
    if (line.ends_with(':')) ++sections;
    if (line.ends_with("  # default")) ++defaults;
  }
  EXPECT_EQ(all, sections + defaults + 2);
  EXPECT_EQ(good(shown), loaded->values);
  const auto odd = parse_text(
      "log: {level: trace}\nhttp: {listen: ['[::1]:0', 'unix:/run/caf\xc3\xa9 #1: \"\\'], "
      "request_timeout: 61500ms}\nsources: {thermal: {enabled: false, interval: 1s500ms}}\n");
  ASSERT_TRUE(odd) << describe(odd.error());
  EXPECT_EQ(good(show_settings(*odd)), odd->values);
}

}  // namespace
}  // namespace jetmem
