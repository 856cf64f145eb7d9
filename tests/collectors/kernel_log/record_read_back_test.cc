// SPDX-License-Identifier: Apache-2.0
// A record as the kernel prints it (kernel/printk/printk.c, msg_add_ext_text) is read back as what
// was logged: thousands of random ones.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "collectors/kernel_log/line/record.h"
#include "tests/random_input.h"

namespace jetmem::kernel_log {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 127 && c != '\\') {
      out += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", byte);
    out += code;
  }
  return out;
}

TEST(KernelLogRecord, IsReadBackAsItWasLogged) {
  test::RandomInput random(9);
  std::string any_byte;
  for (int byte = 0; byte < 256; ++byte) any_byte += static_cast<char>(byte);
  const auto reused = std::make_unique<Record>();
  for (int cycle = 0; cycle < 2000; ++cycle) {
    const std::uint64_t facility = random.below(24);
    const std::uint64_t level = random.below(8);
    const std::uint64_t seq = random.number();
    const std::uint64_t stamp = random.number(kLastSecond * 1'000'000);
    const std::string text = random.word(random.one_in(2) ? any_byte : test::kLetters, 200);
    const bool has_device = random.one_in(2);
    const std::string device = "+platform:" + random.word(any_byte, 30);
    const char* const flags[] = {"-", "c", "+"};
    const std::size_t flag = random.below(3);
    const bool has_caller = random.one_in(2);
    std::string printed = std::to_string(facility * 8 + level) + "," + std::to_string(seq) + "," +
                          std::to_string(stamp) + "," + flags[flag] +
                          (has_caller ? ",caller=T123" : "") + ";" + escaped(text) + "\n";
    if (has_device) printed += " SUBSYSTEM=platform\n DEVICE=" + escaped(device) + "\n";
    const auto ok = parse_record(printed, *reused);
    ASSERT_TRUE(ok) << ok.error().message << "\n" << printed;
    EXPECT_EQ(reused->facility, facility);
    EXPECT_EQ(reused->level, level);
    EXPECT_EQ(reused->seq, seq);
    EXPECT_EQ(reused->stamp.count(), static_cast<std::int64_t>(stamp));
    EXPECT_EQ(reused->fragment, flag != 0);
    EXPECT_EQ(reused->first_fragment, flag == 1);
    EXPECT_EQ(reused->caller, has_caller ? "T123" : "");
    EXPECT_EQ(reused->text, text) << printed;
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
