// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/record.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace jetmem::kernel_log {
namespace {

using std::chrono::microseconds;

std::string text_of(std::string_view record) {
  Record out;
  const auto ok = parse_record(record, out);
  return ok ? std::string(out.text) : ok.error().message;
}

TEST(KernelLogRecord, FieldsTextAndKeys) {
  Record r;
  ASSERT_TRUE(
      parse_record("3,1041,12345678,-;arm-smmu 8000000.iommu: some text\n"
                   " SUBSYSTEM=platform\n DEVICE=+platform:8000000.iommu\n",
                   r));
  EXPECT_EQ(r.facility, 0);
  EXPECT_EQ(r.level, 3);
  EXPECT_EQ(r.seq, 1041U);
  EXPECT_EQ(r.stamp, microseconds(12345678));
  EXPECT_FALSE(r.fragment);
  EXPECT_EQ(r.text, "arm-smmu 8000000.iommu: some text");
  EXPECT_EQ(r.caller, "");
  EXPECT_EQ(r.line().voice, Voice::kKernel);
  EXPECT_EQ(r.line().seq, 1041U);
  EXPECT_EQ(r.line().stamp, microseconds(12345678));
}

TEST(KernelLogRecord, CallerUnknownFieldsAndKeysArePassedOver) {
  Record r;
  ASSERT_TRUE(parse_record("6,7,8,-,caller=T812,cpu=3;text;more\n UNKNOWN=x\n DEVICE=c1:3\n", r));
  EXPECT_EQ(r.caller, "T812");
  EXPECT_EQ(r.text, "text;more");
}

TEST(KernelLogRecord, OnlyFacility0IsTheKernel) {
  Record r;
  ASSERT_TRUE(parse_record("12,1,2,-;Out of memory: not by the kernel", r));
  EXPECT_EQ(r.facility, 1);
  EXPECT_EQ(r.level, 4);
  EXPECT_EQ(r.line().voice, Voice::kForeign);
  ASSERT_TRUE(parse_record("4294967294,1,2,-;text", r));
  EXPECT_EQ(r.facility, 255);
  EXPECT_EQ(r.level, 6);
  EXPECT_EQ(r.line().voice, Voice::kForeign);
}

TEST(KernelLogRecord, Escapes) {
  EXPECT_EQ(text_of("6,1,2,-;tab\\x09and \\x5cx41"), "tab\tand \\x41");
  EXPECT_EQ(text_of("6,1,2,-;\\xe4\\xBA\\x94"), "\xe4\xba\x94");
  EXPECT_EQ(text_of("6,1,2,-;\\x00"), std::string(1, '\0'));
  // What is no escape stays.
  EXPECT_EQ(text_of("6,1,2,-;a\\"), "a\\");
  EXPECT_EQ(text_of("6,1,2,-;a\\x"), "a\\x");
  EXPECT_EQ(text_of("6,1,2,-;a\\x4"), "a\\x4");
  EXPECT_EQ(text_of("6,1,2,-;a\\xzz\\n"), "a\\xzz\\n");
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
  EXPECT_EQ(text_of(""), "kmsg record: expected a priority, found ''");
  EXPECT_EQ(text_of("[ 1.2] text"), "kmsg record: expected a priority, found '[ 1.2] text'");
  EXPECT_EQ(text_of(" 6,1,2,-;t"), "kmsg record: expected a priority, found ' 6,1,2,-;t'");
  EXPECT_EQ(text_of("6;t"), "kmsg record: expected ',' behind the priority, found ';t'");
  EXPECT_EQ(text_of("6,x"), "kmsg record: expected a sequence number, found 'x'");
  EXPECT_EQ(text_of("6,1-"), "kmsg record: expected ',' behind the sequence number, found '-'");
  EXPECT_EQ(text_of("6,1,-2,-;t"), "kmsg record: expected microseconds, found '-2,-;t'");
  EXPECT_EQ(text_of("6,1,2;t"), "kmsg record: expected ',' and flags, found ';t'");
  EXPECT_EQ(text_of("6,1,2,-"), "kmsg record: expected ';' before the text, found '-'");
  EXPECT_EQ(text_of("6,1,2,-\n;t"), "kmsg record: expected ';' before the text, found '-?;t'");
  EXPECT_EQ(text_of("6,99999999999999999999,2,-;t"),
            "kmsg record: expected a sequence number, found '99999999999999999999,2,-;t'");
  EXPECT_EQ(text_of("6,1,18446744073709551615,-;t"),
            "kmsg record: expected microseconds, found ',-;t'");
  EXPECT_EQ(text_of("6,1,2,-;"), "");
}

TEST(KernelLogRecord, LooksLike) {
  EXPECT_TRUE(is_kmsg_record("6,1,2,-;t"));
  EXPECT_TRUE(is_kmsg_record("6,1,2,-,caller=T1;t"));
  EXPECT_FALSE(is_kmsg_record("6,1,2,-,caller=T1"));
  EXPECT_FALSE(is_kmsg_record("6,1,2"));
  EXPECT_FALSE(is_kmsg_record("1,2,3 and more"));
  EXPECT_TRUE(is_kmsg_record_key(" DEVICE=n3"));
  EXPECT_FALSE(is_kmsg_record_key("DEVICE=n3"));
  EXPECT_FALSE(is_kmsg_record_key(" Device=n3"));
  EXPECT_FALSE(is_kmsg_record_key(" ="));
}

}  // namespace
}  // namespace jetmem::kernel_log
