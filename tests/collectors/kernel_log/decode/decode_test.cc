// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/decode/decode.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "collectors/kernel_log/text/line_parts.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

void expect_same_unfiltered(std::string_view line) {
  Event with;
  Event without;
  const auto a = decode_line(line, Voice::kUnknown, with);
  const auto b = Catalogue::shipped().decode_unfiltered(
      without_vendor_prefix(line.substr(0, kMaxLine)), Voice::kUnknown, without);
  ASSERT_EQ(a.piece.role, b.piece.role) << line;
  ASSERT_EQ(a.message, b.message) << line;
  if (a.message != nullptr) {
    ASSERT_EQ(fields_of(with), fields_of(without)) << line;
  }
}

TEST(Decode, TheFilterHidesNothing) {
  std::size_t files = 0;
  std::size_t cuts = 0;
  for (const auto& file : std::filesystem::directory_iterator(JETMEM_FIXTURES "/kernel-log")) {
    if (!file.is_regular_file()) continue;
    ++files;
    std::ifstream in(file.path());
    std::stringstream text;
    text << in.rdbuf();
    const std::string all = text.str();
    Lines lines(all);
    std::string_view line;
    while (lines.next(line)) {
      expect_same_unfiltered(line);
      // Beginnings and ends, as a full log buffer or a bad copy cuts lines. Each is tried on all
      // forms, so not all are: other places in each line.
#ifdef JETMEM_QUICK
      constexpr std::size_t kStep = 100;
#else
      constexpr std::size_t kStep = 17;
#endif
      for (std::size_t at = ++cuts % kStep; at < line.size(); at += kStep) {
        expect_same_unfiltered(line.substr(0, at));
        expect_same_unfiltered(line.substr(at));
      }
    }
  }
  EXPECT_GT(files, 0U);
}

// A guess needs a driver in front, the kernel's voice and a warning at least.
TEST(Decode, GuessesAreOfTheKernelsWarningsAlone) {
  const auto guessed = [](std::string_view text, Voice voice, std::optional<std::uint8_t> level) {
    LogLine line;
    line.text = text;
    line.voice = voice;
    line.level = level;
    Event event;
    return guess_line(line, event).piece.role != Role::kNothing && event.is_guess();
  };
  constexpr std::string_view kLine = "foo 1a00000.bar: failed to allocate DMA memory";
  EXPECT_TRUE(guessed(kLine, Voice::kKernel, 4));
  EXPECT_TRUE(guessed(kLine, Voice::kKernel, {}));
  EXPECT_FALSE(guessed(kLine, Voice::kKernel, 6));
  EXPECT_FALSE(guessed(kLine, Voice::kUnknown, {})) << "without a time it may be a program's";
  EXPECT_FALSE(guessed(kLine, Voice::kProcess, 3));
  for (const std::string_view line :
       {"failed to allocate DMA memory", "foo 1a00000.bar: unable to set coherent DMA mask"}) {
    EXPECT_FALSE(guessed(line, Voice::kKernel, 3)) << line;
  }
}

// And what jetmem says of an event is no further one.
TEST(Decode, EveryEventOfTheseIsDescribed) {
  const auto described = [](std::string_view text, Soc soc) {
    const std::vector<Event> events = events_of(text, soc);
    for (const Event& event : events) {
      const std::string sentence = describe(event);
      EXPECT_FALSE(sentence.empty()) << text;
      Event again;
      EXPECT_EQ(decode_line(sentence, Voice::kUnknown, again).piece.role, Role::kNothing);
    }
    return events;
  };
  std::map<EventKind, int> count;
  for (const std::string name : {"oom", "allocation", "cma", "dma_memory", "memory_controller",
                                 "memory_error", "swap", "rate_limit", "smmu"}) {
    std::ifstream in(JETMEM_FIXTURES "/kernel-log/" + name + ".txt");
    std::string all;
    for (std::string line; std::getline(in, line); all += line + "\n") {
      described(line, Soc::kUnknown);
    }
    const std::vector<Event> events = described(all, Soc::kTegra234);
    EXPECT_FALSE(events.empty()) << name;
    for (const Event& event : events) ++count[event.kind()];
  }
  EXPECT_EQ(count[EventKind::kMcError], 16);
  EXPECT_EQ(count[EventKind::kSmmuContextFault], 14);
  EXPECT_EQ(count[EventKind::kSmmuGlobalFault], 3);
  EXPECT_EQ(count[EventKind::kSmmuV3Event], 5);
  EXPECT_EQ(count[EventKind::kSmmuError], 12);
}

}  // namespace
}  // namespace jetmem::kernel_log
