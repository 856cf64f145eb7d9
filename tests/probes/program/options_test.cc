// SPDX-License-Identifier: Apache-2.0
#include "probes/program/options.h"

#include <gmock/gmock.h>

#include <iterator>

namespace jetmem::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Outcome {
  Parsed parsed;
  Options options;
  std::string problem;
};
Outcome parse(const std::vector<std::string>& arguments,
              OptionSource source = OptionSource::kCommandLine) {
  Outcome outcome;
  outcome.parsed = parse_options(arguments, source, outcome.options, outcome.problem);
  return outcome;
}

TEST(ProbeOptions, NothingIsEverythingAtItsDefault) {
  const Outcome outcome = parse({});
  EXPECT_EQ(outcome.parsed, Parsed::kRun);
  EXPECT_EQ(outcome.options.kinds.size(), std::size(kKinds));
  EXPECT_EQ(outcome.options.frame_bytes, 12U << 20);
  EXPECT_FALSE(outcome.options.any_heap);
  // Kinds run in their own order and once.
  EXPECT_THAT(parse({"--kinds", "device,host,device"}).options.kinds,
              ElementsAre("host", "device"));
  for (const char* kind : kKinds) EXPECT_THAT(kHelp, HasSubstr(kind));
}

TEST(ProbeOptions, Values) {
  const Outcome outcome =
      parse({"--frame", "4096", "--largest-run", "linux,cma=5", "--largest-run", "a=b=7",
             "--bisect", "1", "--deadline", "600", "--any-heap", "--progress", "--heaps", "/h"});
  EXPECT_EQ(outcome.parsed, Parsed::kRun) << outcome.problem;
  EXPECT_EQ(outcome.options.frame_bytes, 4096U);
  EXPECT_EQ(outcome.options.largest_runs.at("linux,cma"), 5U);
  EXPECT_EQ(outcome.options.largest_runs.at("a=b"), 7U);
  EXPECT_EQ(outcome.options.deadline_seconds, 600U);
  EXPECT_EQ(outcome.options.heap_directory, "/h");
}

TEST(ProbeOptions, WhatIsWrongIsNamed) {
  const auto expect_wrong = [](const std::vector<std::string>& arguments) {
    const Outcome outcome = parse(arguments);
    EXPECT_EQ(outcome.parsed, Parsed::kInvalid) << arguments[0];
    EXPECT_THAT(outcome.problem, HasSubstr(arguments[0]));
  };
  const std::pair<const char*, std::vector<const char*>> values[] = {
      {"--kinds", {"", "host,", "hosts"}},
      {"--frame", {"4095", "268435457", "-1", "12M", " 4096", "99999999999999999999"}},
      {"--bisect", {"0"}},
      {"--deadline", {"0", "601"}},
      {"--largest-run", {"=1", "a", "a=", "a=x"}},
      {"--heaps", {"relative"}},
      {"--udmabuf", {""}}};
  for (const auto& [name, wrong] : values) {
    for (const char* value : wrong) expect_wrong({name, value});
  }
  for (const char* alone : {"--frame", "--unknown", "host", "", "--request"}) expect_wrong({alone});
}

TEST(ProbeOptions, AProblemIsPrintableAndShort) {
  const std::string hostile = "\x1b[2J\n" + std::string(100'000, 'x') + "\xff";
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {hostile}, {"--frame", hostile}, {"--kinds", hostile}, {"--largest-run", hostile}}) {
    const std::string problem = parse(arguments).problem;
    EXPECT_LT(problem.size(), 400U);
    for (const char c : problem) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

// The socket's peer may be somebody with fewer rights than this program.
TEST(ProbeOptions, ARequestNamesNoFiles) {
  for (const char* name : {"--heaps", "--udmabuf", "--libraries"}) {
    EXPECT_EQ(parse({name, "/x"}, OptionSource::kCommandLine).parsed, Parsed::kRun);
    EXPECT_EQ(parse({name, "/x"}, OptionSource::kRequest).parsed, Parsed::kInvalid);
  }
  EXPECT_EQ(parse({"--frame", "65536", "--any-heap"}, OptionSource::kRequest).parsed, Parsed::kRun);
}

TEST(ProbeOptions, AreasAreBounded) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 65; ++i) {
    arguments.emplace_back("--largest-run");
    arguments.push_back("area" + std::to_string(i) + "=1");
  }
  EXPECT_EQ(parse(arguments).parsed, Parsed::kInvalid);
  arguments.resize(128);
  EXPECT_EQ(parse(arguments).parsed, Parsed::kRun);
}

}  // namespace
}  // namespace jetmem::probe
