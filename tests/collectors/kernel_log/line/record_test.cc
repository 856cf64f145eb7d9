// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/record.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "tests/random_input.h"

namespace jetmem::kernel_log {
namespace {

std::string text_of(std::string_view record) {
  Record out;
  const auto ok = parse_record(record, out);
  return ok ? std::string(out.text) : ok.error().message;
}

// "facility.level seq microseconds caller: text".
std::string shown(std::string_view record) {
  Record r;
  EXPECT_TRUE(parse_record(record, r)) << record;
  EXPECT_EQ(r.line().voice, r.facility == 0 ? Voice::kKernel : Voice::kForeign);
  EXPECT_EQ(r.line().seq, r.seq);
  EXPECT_EQ(r.line().stamp, r.stamp);
  std::ostringstream out;
  out << +r.facility << '.' << +r.level << ' ' << r.seq << ' ' << r.stamp.count() << ' ' << r.caller
      << (r.fragment ? " cut: " : ": ") << r.text;
  return out.str();
}

TEST(KernelLogRecord, FieldsTextAndKeys) {
  EXPECT_EQ(shown("3,1041,12345678,-;arm-smmu 8000000.iommu: some text\n"
                  " SUBSYSTEM=platform\n DEVICE=+platform:8000000.iommu\n"),
            "0.3 1041 12345678 : arm-smmu 8000000.iommu: some text");
  // Unknown fields and keys are passed over.
  EXPECT_EQ(shown("6,7,8,-,caller=T812,cpu=3;text;more\n UNKNOWN=x\n DEVICE=c1:3\n"),
            "0.6 7 8 T812: text;more");
  // Only facility 0 is the kernel.
  EXPECT_EQ(shown("12,1,2,-;Out of memory: not by the kernel"),
            "1.4 1 2 : Out of memory: not by the kernel");
  EXPECT_EQ(shown("4294967294,1,2,-;text"), "255.6 1 2 : text");
}

TEST(KernelLogRecord, Escapes) {
  const std::string head = "6,1,2,-;";
  for (const auto& [printed, text] :
       {std::pair("tab\\x09and \\x5cx41", "tab\tand \\x41"), {"\\xe4\\xBA\\x94", "\xe4\xba\x94"}}) {
    EXPECT_EQ(text_of(head + printed), text);
  }
  EXPECT_EQ(text_of(head + "\\x00"), std::string(1, '\0'));
  // What is no escape stays.
  for (const std::string text : {"a\\", "a\\x", "a\\x4", "a\\xzz\\n", ""}) {
    EXPECT_EQ(text_of(head + text), text);
  }
}

TEST(KernelLogRecord, LargeOnesAreCut) {
  const std::string plain(1U << 20, 'x');
  EXPECT_EQ(text_of("6,1,2,-;" + plain).size(), kMaxRecord);
  std::string escaped;
  while (escaped.size() < 1U << 20) escaped += "\\x41\\";
  EXPECT_LE(text_of("6,1,2,-;" + escaped).size(), kMaxRecord);
  Record r;
  ASSERT_TRUE(parse_record("6,1,2,-;\\x41" + plain + "\n DEVICE=\\x41" + plain, r));
  EXPECT_LE(r.text.size(), kMaxRecord);
}

// The ugly ladder.
TEST(KernelLogRecord, Refuses) {
  constexpr const char* kRows[][2] = {
      {"", "a priority, found ''"},
      {"[ 1.2] text", "a priority, found '[ 1.2] text'"},
      {" 6,1,2,-;t", "a priority, found ' 6,1,2,-;t'"},
      {"6;t", "',' behind the priority, found ';t'"},
      {"6,x", "a sequence number, found 'x'"},
      {"6,1-", "',' behind the sequence number, found '-'"},
      {"6,1,-2,-;t", "microseconds, found '-2,-;t'"},
      {"6,1,2;t", "',' and flags, found ';t'"},
      {"6,1,2,-", "';' before the text, found '-'"},
      {"6,1,2,-\n;t", "';' before the text, found '-?;t'"},
      {"6,99999999999999999999,2,-;t", "a sequence number, found '99999999999999999999,2,-;t'"},
      {"6,1,18446744073709551615,-;t", "microseconds, found ',-;t'"},
  };
  for (const auto& [record, error] : kRows) {
    EXPECT_EQ(text_of(record), std::string("kmsg record: expected ") + error);
  }
}

TEST(KernelLogRecord, LooksLike) {
  for (const char* text : {"6,1,2,-;t", "6,1,2,-,caller=T1;t"}) EXPECT_TRUE(is_kmsg_record(text));
  for (const char* text : {"6,1,2,-,caller=T1", "6,1,2", "1,2,3 and more"}) {
    EXPECT_FALSE(is_kmsg_record(text)) << text;
  }
  EXPECT_TRUE(is_kmsg_record_key(" DEVICE=n3"));
  for (const char* text : {"DEVICE=n3", " Device=n3", " ="}) {
    EXPECT_FALSE(is_kmsg_record_key(text)) << text;
  }
}

// A record as the kernel prints it (kernel/printk/printk.c, msg_add_ext_text) is read back as what
// was logged: thousands of random ones.
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
