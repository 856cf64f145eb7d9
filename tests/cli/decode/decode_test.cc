// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/decode/log_format.h"
#include "cli/exit_codes.h"
#include "cli/text/events/cause_text.h"
#include "cli/text/events/event_text.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// The host's NIC (stream ID 0x3 of this unit) and two kills, between harmless lines.
constexpr std::string_view kLog =
    "[    0.400000] arm-smmu 8000000.iommu: probing hardware configuration...\n"
    "[   71.250000] arm-smmu 8000000.iommu: Unhandled context fault: fsr=0x402, iova=0xabc000, "
    "fsynr=0x110003, cbfrsynra=0x3, cb=4\n"
    "[   80.100000] usb 1-1: new high-speed USB device\n"
    "[   90.000000] Out of memory: Killed process 7012 (my_app) total-vm:200kB, anon-rss:100kB, "
    "file-rss:1kB, shmem-rss:0kB, UID:1000 pgtables:40kB oom_score_adj:0\n"
    "[   91.000000] Out of memory: Killed process 7013 (my_app) total-vm:200kB, anon-rss:100kB, "
    "file-rss:1kB, shmem-rss:0kB, UID:1000 pgtables:40kB oom_score_adj:0\n";

CommandRun decode(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"decode", "kernel-log"});
  return run_command(arguments);
}

// Of a file with this text.
CommandRun decode_text(std::string_view log, std::vector<std::string> options = {}) {
  const TempDir dir;
  options.insert(options.begin(), dir.write("log", log));
  return decode(options);
}

std::vector<Json> events_of(std::string_view log) {
  return json_lines(decode_text(log, {"--json"}).out);
}

TEST(Decode, WithoutAFormatListsThem) {
  EXPECT_TRUE(gives(run_command({"decode"}), 0,
                    {"jetmem decode kernel-log", "jetmem decode tegrastats [FILE]"}));
}

TEST(Decode, ExplainsEachEventAndSumsUp) {
  const CommandRun run = decode_text(kLog);
  EXPECT_TRUE(gives(
      run, 0,
      {"line 2 [71.250000]: smmu_context_fault\n    ", "line 4 [90.000000]: oom_kill\n    ",
       "my_app", "\n5 lines read: 3 events (1 smmu_context_fault, 2 oom_kill); 2 ", "--soc"}));
  EXPECT_EQ(run.err, "");
  EXPECT_LE(widest(run.out), 80U) << run.out;
  EXPECT_TRUE(has_none(decode_text(kLog, {"--soc", "tegra234"}).out, {"--soc"}));
}

TEST(Decode, UnknownSoc) {
  EXPECT_TRUE(
      gives(decode({"--soc", "tegra243"}), kExitUsage, {},
            {"did you mean 'tegra", "nown: tegra210, tegra186, tegra194, tegra234, tegra264"}));
  EXPECT_THAT(decode({"--soc", "\x1b[1m"}).err, Not(HasSubstr("\x1b")));
  EXPECT_TRUE(gives(decode({"--soc", ""}), kExitUsage, {}, {"SoC ''"}));
}

TEST(Decode, NoEvents) {
  EXPECT_TRUE(gives(decode_text("[    1.000000] all is well\nso it is\n"), 0, {"2 lines read: "}));
  EXPECT_EQ(decode_text("", {"--json"}).out, "");
}

TEST(Decode, Json) {
  const std::vector<Json> events = events_of(kLog);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0]["kind"], "smmu_context_fault");
  EXPECT_EQ(events[0]["line"], 2);
  EXPECT_EQ(events[0]["time"], "71.250000");
  EXPECT_EQ(events[1]["kind"], "oom_kill");
  EXPECT_EQ(events[1]["comm"], "my_app");
  EXPECT_EQ(events[1]["pid"], 7012);
}

TEST(Decode, CausesComeLast) {
  constexpr std::string_view log =
      "[   46.291378] bcm2835-dma fe007000.dma-controller: swiotlb buffer is full (sz: 524276 "
      "bytes), total 32768 (slots), used 0 (slots)\n"
      "[   46.313899] bcm2835-dma fe007000.dma-controller: swiotlb buffer is full (sz: 524276 "
      "bytes), total 32768 (slots), used 0 (slots)\n";
  EXPECT_TRUE(has_all(decode_text(log).out,
                      {"  swiotlb-mapping-too-large (2 events)\n", "Runbook: swiotlb-full"}));
  EXPECT_EQ(events_of(log).size(), 2U);
  const std::vector<Json> all = json_lines(decode_text(log, {"--json", "--causes"}).out);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[3]["cause_id"], "sdhost-swiotlb-segment") << "a known issue follows";
  EXPECT_EQ(all[2]["cause_id"], "swiotlb-mapping-too-large");
  EXPECT_EQ(all[2]["device"], "fe007000.dma-controller");
  EXPECT_EQ(all[2]["harm"], "warning");
  EXPECT_EQ(all[2]["events"], 2);
}

TEST(Decode, CausesThatAreNotShownAreFound) {
  std::vector<diagnosis::Cause> causes(kMostCauses + 1);
  for (std::size_t i = 0; i < causes.size(); ++i) causes[i].id = std::to_string(i);
  EXPECT_THAT(causes_text(causes), HasSubstr("1 more: --json --causes"));
}

// However many there are of one kind, the others are explained too.
TEST(Decode, AStormDoesNotHideACause) {
  std::string log;
  for (int i = 0; i < 500; ++i) {
    log += "[  100.000000] arm-smmu 8000000.iommu: Unhandled context fault: fsr=0x402, iova=0x" +
           std::to_string(1000 + i) + ", fsynr=0x110003, cbfrsynra=0x3, cb=4\n";
  }
  log +=
      "[  200.000000] Out of memory: Killed process 7012 (my_app) total-vm:200kB, "
      "anon-rss:100kB, file-rss:1kB, shmem-rss:0kB, UID:1000 pgtables:40kB oom_score_adj:0\n";
  EXPECT_TRUE(has_all(decode_text(log).out, {"smmu-unmapped (500 events)", "memory-exhausted"}));
}

TEST(Decode, EscapesControlCharacters) {
  constexpr std::string_view log =
      "[\x07 \x1b(B Fri Nov 20 18:53:17 2026\x9b] Out of memory: Killed process 9 "
      "(a\x07\x9b\x1b[31mb\x7f) total-vm:200kB, anon-rss:100kB, file-rss:1kB, shmem-rss:0kB, UID:0 "
      "pgtables:40kB oom_score_adj:0\n";
  for (const CommandRun& run : {decode_text(log), decode_text(log, {"--json"})}) {
    EXPECT_THAT(run.out, HasSubstr("oom_kill"));
    for (const char c : run.out + run.err) {
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
      EXPECT_NE(c, '\x7f');
    }
    EXPECT_EQ(run.out.find("\x9b"), std::string::npos);
  }
}

constexpr std::string_view kKill =
    "Out of memory: Killed process 7012 (my_app) total-vm:200kB, anon-rss:100kB, file-rss:1kB, "
    "shmem-rss:0kB, UID:1000 pgtables:40kB oom_score_adj:0";

std::string journal_object(std::string_view message, const char* facility = "0") {
  return Json{{"MESSAGE", message},
              {"_TRANSPORT", "kernel"},
              {"SYSLOG_FACILITY", facility},
              {"__REALTIME_TIMESTAMP", "1795190400000000"}}
             .dump() +
         "\n";
}

std::string journal_export(std::string_view message, const char* facility = "0") {
  std::string entry =
      "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1795190400000000\n_TRANSPORT=kernel\n";
  entry.append("SYSLOG_FACILITY=").append(facility).append("\n");
  if (message.find('\n') == std::string_view::npos) {
    return entry.append("MESSAGE=").append(message).append("\n\n");
  }
  entry.append("MESSAGE\n").append(1, static_cast<char>(message.size())).append(7, '\0');
  return entry.append(message).append("\n\n");
}

std::string journal_verbose(std::string_view message, const char* facility = "0") {
  return "Fri 2026-11-20 18:53:02.123456 CET [s=0a;i=1f;b=2b;m=3c;t=4d;x=5e]\n    "
         "_TRANSPORT=kernel\n"
         "    SYSLOG_FACILITY=" +
         std::string(facility) + "\n    MESSAGE=" + std::string(message) + "\n";
}

TEST(Decode, TheJournalsOwnFormats) {
  for (const auto& one : {journal_object, journal_export, journal_verbose}) {
    const CommandRun run = decode_text(
        one("usb 1-1: new device", "0") + one(kKill, "0") + one(kKill, "3"), {"--json"});
    EXPECT_EQ(run.status, 0);
    const std::vector<Json> events = json_lines(run.out);
    ASSERT_EQ(events.size(), 1U) << one("a", "0");
    EXPECT_EQ(events[0]["kind"], "oom_kill");
    EXPECT_TRUE(events[0].contains("time"));
    EXPECT_THAT(run.err, HasSubstr("1 line written into the kernel log by processes"));
  }
  EXPECT_EQ(events_of(journal_object("a") + journal_object(kKill)).at(0)["line"], 2);
  // A newline in a message begins no message.
  const std::string forged = "usb 1-1: Product: x\n" + std::string(kKill.substr(0, 160));
  const std::string field = "usb 1-1: Product: x\nMESSAGE=" + std::string(kKill.substr(0, 160));
  for (const std::string& log :
       {journal_object(forged), journal_export(forged), journal_export(field)}) {
    EXPECT_EQ(decode_text(log, {"--json"}).out, "") << log;
  }
}

TEST(Decode, DmesgJson) {
  const std::string kill(kKill);
  const std::vector<Json> events = events_of(
      "{\n   \"dmesg\": [\n      {\n         \"pri\": 5,\n         \"time\":     0.000000,\n"
      "         \"msg\": \"a beginning\"\n      },{\n         \"pri\": 3,\n"
      "         \"time\":    90.000000,\n         \"msg\": \"" +
      kill +
      "\"\n      },{\n         \"pri\": 11,\n         \"time\": 91.0,\n"
      "         \"msg\": \"" +
      kill + "\"\n      }\n   ]\n}\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["kind"], "oom_kill");
  EXPECT_EQ(events[0]["line"], 10);
  EXPECT_EQ(events[0]["time"], "90.000000");
}

TEST(Decode, ReportsUnreadableInput) {
  const CommandRun brace = decode_text("{1}[Hardware Error]: x\n" + std::string(kKill));
  EXPECT_EQ(brace.err, "");
  EXPECT_THAT(brace.out, HasSubstr("oom_kill"));
  EXPECT_TRUE(
      gives(decode_text("{\"text\": \"a\"}\n{\"text\": \"b\"}\n"), 0, {}, {"MESSAGE or msg"}));
  const CommandRun broken =
      decode_text(journal_object(kKill) + "{\"MESSAGE\": nonsense}\n{\"MESSAGE\":null}\n");
  EXPECT_TRUE(gives(broken, 0, {"oom_kill"}, {"2 messages"}));
  for (const std::string_view utf16 :
       {std::string_view("\xff\xfe[\0 \0", 6), std::string_view("[\0 \0\n\0", 6)}) {
    EXPECT_TRUE(gives(decode_text(utf16), kExitData, {}, {"UTF-16"}));
  }
}

TEST(Decode, JsonReportsLossesOnStderr) {
  const CommandRun run = decode_text(
      "12,5,1,-;" + std::string(kKill) + "\n6,9,2,-;x\n" + std::string((64U << 10) + 1, 'x') + "\n",
      {"--json"});
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(has_all(run.err, {"1 line written", "3 records missing; 1 line longer than 64 KiB"}));
}

TEST(Decode, ACapturedTree) {
  const TempDir dir;
  dir.write("dev/kmsg", kLog);
  dir.write("proc/device-tree/compatible",
            std::string_view("nvidia,p3768-0000\0nvidia,tegra234\0", 33));
  const CommandRun run = decode({"--root", dir.path()});
  EXPECT_TRUE(gives(run, 0, {"3 events"}));
  EXPECT_TRUE(has_none(run.out, {"--soc"}));
}

// One that is missing: tests/integration/test_exit_codes.py.
TEST(Decode, UnreadableInput) {
  const TempDir dir;
  EXPECT_TRUE(gives(decode({dir.path()}), kExitNoInput, {}, {"Is a directory"}));
  EXPECT_TRUE(gives(decode({"--root", dir.path()}), kExitNoInput, {},
                    {"/dev/kmsg: No such file or directory"}));
}

TEST(Decode, SocOfADeviceTree) {
  const TempDir dir;
  EXPECT_EQ(kernel_log::soc_of(*Root::at(dir.path())), kernel_log::Soc::kUnknown);
  dir.write("sys/firmware/devicetree/base/compatible",
            std::string_view("a\0nvidia,tegra194\0", 18));
  EXPECT_EQ(kernel_log::soc_of(*Root::at(dir.path())), kernel_log::Soc::kTegra194);
}

// A log is of the same format however it comes through a pipe.
std::uint64_t count_of_pieces(std::string_view text, std::size_t piece) {
  const auto log = std::make_unique<kernel_log::TextLog>(
      kernel_log::Soc::kTegra234, [](const kernel_log::Event&, std::string_view) {});
  LogFormat format(*log);
  while (!text.empty()) {
    EXPECT_TRUE(format.feed(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
  }
  EXPECT_TRUE(format.finish());
  return log->counts().events;
}

void expect_one_event(std::string_view log) {
  EXPECT_EQ(count_of_pieces(log, log.size()), 1U);
  for (std::size_t piece = 1; piece < 60; ++piece)
    EXPECT_EQ(count_of_pieces(log, piece), 1U) << piece;
}

// As a Windows editor saves what journalctl wrote: its first line says nothing of the format.
TEST(LogFormat, LeadingNoise) {
  std::string bytes;
  for (const char c :
       std::string_view("Out of memory: Killed process 7012 (my_app) total-vm:200kB")) {
    bytes += (bytes.empty() ? "" : ",") + std::to_string(static_cast<int>(c));
  }
  expect_one_event(
      "\xef\xbb\xbf-- Journal begins at Fri 2026-11-20 02:11:47 UTC. --\n"
      "{\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"MESSAGE\":[" +
      bytes + "]}\n");
}

TEST(LogFormat, CarriageReturnInTheFirstLine) {
  expect_one_event(
      "Fri 2026-11-20 02:11:47.123456 UTC [s=1;i=2\r;b=3;m=4;t=5;x=6]\n"
      "    _TRANSPORT=kernel\n    SYSLOG_FACILITY=0\n"
      "    MESSAGE=Out of memory: Killed process 7012 (my_app) total-vm:200kB, anon-rss:100kB, "
      "file-rss:1kB, shmem-rss:0kB, UID:1000 pgtables:40kB oom_score_adj:0\n");
}

TEST(EventText, Wrapped) {
  EXPECT_EQ(wrapped("", 4), "");
  EXPECT_EQ(wrapped("  a  b ", 2), "  a b\n");
  EXPECT_EQ(wrapped(std::string(70, 'x') + " yyyyy zzzzz", 4),
            "    " + std::string(70, 'x') + " yyyyy\n    zzzzz\n");
  EXPECT_EQ(wrapped("a " + std::string(200, 'x') + " b", 0),
            "a\n" + std::string(200, 'x') + "\nb\n");
  EXPECT_EQ(seconds_text(std::chrono::microseconds(12000034)), "12.000034");
  EXPECT_EQ(counted(1, "line") + counted(0, "line"), "1 line0 lines");
}

}  // namespace
}  // namespace jetmem
