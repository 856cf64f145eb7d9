// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/registers.h"

#include <gtest/gtest.h>

#include <string>

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogRegisters, EveryBitOfFsr) {
  EXPECT_EQ(fsr_faults(1U << 1).text(), "translation");
  EXPECT_EQ(fsr_faults(1U << 2).text(), "access flag");
  EXPECT_EQ(fsr_faults(1U << 3).text(), "permission");
  EXPECT_EQ(fsr_faults(1U << 4).text(), "external");
  EXPECT_EQ(fsr_faults(1U << 5).text(), "TLB match conflict");
  EXPECT_EQ(fsr_faults(1U << 6).text(), "TLB lock");
  EXPECT_EQ(fsr_faults(1U << 7).text(), "address size");
  EXPECT_EQ(fsr_faults(1U << 8).text(), "unsupported upstream transaction");
  EXPECT_EQ(fsr_faults(1U << 31).text(), "multiple");
  // The format of the tables and the stall are no faults.
  for (const unsigned bit : {0U, 9U, 10U, 11U, 15U, 29U, 30U}) {
    EXPECT_EQ(fsr_faults(1U << bit).text(), "") << bit;
  }
  EXPECT_EQ(fsr_faults(0x80000402U).text(), "translation, multiple");
  EXPECT_EQ(fsr_faults(0x0000000cU).text(), "access flag, permission");
}

TEST(KernelLogRegisters, EveryBitOfGfsr) {
  EXPECT_EQ(gfsr_faults(1U << 0).text(), "invalid context");
  EXPECT_EQ(gfsr_faults(1U << 1).text(), "unidentified stream");
  EXPECT_EQ(gfsr_faults(1U << 2).text(), "stream match conflict");
  EXPECT_EQ(gfsr_faults(1U << 3).text(), "unimplemented context bank");
  EXPECT_EQ(gfsr_faults(1U << 4).text(), "unimplemented context interrupt");
  EXPECT_EQ(gfsr_faults(1U << 5).text(), "configuration access");
  EXPECT_EQ(gfsr_faults(1U << 6).text(), "external");
  EXPECT_EQ(gfsr_faults(1U << 7).text(), "permission");
  EXPECT_EQ(gfsr_faults(1U << 8).text(), "unsupported upstream transaction");
  EXPECT_EQ(gfsr_faults(1U << 31).text(), "multiple");
  EXPECT_EQ(gfsr_faults(0).text(), "");
}

TEST(KernelLogRegisters, EveryBitOfGerror) {
  EXPECT_EQ(gerror_faults(1U << 0).text(), "command queue");
  EXPECT_EQ(gerror_faults(1U << 1).text(), "");
  EXPECT_EQ(gerror_faults(1U << 2).text(), "event queue abort");
  EXPECT_EQ(gerror_faults(1U << 3).text(), "page request queue abort");
  EXPECT_EQ(gerror_faults(1U << 4).text(), "command queue MSI abort");
  EXPECT_EQ(gerror_faults(1U << 5).text(), "event queue MSI abort");
  EXPECT_EQ(gerror_faults(1U << 6).text(), "page request queue MSI abort");
  EXPECT_EQ(gerror_faults(1U << 7).text(), "global error MSI abort");
  EXPECT_EQ(gerror_faults(1U << 8).text(), "service failure mode");
}

TEST(KernelLogRegisters, AllBitsAtOnceHaveRoom) {
  for (const std::string& text :
       {std::string(fsr_faults(UINT32_MAX).text()), std::string(gfsr_faults(UINT32_MAX).text())}) {
    EXPECT_TRUE(text.size() > 10 && text.substr(text.size() - 10) == ", multiple") << text;
  }
}

TEST(KernelLogRegisters, NamesThatDoNotFitAreLeftOut) {
  BitNames names;
  names.add(std::string(250, 'a'));
  names.add(std::string(250, 'b'));
  names.add("c");
  EXPECT_EQ(names.text(), std::string(250, 'a') + ", c");
}

TEST(KernelLogRegisters, Fsynr0) {
  EXPECT_EQ(fsynr0_of(0x13).level, 3U);
  EXPECT_EQ(fsynr0_of(0x04).level, 0U);
  EXPECT_TRUE(fsynr0_of(0x10).write);
  EXPECT_FALSE(fsynr0_of(0xffffffef).write);
  EXPECT_TRUE(fsynr0_of(0x20).privileged);
  EXPECT_FALSE(fsynr0_of(0xffffffdf).privileged);
}

}  // namespace
}  // namespace jetmem::kernel_log
