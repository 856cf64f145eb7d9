// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/reduce_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/text/text.h"
#include "collectors/device/boot/pstore.h"
#include "collectors/kernel_log/text_log.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::LogLine;
using kernel_log::Voice;

std::string reduced(std::string_view text, Voice voice = Voice::kKernel) {
  Redacted counts;
  LogLine line;
  line.text = text;
  line.voice = voice;
  return LogReducer(nullptr, counts).message(line).value_or("nothing");
}

std::string log_of(std::string_view text) {
  Redacted counts;
  return LogReducer(nullptr, counts).kernel_log(text);
}

std::string crash(std::string_view text, std::string_view name = "dmesg-ramoops-0") {
  Redacted counts;
  return LogReducer(nullptr, counts).crash_record(name, text);
}

// "kind message size" of each event.
std::vector<std::string> events_of(std::string_view text) {
  std::vector<std::string> out;
  kernel_log::TextLog log(kernel_log::Soc::kUnknown, [&](const Event& event, std::string_view) {
    out.push_back(std::string(kernel_log::info_of(event.kind()).name) + " " +
                  std::string(kernel_log::message_id(event)) + " " + std::to_string(event.size()) +
                  " " + std::string(event.text("dev")) + std::string(event.text("comm")));
  });
  log.feed(text);
  log.finish();
  return out;
}

TEST(ReduceLog, KeepsWhatIsDecoded) {
  const std::string fault =
      "arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=0x7fff0000, "
      "fsynr=0x110011, cbfrsynra=0x1001, cb=2";
  EXPECT_EQ(reduced(fault), fault);
  const std::string kill =
      "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
      "task_memcg=/system.slice/camera@front.service,task=gst-launch-1.0,pid=2215,uid=1000";
  EXPECT_EQ(reduced(kill), kill) << "names of tasks and units are what it is about";
}

TEST(ReduceLog, NothingElseIsTaken) {
  for (const char* line :
       {"usb 1-1: SerialNumber: A1B2C3", "wlan0: associated with HomeNet",
        "EXT4-fs (nvme0n1p1): mounted filesystem r/w", "Kernel command line: token=x cma=1G",
        "Linux version 6.8.12 (builder@host7) (gcc)"}) {
    EXPECT_EQ(reduced(line), "nothing") << line;
  }
  EXPECT_EQ(log_of("14,7,99,-;secret\n SUBSYSTEM=usb\n DEVICE=+usb:1-1\n"),
            "14,7,99,-;<6 bytes omitted>\n");
  EXPECT_EQ(log_of("[   12.345678] usb 1-1: Product: X\n"), "[   12.345678] <19 bytes omitted>\n");
}

TEST(ReduceLog, FreeTextKeepsWordsAndNumbers) {
  EXPECT_EQ(reduced("Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b"),
            "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b");
  for (const char* secret :
       {"rtsp://admin:pw@10.1.2.3/s", "ann@acme.example", "ghp_16C7e42F292c6912E7710c838347Ae",
        "AKIAIOSFODNN7EXAMPLE", "356938035643809", "8931440301234567890", "password=hunter2",
        "6D7973716C002D2D70617373776F7264", "/home/ann/run", "S4EVNF0M123456"}) {
    const std::string text =
        reduced("Kernel panic - not syncing: broken " + std::string(secret) + ", stop");
    const std::string_view value =
        std::string_view(secret).substr(std::string_view(secret).find('=') == std::string_view::npos
                                            ? 0
                                            : std::string_view(secret).find('=') + 1);
    EXPECT_FALSE(contains(text, value)) << text;
    EXPECT_TRUE(text.starts_with("Kernel panic - not syncing: broken ")) << text;
    EXPECT_TRUE(text.ends_with(", stop")) << text;
  }
}

TEST(ReduceLog, WhatWasReducedStaysAsItIs) {
  const std::string once = log_of(
      "6,1,10,-;usb 1-1: Product: X\n"
      "3,2,11,-;Kernel panic - not syncing: broken ann@acme.example\n");
  EXPECT_EQ(log_of(once), once);
  Redacted counts;
  (void)LogReducer(nullptr, counts).kernel_log(once);
  EXPECT_EQ(counts.lines, 0U);
}

// What no field keeps is nobody's loss.
TEST(ReduceLog, AGuessKeepsTheWordsThatItIsMadeOf) {
  const std::string text =
      reduced("acme 1-0010: carveout reservation failed for customer Smith of HomeNet");
  EXPECT_TRUE(text.starts_with("acme 1-0010: ")) << text;
  EXPECT_FALSE(contains(text, "Smith") || contains(text, "HomeNet")) << text;
  EXPECT_EQ(events_of("<3>[    1.000000] " + text + "\n").size(), 1U);
}

TEST(ReduceLog, FragmentsAreJoined) {
  const std::string text = log_of(
      "3,1,10,c;arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, \n"
      "3,2,11,+;iova=0x7fff0000, fsynr=0x110011, cbfrsynra=0x1001, cb=2\n");
  EXPECT_EQ(events_of(text).size(), 1U) << text;
}

// Of each line of the fixtures: what is left is the same event.
TEST(ReduceLog, EventsStayTheSame) {
  std::size_t events = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(JETMEM_FIXTURES) + "/kernel-log")) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream in(file.path());
    std::string line;
    std::string before;
    int at = 0;
    while (std::getline(in, line)) {
      if (line.empty() || line[0] == '#') continue;
      ++at;
      before.append("3,").append(std::to_string(at)).append(",").append(std::to_string(at * 100));
      before.append(",-;").append(line).append("\n");
    }
    const auto expected = events_of(before);
    events += expected.size();
    EXPECT_EQ(events_of(log_of(before)), expected) << file.path();
  }
  EXPECT_GT(events, 200U);
}

TEST(ReduceLog, ACrashStillTellsHowItEnded) {
  const std::string text =
      "Panic#1 Part1\n<6>[   12.000001] usb 1-1: SerialNumber: SECRET1\n"
      "<1>[   12.345678] Unable to handle kernel paging request at virtual address "
      "dead000000000108\n"
      "<0>[   12.345679] Kernel panic - not syncing: Oops: Fatal exception in interrupt\n";
  const std::string less = crash(text);
  PstoreRecord before;
  PstoreRecord after;
  parse_pstore_record("dmesg-ramoops-0", text, {}, before);
  parse_pstore_record("dmesg-ramoops-0", less, {}, after);
  EXPECT_EQ(after.line, before.line);
  EXPECT_EQ(after.kind, PstoreKind::kPanic);
  EXPECT_TRUE(after.is_crash);
  EXPECT_FALSE(contains(less, "SECRET1"));
  EXPECT_TRUE(contains(less, "<0>[   12.345679] Kernel panic")) << less;
  EXPECT_TRUE(contains(less, "<6>[   12.000001] <")) << less;
  EXPECT_EQ(crash("[SECRET] BUG: x SECRET\n"), "BUG: <13 bytes omitted>\n");
  Redacted counts;
  const std::string boots =
      R"x({"boots":[{"crash":"BUG: of SECRET"},{"crash":"(no line of it could be understood)"}]})x";
  const std::string less_boots = LogReducer(nullptr, counts).boots(boots);
  EXPECT_EQ(less_boots, R"x({"boots":[{"crash":"BUG: <14 bytes omitted>"},)x"
                        R"x({"crash":"(no line of it could be understood)"}]})x"
                        "\n");
  EXPECT_EQ(crash("password", "pmsg-ramoops-0"), "<8 bytes omitted>\n");
  EXPECT_EQ(crash("x<y>SECRET z\n"), "<12 bytes omitted>\n");
}

TEST(ReduceLog, RecordedEventsLoseTheSame) {
  const EventTexts panic = reduce_event(
      R"({"kind":"kernel_panic","message":"kernel-panic","reason":"no ann@acme.example now"})",
      "the kernel panicked: no ann@acme.example now");
  EXPECT_FALSE(contains(panic.fields + panic.summary, "acme"));
  EXPECT_TRUE(panic.summary.starts_with("the kernel panicked: no ")) << panic.summary;
  const EventTexts guess = reduce_event(
      R"({"kind":"driver_alloc_failure","known":false,"dev":"1-0010","text":"acme 1-0010: carveout reservation failed for HomeNet"})",
      "its words suggest: x; the line: \"acme 1-0010: carveout reservation failed for HomeNet\"");
  EXPECT_FALSE(contains(guess.fields + guess.summary, "HomeNet")) << guess.fields;
  const EventTexts mark = reduce_event("{}", "a note");
  EXPECT_EQ(mark.fields + mark.summary, "{}a note");
}

}  // namespace
}  // namespace jetmem
