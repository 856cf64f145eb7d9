// SPDX-License-Identifier: Apache-2.0
// The table of settings, and the shipped file that must hold all of it.
#include "config/schema.h"

#include <set>

#include "base/text/text.h"
#include "collectors/sampler/registry.h"
#include "tests/config/config_fixture.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Schema, DeclarationsAreConsistent) {
  const Schema schema(test_sources());
  const Settings defaults = default_settings(test_sources());
  std::set<std::string> keys;
  for (const Setting& setting : schema.settings()) {
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key << " is declared twice";
    EXPECT_FALSE(schema.is_section(setting.key)) << setting.key;
    EXPECT_EQ(schema.find(setting.key), &setting);
    // The default is itself allowed, and comes back from what is shown.
    const YamlDocument document = parse_yaml("x: " + setting.show(defaults));
    ASSERT_TRUE(document.readable) << setting.key;
    Settings copy = defaults;
    ValueProblems problems;
    setting.read(document.root.items.at(0), copy, problems);
    EXPECT_TRUE(problems.empty()) << setting.key << " " << problems.front().message;
    EXPECT_EQ(copy, defaults) << setting.key;
  }
}

TEST(Restart, NamesTheKeysAndKeepsTheirRunningValues) {
  const Settings running = default_settings(test_sources());
  Settings needed = running;
  EXPECT_THAT(keys_that_need_restart(running, needed), ElementsAre());

  needed.log.level = LogLevel::kTrace;
  needed.reader.deadline = 1s;
  needed.sources[0].enabled = false;
  EXPECT_THAT(keys_that_need_restart(running, needed), ElementsAre());
  EXPECT_EQ(applicable_without_restart(running, needed), needed);

  Settings more = needed;
  more.http.listen.clear();
  more.http.max_connections = 1;
  more.http.request_timeout = 1s;
  more.reader.socket = "";
  more.reader.program = "/x";
  EXPECT_THAT(keys_that_need_restart(running, more),
              ElementsAre("http.listen", "http.max_connections", "http.request_timeout",
                          "reader.socket", "reader.program"));
  EXPECT_EQ(applicable_without_restart(running, more), needed);
  // Settings that know no sources are no reason to crash.
  EXPECT_THAT(keys_that_need_restart(Settings{}, running), ElementsAre());
  EXPECT_THAT(keys_that_need_restart(running, Settings{}), ElementsAre());
}

class ShippedFile : public testing::Test {
 protected:
  void SetUp() override {
    auto text = read_config_file(JETMEM_FIXTURES "/../../config/jetmem.yaml");
    ASSERT_TRUE(text) << text.error().message;
    text_ = *text;
  }

  // The comment right above a line, in one line.
  std::string comment_above(std::size_t line_number) const {
    std::string comment;
    std::string_view line;
    for (Lines lines(text_); lines.next(line) && lines.number() < line_number;) {
      std::string_view rest = trim(line);
      if (take_prefix(rest, "#")) {
        comment.append(rest);
      } else {
        comment.clear();
      }
    }
    return comment;
  }

  const std::vector<KnownSource> sources_ = known_sources();
  std::string text_;
};

TEST_F(ShippedFile, HasEveryKeyAtItsDefaultWithRangeAndRestart) {
  const std::array texts{ConfigText{"jetmem.yaml", text_}};
  const auto loaded = parse_settings(texts, sources_);
  ASSERT_TRUE(loaded) << describe(loaded.error());
  const Settings defaults = default_settings(sources_);
  EXPECT_TRUE(loaded->values == defaults);
  const Schema schema(sources_);
  for (const Setting& setting : schema.settings()) {
    SCOPED_TRACE(setting.key);
    EXPECT_EQ(setting.show(loaded->values), setting.show(defaults));
    std::string_view origin = loaded->origins.at(setting.key);
    ASSERT_TRUE(take_prefix(origin, "jetmem.yaml:")) << "is missing";
    if (setting.key.starts_with("sources.")) continue;  // described once for all
    const std::string comment = comment_above(*parse_u64(origin));
    std::string allowed = setting.allowed;
    // Sentences may begin with it.
    if (comment.find(allowed) == std::string::npos) allowed[0] = static_cast<char>(allowed[0] - 32);
    EXPECT_THAT(comment, HasSubstr(allowed));
    EXPECT_EQ(comment.find("Needs a restart.") != std::string::npos,
              setting.applies == Applies::kAtRestart);
  }
}

}  // namespace
}  // namespace jetmem
