// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/tegrastats_program.h"

#include "daemon/children/latest_line.h"
#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

TEST(NewestLine, OnlyWholeLinesAndOfManyTheNewest) {
  NewestLine line;
  line.feed("RAM 1");
  EXPECT_EQ(line.line(), "");
  line.feed("0/20MB\nRAM 2");
  EXPECT_EQ(line.line(), "RAM 10/20MB\n");
  line.take();
  EXPECT_EQ(line.line(), "");
  line.feed("\n");
  EXPECT_EQ(line.line(), "RAM 2\n");
  EXPECT_EQ(line.lines(), 2U);
  EXPECT_EQ(line.superseded(), 0U);
  line.take();
  line.feed("a\nb\nc\nd");
  EXPECT_EQ(line.line(), "c\n");
  EXPECT_EQ(line.superseded(), 2U);
  line.feed("e\nhalf of");
  EXPECT_EQ(line.line(), "de\n");
  EXPECT_EQ(line.superseded(), 3U);
  // Another stream begins anew.
  line.restart();
  line.feed("b\n");
  EXPECT_EQ(line.line(), "b\n");
  EXPECT_EQ(line.superseded(), 3U);
}

TEST(NewestLine, OneWithoutAnEndIsDroppedOnceAndCounted) {
  NewestLine line;
  line.feed("first\n");
  for (int i = 0; i < 100; ++i) line.feed(std::string(10'000, 'x'));
  EXPECT_EQ(line.too_long(), 1U);
  EXPECT_EQ(line.line(), "first\n");
  line.feed("its end\nlast\n");
  EXPECT_EQ(line.line(), "last\n");
  EXPECT_EQ(line.lines(), 2U);
  line.feed(std::string(NewestLine::kMaxLine - 1, 'y') + "\n");
  EXPECT_EQ(line.line().size(), NewestLine::kMaxLine);
  line.feed(std::string(NewestLine::kMaxLine, 'y') + "\n");
  EXPECT_EQ(line.too_long(), 2U);
}

class TegrastatsProgramTest : public ProgramRunning {
 protected:
  void start(const std::string& body, milliseconds interval) {
    Settings settings;
    settings.tegrastats.program = script(body);
    settings.sources.push_back({"tegrastats", true, interval});
    program = std::make_unique<TegrastatsProgram>(ProgramContext{
        clock, spawner, log,
        [this](std::string_view, Result<const Snapshot*> snapshot, Nanoseconds) {
          lines.push_back(snapshot ? std::string((**snapshot)[0].text) : snapshot.error().message);
        }});
    ASSERT_TRUE(program->start(loop));
    program->apply(settings);
    program->due();
  }

  std::unique_ptr<TegrastatsProgram> program;
  std::vector<std::string> lines;
};

// Whoever reads the page takes it for what was so a moment ago.
TEST_F(TegrastatsProgramTest, ALineThatWasHeldBackIsNotNewLater) {
  start("echo first; sleep 0.2; echo second; sleep 1.3; echo third; sleep 1000",
        milliseconds(1000));
  ASSERT_TRUE(run_until([this] { return !lines.empty(); }));
  run_for(900);
  program->due();
  EXPECT_EQ(lines, std::vector<std::string>{"first\n"});
  ASSERT_TRUE(run_until([this] { return lines.size() >= 2; }));
  EXPECT_EQ(lines.back(), "third\n");
  EXPECT_EQ(
      value_of(*program,
               "jetmem_program_lost_lines_total{program=\"tegrastats\",reason=\"superseded\"}"),
      1)
      << "it was not looked at, and is counted";
}

}  // namespace
}  // namespace jetmem
