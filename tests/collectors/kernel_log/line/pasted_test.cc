// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/pasted.h"

#include <gtest/gtest.h>

#include <string>

namespace jetmem::kernel_log {
namespace {

using std::chrono::microseconds;

constexpr std::string_view kText = "cma: cma_alloc: alloc failed, req-size: 7 pages, ret: -12";

struct Stripped {
  std::string text;
  Voice voice;
  std::optional<microseconds> stamp;
  std::string time;
};

Stripped strip(const std::string& raw) {
  Pasted pasted;
  PastedLine out;
  EXPECT_TRUE(pasted.strip(raw, out)) << raw;
  return {std::string(out.line.text), out.line.voice, out.line.stamp, std::string(out.time_text)};
}

constexpr microseconds k71(71250000);

// Each of these prefixes goes, all of it.
void expect_prefix(const std::string& prefix, Voice voice, std::string_view time,
                   std::optional<microseconds> stamp = std::nullopt) {
  const Stripped got = strip(prefix + std::string(kText));
  EXPECT_EQ(got.text, kText) << prefix;
  EXPECT_EQ(static_cast<int>(got.voice), static_cast<int>(voice)) << prefix;
  EXPECT_EQ(got.time, time) << prefix;
  EXPECT_EQ(got.stamp.value_or(microseconds(-1)), stamp.value_or(microseconds(-1))) << prefix;
}
// Nothing says who speaks, the kernel does, another than the kernel, a process.
void unknown(const std::string& prefix, std::string_view time,
             std::optional<microseconds> stamp = std::nullopt) {
  expect_prefix(prefix, Voice::kUnknown, time, stamp);
}
void kernel(const std::string& prefix, std::string_view time,
            std::optional<microseconds> stamp = std::nullopt) {
  expect_prefix(prefix, Voice::kKernel, time, stamp);
}
void foreign(const std::string& prefix, std::string_view time) {
  expect_prefix(prefix, Voice::kForeign, time);
}
void process(const std::string& prefix, std::string_view time) {
  expect_prefix(prefix, Voice::kProcess, time);
}
void expect_stamped(const std::string& prefix, Voice voice = Voice::kUnknown) {
  expect_prefix(prefix, voice, "71.250000", k71);
}

void expect_untouched(const std::string& line) {
  EXPECT_EQ(strip(line).text, line);
  EXPECT_EQ(strip(line).time, "");
  EXPECT_EQ(strip("[   71.000002] " + line).text, line);
  EXPECT_EQ(strip("[   71.000002] " + line).time, "71.000002");
}

TEST(KernelLogPasted, Markdown) {
  for (const char* mark :
       {"`", "  `", "> ", ">> > ", "console-1 | ", "board-1  | ", "\xc2\xa0\xc2\xa0"}) {
    expect_stamped(mark + std::string("[   71.250000] "));
  }
  expect_stamped("[   71.250000]\xc2\xa0");
  expect_stamped("\\[   71.250000\\] ");
  expect_stamped("[   71.250000] (2)[123:kworker/2:1]");
  kernel("Jul 10 16:36:36 orin kernel: kernel: ", "Jul 10 16:36:36");
  EXPECT_EQ(strip("`[    1.000000] a text`").text, "a text");
  EXPECT_EQ(strip("it says `so`").text, "it says `so`");
  EXPECT_EQ(strip("caf\xc3\xa9 \xc2\xb5s\xc2").text, "caf\xc3\xa9 \xc2\xb5s\xc2");
  EXPECT_EQ(strip("(2)[123:x]y").text, "(2)[123:x]y") << "no stamp before it";
}

TEST(KernelLogPasted, Dmesg) {
  unknown("", "");
  expect_stamped("[   71.250000] ");
  unknown("[90017.000009] ", "90017.000009", microseconds(90017000009));
  unknown("[ 71.25] ", "71.25", k71);
  expect_stamped("[   71.250000]");
  expect_stamped("[   71.250000@2] ");
  expect_stamped("[   71.250000 <    0.000100>] ");
  unknown("[  +0.000462] ", "+0.000462");
  unknown("[<    0.000462>] ", "<    0.000462>");
  unknown("[Nov20 18:53] ", "Nov20 18:53");
  unknown("2026-11-20T18:53:17,123456+00:00 ", "2026-11-20T18:53:17,123456+00:00");
  // Times of day in any language.
  unknown("[Fri Nov 20 18:53:17 2026] ", "Fri Nov 20 18:53:17 2026");
  unknown("[ven. nov. 20 18:53:17 2026] ", "ven. nov. 20 18:53:17 2026");
  unknown("[\xe9\x87\x91 11\xe6\x9c\x88 20 18:53:17 2026] ",
          "\xe9\x87\x91 11\xe6\x9c\x88 20 18:53:17 2026");
  // With facility and level.
  expect_stamped("kern  :warn  : [   71.250000] ", Voice::kKernel);
  kernel("kern  :err   : ", "");
  expect_stamped("user  :notice: [   71.250000] ", Voice::kForeign);
  foreign("daemon:info  : [Fri Nov 20 18:53:17 2026] ", "Fri Nov 20 18:53:17 2026");
  expect_stamped("<4>[   71.250000] ", Voice::kKernel);
  expect_stamped("<12>[   71.250000] ", Voice::kForeign);
}

TEST(KernelLogPasted, WhateverStandsBeforeTheKernelsStamp) {
  for (const char* prefix :
       {"+", "-", "c2   1234 ", "stdout F ", "orin login: ", "[root@orin gpio]# "}) {
    const std::string line = prefix + ("[   71.250000] " + std::string(kText));
    EXPECT_EQ(strip(line).text, kText) << prefix;
    EXPECT_EQ(strip(line).stamp, k71) << prefix;
  }
  unknown("+> [Fri Aug 30 11:43:09 2024] ", "Fri Aug 30 11:43:09 2024");
  unknown("2025-08-14T09:14:05.510Z stdout F [   71.250000] ", "2025-08-14T09:14:05.510Z", k71);
  kernel("2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest: <3>[39291577.009543] ",
         "2023-12-04T10:49:30.127Z", microseconds(39291577009543));
  // What a message quotes is no prefix of its own.
  for (const char* line : {"usb 1-1: Product: [   71.250000] text", "foo [1.5] bar", "x [0:1] y",
                           "app[12]: [   71.250000] text", "[drm] at [   71.250000] text"}) {
    EXPECT_EQ(strip(line).text, line);
    EXPECT_EQ(strip("[Fri Nov 20 18:53:17 2026] " + std::string(line)).text, line);
  }
  EXPECT_EQ(strip("Nov 20 18:53:17 orin app[812]: [   71.250000] text").voice, Voice::kProcess);
  expect_stamped("[   71.250000] kernel: ", Voice::kKernel);
  EXPECT_EQ(strip("user  :warn  : [   71.250000] kernel: text").voice, Voice::kForeign);
}

TEST(KernelLogPasted, OtherCollectors) {
  // Talos, BusyBox's klogd, a month cut off.
  kernel("kern:     err: [2026-01-12T20:27:31.913975631Z]: ", "2026-01-12T20:27:31.913975631Z");
  foreign("user: warning: [2026-01-12T20:27:31.913975631Z]: ", "2026-01-12T20:27:31.913975631Z");
  kernel("Jan  1 00:00:10 board user.warn kernel: [   71.250000] ", "Jan  1 00:00:10", k71);
  EXPECT_EQ(strip("Jan  1 00:00:10 board user.warn app: text").voice, Voice::kProcess);
  unknown("A 23 11:30:54 : ", "A 23 11:30:54");
  // Kernels that print the CPU or the caller.
  unknown("[2-3219.1870] ", "2-3219.1870", microseconds(3219187000));
  expect_stamped("[   71.250000@3]  ");
  expect_stamped("[   71.250000][    C0]  ");
  expect_stamped("[   71.250000] (0)");
  EXPECT_EQ(strip("[   71.250000] (null) text").text, "(null) text");
  EXPECT_EQ(strip("[   71.250000] (0) text").text, "(0) text");
}

TEST(KernelLogPasted, SyslogAndJournal) {
  kernel("Nov 20 18:53:17 orin kernel: ", "Nov 20 18:53:17");
  kernel("Nov  2 18:53:17 orin kernel: [   71.250000] ", "Nov  2 18:53:17", k71);
  kernel("Nov 20 18:53:17 orin kernel[633]: [   71.250000] ", "Nov 20 18:53:17", k71);
  kernel("Nov 20 18:53:17.123456 orin kernel: ", "Nov 20 18:53:17.123456");
  const std::string december = "d\xc3\xa9" + std::string("c. 20 18:53:17");
  kernel(december + " orin kernel: ", december);
  kernel("11\xe6\x9c\x88 20 18:53:17 orin kernel: ", "11\xe6\x9c\x88 20 18:53:17");
  kernel("Jan  1 00:00:12 (none) kern.warn kernel: [   12.000000] ", "Jan  1 00:00:12",
         microseconds(12000000));
  kernel("Fri Nov 20 18:53:17 2026 kern.warn kernel: [   71.250000] ", "Fri Nov 20 18:53:17 2026",
         k71);
  unknown("Nov 20 18:53:17 [   71.250000] ", "Nov 20 18:53:17", k71);
  expect_stamped("ERR kernel: [   71.250000] ", Voice::kKernel);
  kernel("kernel: ", "");
  // The journal's.
  kernel("2026-11-20T18:53:17.123456+0000 orin kernel: ", "2026-11-20T18:53:17.123456+0000");
  kernel("2026-11-20T18:53:17+00:00 orin kernel: ", "2026-11-20T18:53:17+00:00");
  kernel("Fri 2026-11-20 18:53:17 UTC orin kernel: ", "Fri 2026-11-20 18:53:17 UTC");
  expect_stamped("[   71.250000] orin kernel: ", Voice::kKernel);
  kernel("[Nov 20 18:53:17] orin kernel: ", "Nov 20 18:53:17");
  kernel("1790000000.123456 orin kernel: ", "1790000000.123456");
}

TEST(KernelLogPasted, AProcessIsNotTheKernelWhateverItSays) {
  process("Nov 20 18:53:17 orin nvargus-daemon[812]: ", "Nov 20 18:53:17");
  process("2026-11-20T18:53:17+00:00 orin app: ", "2026-11-20T18:53:17+00:00");
  expect_prefix("Nov 20 18:53:17 orin jetmemd[812]: ", Voice::kJetmem, "Nov 20 18:53:17");
  expect_prefix("Nov 20 18:53:17 orin jetmem-reader[814]: ", Voice::kJetmem, "Nov 20 18:53:17");
  process("Nov 20 18:53:17 orin jetmemory[815]: ", "Nov 20 18:53:17");
  expect_stamped("[   71.250000] orin app[9]: ", Voice::kProcess);
  const Stripped forged = strip("Nov 20 18:53:17 orin app[812]: kernel: [  1.000000] text");
  EXPECT_EQ(forged.text, "kernel: [  1.000000] text");
  EXPECT_EQ(forged.voice, Voice::kProcess);
  EXPECT_EQ(forged.stamp, std::nullopt);
  EXPECT_EQ(strip("user  :warn  : [   71.250000] orin kernel: text").voice, Voice::kForeign);
}

TEST(KernelLogPasted, LoggersThatPrintLess) {
  kernel("18:53:17 orin kernel: ", "18:53:17");
  kernel("18:53:17 kernel: ", "18:53:17");
  process("18:53:17 orin systemd-oomd[812]: ", "18:53:17");
  unknown("18:53:17.123 ", "18:53:17.123");
  unknown("2026-11-20 18:53:17.123456 ", "2026-11-20 18:53:17.123456");
  kernel("2026-11-20 18:53:17.123456 orin kernel: ", "2026-11-20 18:53:17.123456");
  kernel("orin kernel: ", "");
  kernel("kernel:", "");
  expect_stamped("[   71.250000] -(0)[195:kworker/2:1]");
  expect_stamped("[   71.250000] I[3:      swapper/3:    0]");
  EXPECT_EQ(strip("2026-11-20 18:53:17.123456 nvme 0000:01:00.0: text").text,
            "nvme 0000:01:00.0: text");
}

TEST(KernelLogPasted, WhatToolsPutAround) {
  for (const char* mark : {"dmesg.txt:17:", "dmesg.txt:", "  17  ", "17: ", "18:53:17.778 "}) {
    EXPECT_EQ(strip(mark + ("[   71.250000] " + std::string(kText))).text, kText) << mark;
  }
  EXPECT_EQ(strip("\"[   71.250000] " + std::string(kText) + "\",").text, kText);
  // Indentation, line ends and numbers.
  unknown("\t  ", "");
  expect_stamped("812:[   71.250000] ");
  EXPECT_EQ(strip("[   71.250000] text\r").text, "text");
  unknown("0x00000000027AB0FA |   1263.468579:   ", "1263.468579", microseconds(1263468579));
  // Colours.
  EXPECT_EQ(strip("\x1b[32m[   71.250000] \x1b[0m\x1b[33mcma: \x1b[0m\x1b[31mfailed\x1b[0m").text,
            "cma: failed");
  EXPECT_EQ(strip("a\x1b").text, "a");
  EXPECT_EQ(strip("a\x1b[3").text, "a");
}

TEST(KernelLogPasted, OtherStamps) {
  unknown("[  +0,000462] ", "+0,000462");
  unknown("[   71,250000] ", "71,250000", k71);
  expect_stamped("[   71.250000] [pid:134,cpu0,irq/13-arm-smmu]");
  expect_stamped("[   71.250000] [2026:04:08 21:30:46][pid:134,cpu0,irq/13-arm-smmu]");
  unknown("[0.000001 0.000002] [   71.250000] ", "0.000001", k71);
  unknown("1.250000] ", "1.250000");
  expect_stamped("kernel:[   71.250000] ", Voice::kKernel);
  kernel("<4>1 2026-11-20T18:53:17.003Z orin kernel - - - ", "2026-11-20T18:53:17.003Z");
  // A process, a thread and a level.
  kernel("01-01 04:02:47.025     0     0 W ", "01-01 04:02:47.025");
  process("01-01 04:02:47.025  6912  6913 E ", "01-01 04:02:47.025");
  // Several groups.
  expect_stamped("[   71.250000] [    T812] ");
  expect_stamped("[   71.250000][    C0] ");
  unknown("[2026-11-20 18:53:17.778747][   71.250000] ", "2026-11-20 18:53:17.778747", k71);
  expect_stamped("[   71.250000]  [5:    kworker/5:1:  133] ");
  unknown("[18:53:17:778] [   71.250000] ", "18:53:17:778", k71);
}

TEST(KernelLogPasted, TheKernelsOwnTextStays) {
  for (const char* line : {"[MMU FAULT] mmu engine id:  7",
                           "[RCE] ERROR: something",
                           "[drm] Initialized",
                           "{2}[Hardware Error]: event severity: fatal",
                           "[Hardware Error]: Machine check",
                           "[sda] no",
                           "[Firmware Bug]: the BIOS",
                           "[2f100, 2f20a) PFNs busy",
                           "[0000:01:00.0] device",
                           "[0:0:0:0] text",
                           "[",
                           "[]",
                           "<",
                           "<6",
                           "<x>",
                           "app[12]: segfault at 0 ip 0",
                           "traps: app[12] trap invalid",
                           "usb 1-1: new device kernel: x",
                           "foo: kernel: not a prefix",
                           "PM: suspend exit",
                           "1,2,3",
                           "0x12 | text",
                           "kern: text",
                           "Unable to handle kernel: paging",
                           "Fri is a day: yes",
                           "rtc: time is 18:53:17 kernel: x",
                           "Nov 20 18:53:17 is when"}) {
    expect_untouched(line);
  }
  // Blanks behind the prefix belong to the message.
  EXPECT_EQ(strip("[   71.250000]    indented").text,
            "  "
            " indented");
}

TEST(KernelLogPasted, Records) {
  Pasted pasted;
  PastedLine out;
  ASSERT_TRUE(pasted.strip("4,91,71250000,-,caller=T1;text \\x22quoted\\x22", out));
  EXPECT_EQ(out.line.text, "text \"quoted\"");
  EXPECT_EQ(out.line.voice, Voice::kKernel);
  EXPECT_EQ(out.line.seq, 91U);
  EXPECT_EQ(out.line.stamp, k71);
  EXPECT_FALSE(pasted.strip(" SUBSYSTEM=platform", out));
  EXPECT_FALSE(pasted.strip(" DEVICE=+platform:bc00000.rtcpu", out));
  ASSERT_TRUE(pasted.strip("12,92,71250001,-;by a process", out));
  EXPECT_EQ(out.line.voice, Voice::kForeign);
  // Only behind a record.
  ASSERT_TRUE(pasted.strip("text", out));
  ASSERT_TRUE(pasted.strip(" DEVICE=x", out));
  EXPECT_EQ(out.line.text, "DEVICE=x");
  EXPECT_EQ(out.line.seq, std::nullopt);
}

TEST(KernelLogPasted, LinesMadeToBreakIt) {
  std::string groups;
  for (int i = 0; i < 20000; ++i) groups += "[T1] ";
  EXPECT_LT(strip(groups).text.size(), groups.size());
  EXPECT_EQ(strip("").text, "");
  EXPECT_EQ(strip("   ").text, "");
  EXPECT_EQ(strip("[   71.250000]").text, "");
  EXPECT_EQ(strip("[99999999999999999999.1] x").text, "[99999999999999999999.1] x");
  EXPECT_EQ(strip(std::string("a\0b", 3)).text, std::string("a\0b", 3));
  EXPECT_EQ(strip(std::string(1U << 16, '`')).text, "");
}

}  // namespace
}  // namespace jetmem::kernel_log
