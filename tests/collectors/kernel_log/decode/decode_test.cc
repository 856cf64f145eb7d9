// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/decode/decode.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "collectors/kernel_log/families/common/family.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kKill = "Out of memory: Killed process 9 (a) total-vm:9kB, anon-rss:8kB";

TEST(Decode, TheFilterHidesNothing) {
  std::size_t files = 0;
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
      // A beginning of a line is a line that was cut off.
      for (std::size_t size = line.size() % 3; size <= line.size(); size += 3) {
        Event with;
        Event without;
        const auto a = decode_line(line.substr(0, size), Voice::kUnknown, with);
        const auto b = decode_line_unfiltered(line.substr(0, size), Voice::kUnknown, without);
        ASSERT_EQ(a.piece.role, b.piece.role) << line.substr(0, size);
        ASSERT_EQ(a.family, b.family) << line.substr(0, size);
        if (a.family != nullptr) {
          ASSERT_EQ(fields_of(with), fields_of(without));
        }
      }
    }
  }
  EXPECT_GT(files, 0U);
}

TEST(Decode, OnlyTheKernelIsBelieved) {
  Event event;
  EXPECT_EQ(decode_line(kKill, Voice::kKernel, event).piece.role, Role::kWhole);
  EXPECT_EQ(decode_line(kKill, Voice::kUnknown, event).piece.role, Role::kWhole);
  EXPECT_EQ(decode_line(kKill, Voice::kForeign, event).piece.role, Role::kNothing);
  EXPECT_EQ(decode_line(kKill, Voice::kProcess, event).piece.role, Role::kNothing);
}

TEST(Decode, WhatTheKernelPrintsForInformationIsNotKnownByWords) {
  constexpr std::uint8_t kWarning = 4;
  constexpr std::uint8_t kInfo = 6;
  Event event;
  for (const std::string_view line :
       {"foo 1a00000.bar: failed to allocate DMA memory",
        "tegra-capture-vi 1a00000.vi: capture failed somehow"}) {
    EXPECT_NE(decode_line(line, Voice::kKernel, event).piece.role, Role::kNothing) << line;
    EXPECT_NE(decode_line(line, Voice::kKernel, event, kWarning).piece.role, Role::kNothing)
        << line;
    EXPECT_EQ(decode_line(line, Voice::kKernel, event, kInfo).piece.role, Role::kNothing) << line;
  }
  // A message of a form of its own is one at any priority.
  for (const std::string_view line : {kKill, std::string_view("[drm] Resetting GPU.")}) {
    EXPECT_NE(decode_line(line, Voice::kKernel, event, kInfo).piece.role, Role::kNothing) << line;
  }
}

TEST(Decode, AnchorsAreLongEnoughForTheFilter) {
  for (const Family* family : all_families()) {
    for (const std::string_view anchor : family->anchors) EXPECT_GE(anchor.size(), 5U) << anchor;
  }
}

TEST(Decode, EveryKindOfTheseFamiliesIsDescribed) {
  for (const Family* family :
       {&kOom, &kAllocation, &kCma, &kDmaMemory, &kMemoryError, &kSwap, &kRateLimit}) {
    std::ifstream in(std::string(JETMEM_FIXTURES "/kernel-log/") + std::string(family->name) +
                     ".txt");
    std::size_t seen = 0;
    for (std::string line; std::getline(in, line);) {
      for (const Event& event : events_of(line)) {
        ++seen;
        EXPECT_FALSE(describe(event).empty()) << line;
      }
    }
    EXPECT_GT(seen, 0U) << family->name;
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
