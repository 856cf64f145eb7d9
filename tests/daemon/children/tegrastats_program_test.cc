// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/tegrastats_program.h"

#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

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
