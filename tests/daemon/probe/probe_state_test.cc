// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_state.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

SavedProbes some_state() {
  SavedProbes state;
  state.schedule.groups[0] = {minutes(7), minutes(5), minutes(10)};
  state.schedule.doublings = 3;
  state.process = {1234, 567890};
  return state;
}

TEST(ProbeState, IsReadAsItWasWritten) {
  for (const bool process : {true, false}) {
    SavedProbes state = some_state();
    if (!process) state.process.reset();
    const std::string text = to_text(state);
    EXPECT_LT(text.size(), 400U);
    const auto read = parse_probe_state(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, state);
  }
}

TEST(ProbeState, GarbageIsRefused) {
  const std::string text = to_text(some_state());
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut) {
    EXPECT_FALSE(parse_probe_state(text.substr(0, cut))) << cut;
  }
  const auto with = [&](const std::string& what, const std::string& other) {
    std::string changed = text;
    const std::size_t at = changed.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    changed.replace(at, what.size(), other);
    return parse_probe_state(changed).has_value();
  };
  EXPECT_TRUE(with("\"doublings\":3", "\"doublings\":4"));
  EXPECT_FALSE(with("\"doublings\":3", "\"doublings\":-3"));
  EXPECT_FALSE(with("\"doublings\":3", "\"doublings\":\"3\""));
  EXPECT_FALSE(with("\"last\":420000000000", "\"last\":-1"));
  EXPECT_FALSE(with("\"last\":420000000000", "\"last\":9223372036854775807"));
  EXPECT_FALSE(with("\"pause\":300000000000", "\"pause\":1e300"));
  EXPECT_FALSE(with("\"pid\":1234", "\"pid\":1"));
  EXPECT_FALSE(with("\"pid\":1234", "\"pid\":4294967297"));
  EXPECT_FALSE(parse_probe_state(text + std::string(SavedProbes::kMaxBytes, ' '))) << "bounded";
  EXPECT_FALSE(parse_probe_state("[]"));
}

std::string stat_line(const std::string& comm, const std::string& state, int threads) {
  return "4711 (" + comm + ") " + state + " 1 4711 4711 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 " +
         std::to_string(threads) + " 0 98765 10000 20\n";
}

TEST(ProbeState, AProcessIsReportedByNameAndStart) {
  const ProbeProcess process{4711, 98765};
  EXPECT_EQ(probe_process_of(stat_line("jetmem-probe", "D", 1)), process);
  EXPECT_EQ(probe_process_of(stat_line("jetmem", "S", 1)), std::nullopt);
  EXPECT_EQ(probe_process_of(stat_line("a) (jetmem-probe", "S", 1)), std::nullopt);
  EXPECT_EQ(probe_process_of(stat_line("jetmem-probe", "Z", 1)), std::nullopt) << "it is over";
  EXPECT_EQ(probe_process_of(stat_line("jetmem-probe", "Z", 2)), process) << "a thread hangs";
  EXPECT_EQ(probe_process_of("4711 (jetmem-probe) S 1"), std::nullopt);
  EXPECT_EQ(probe_process_of(""), std::nullopt);
  EXPECT_EQ(probe_process_of(")("), std::nullopt);
  EXPECT_EQ(find_probe_process(::getpid()), std::nullopt) << "another program";
  EXPECT_EQ(find_probe_process(-1), std::nullopt);
}

}  // namespace
}  // namespace jetmem
