// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/edac.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

const std::string kMc = "/sys/devices/system/edac/mc/mc0/";

class EdacTest : public SourceTest<EdacSource> {
 protected:
  void mc(const std::string& leaf, std::string_view text) { fixture.file(kMc + leaf, text); }
  void mc(const std::string& files) { fixture.files(kMc, files); }
  double errors(const std::string& module, const std::string& label, const std::string& error) {
    return value("jetmem_edac_module_errors_total{controller=mc0,error=" + error +
                 ",label=" + label + ",module=" + module + "}");
  }
};

TEST_F(EdacTest, CountsOfControllerAndModules) {
  mc("ce_count=7 ue_count=1 ce_noinfo_count=2 ue_noinfo_count=0 dimm0/dimm_ce_count=5 "
     "dimm0/dimm_ue_count=1 dimm0/dimm_label=DIMM_A1 dimm0/dimm_edac_mode=SECDED "
     "dimm1/dimm_ce_count=0 dimm1/dimm_ue_count=0 dimm1/dimm_label=DIMM_B1 "
     "dimm1/dimm_edac_mode=SECDED");
  expect("jetmem_edac_*corrected}",
         "errors_total{controller=mc0,error==7 errors_total{controller=mc0,error=un=1 "
         "unlocated_errors_total{controller=mc0,error==2");
  EXPECT_EQ(errors("dimm0", "DIMM_A1", "corrected"), 5);
  EXPECT_EQ(errors("dimm0", "DIMM_A1", "uncorrected"), 1);
  EXPECT_EQ(errors("dimm1", "DIMM_B1", "corrected"), 0);
  EXPECT_EQ(value("jetmem_edac_ecc{controller=mc0,mode=SECDED}"), 1);
}

TEST_F(EdacTest, RowsAndChannelsWhereModulesHaveNoCounts) {
  mc("ce_count=3 ue_count=2 dimm0/dimm_label=slot dimm0/dimm_edac_mode=S4ECD4ED "
     "csrow0/ue_count=2 csrow0/edac_mode=S4ECD4ED csrow0/ch0_ce_count=3 csrow0/ch1_ce_count=0 "
     "csrow0/ch0_dimm_label=slot csrow0/ch1_dimm_label=slot2");
  EXPECT_EQ(errors("csrow0/ch0", "slot", "corrected"), 3);
  EXPECT_EQ(errors("csrow0/ch1", "slot2", "corrected"), 0);
  EXPECT_EQ(errors("csrow0", "", "uncorrected"), 2);
  EXPECT_EQ(value("jetmem_edac_ecc{controller=mc0,mode=S4ECD4ED}"), 1);
}

TEST_F(EdacTest, ModulesAreNotCountedAgainAsRows) {
  mc("ce_count=3 rank0/dimm_ce_count=3 csrow0/ch0_ce_count=3 csrow0/ue_count=0");
  EXPECT_EQ(errors("rank0", "", "corrected"), 3);
  EXPECT_EQ(reading().modules.size(), 1U);
}

TEST_F(EdacTest, WithoutEccAndWhereTheDriverDoesNotKnow) {
  mc("ce_count=0 dimm0/dimm_edac_mode=SECDED dimm1/dimm_edac_mode=None");
  EXPECT_EQ(value("jetmem_edac_ecc{controller=mc0,mode=None}"), 0);
  fixture.clear();
  mc("ce_count=0 dimm0/dimm_edac_mode=Unknown");
  EXPECT_EQ(reading().controllers[0].mode, "");
  EXPECT_EQ(all_absent(), "ecc_unknown 1");
}

TEST_F(EdacTest, AnOddCountCostsThatCount) {
  mc("ce_count=-1 ue_count=18446744073709551615 ce_noinfo_count=x ue_noinfo_count=0");
  mc("dimm0/dimm_ce_count", "12");
  mc("dimm0/dimm_label", "bad\x01name\n");
  fixture.error(kMc + "dimm0/dimm_ue_count", EACCES);
  EXPECT_EQ(fixture.keys().size(), 1U);
  EXPECT_TRUE(has("jetmem_edac_unlocated_errors_total{controller=mc0,error=uncorrected}"));
  EXPECT_EQ(all_absent(), "denied 1, impossible 2, malformed 2");
}

TEST_F(EdacTest, WhatIsMissingAndWhatCannotBeRead) {
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  EXPECT_EQ(fixture.code_with("/sys/devices/system/edac/mc", EACCES), Errc::kDenied);
  fixture.clear();
  mc("ce_count", "12");
  EXPECT_EQ(fixture.run().error().code, Errc::kMalformed);
}

TEST_F(EdacTest, ControllersAndModulesAreBounded) {
  for (int i = 0; i < 40; ++i) {
    fixture.file("/sys/devices/system/edac/mc/mc" + std::to_string(i) + "/ce_count", "0\n");
  }
  for (int i = 0; i < 200; ++i) mc("dimm" + std::to_string(i) + "/dimm_ce_count=1");
  EXPECT_EQ(reading().controllers.size(), Edac::kMaxControllers);
  EXPECT_EQ(reading().modules.size(), Edac::kMaxModules);
  EXPECT_EQ(absent("beyond_bound"), 8U + 72U);
}

}  // namespace
}  // namespace jetmem
