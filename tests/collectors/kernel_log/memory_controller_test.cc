// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

std::string only(std::string_view text) {
  const std::vector<Event> events = events_of(text);
  if (events.size() != 1) return std::to_string(events.size()) + " events";
  EXPECT_EQ(events[0].kind(), EventKind::kMcError);
  return fields_of(events[0]);
}

std::string described(std::string_view text) {
  const std::vector<Event> events = events_of(text);
  return events.size() == 1 ? describe(events[0]) : std::to_string(events.size()) + " events";
}

constexpr std::string_view kPrefix = "tegra-mc 2c00000.memory-controller: ";
std::string mainline(std::string_view message) { return std::string(kPrefix).append(message); }

TEST(MemoryControllerLog, Mainline) {
  EXPECT_EQ(only(mainline("pcie5w: write @0x00000007fffe0000: EMEM address decode error "
                          "(EMEM decode error)")),
            "dev=2c00000.memory-controller client=pcie5w secure=false rw=write "
            "addr=0x00000007fffe0000 error=EMEM address decode error type=EMEM decode error");
  EXPECT_EQ(only(mainline("axisr: secure read @0x00000003fffffe80: VPR violation ((null))")),
            "dev=2c00000.memory-controller client=axisr secure=true rw=read "
            "addr=0x00000003fffffe80 error=VPR violation type=(null)");
  EXPECT_EQ(only("tegra-mc 7000f000.memory-controller: vicswr: write @0x8f001000: Page fault "
                 "(SMMU translation error [RW-])"),
            "dev=7000f000.memory-controller client=vicswr secure=false rw=write addr=0x8f001000 "
            "error=Page fault type=SMMU translation error [RW-]");
  EXPECT_EQ(only(mainline("hdar: read @0x0000000081000000: MTS carveout violation")),
            "dev=2c00000.memory-controller client=hdar secure=false rw=read "
            "addr=0x0000000081000000 error=MTS carveout violation");
}

TEST(MemoryControllerLog, Tegra264) {
  EXPECT_EQ(only("tegra-mc 8020000.memory-controller: viw: non-secure write @0x00000000c0104000: "
                 "Generalized carveout violation (NA)\n"
                 "tegra-mc 8020000.memory-controller: gsc_apr_id=3 gsc_co_apr_id=9\n"),
            "dev=8020000.memory-controller client=viw secure=false rw=write "
            "addr=0x00000000c0104000 error=Generalized carveout violation type=NA gsc_apr_id=3 "
            "gsc_co_apr_id=9");
  EXPECT_EQ(only("tegra-mc 8020000.memory-controller: mgbe0r: @0x0000000440001000: Reserved PA "
                 "error status:81"),
            "dev=8020000.memory-controller client=mgbe0r addr=0x0000000440001000 "
            "error=Reserved PA error status=81");
  EXPECT_EQ(only("tegra-mc 8020000.memory-controller: channel:4 status:2"),
            "dev=8020000.memory-controller channel=4 status=2");
  EXPECT_EQ(only("tegra-mc 8020000.memory-controller: gsc_apr_id=3 gsc_co_apr_id=9"), "0 events");
}

TEST(MemoryControllerLog, L4tThreeLines) {
  EXPECT_EQ(only("mc-err: (255) csw_axisw: MC request violates VPR requirements\n"
                 "mc-err:   status = 0x0ff74072; addr = 0x3ffffff80\n"
                 "mc-err:   secure: yes, access-type: write\n"),
            "swgid=255 client=csw_axisw error=MC request violates VPR requirements "
            "status=0x0ff74072 addr=0x3ffffff80 secure=true rw=write");
  EXPECT_EQ(only("mc-err: [mcerr] (vic) csr_vicsrd: SMMU address translation fault\n"
                 "mc-err: [mcerr]   status = 0x6001006c; addr = 0xf1230000\n"
                 "mc-err: [mcerr]   secure: no, access-type: read, SMMU fault: nr-nw-ns\n"),
            "swgid=vic client=csr_vicsrd error=SMMU address translation fault status=0x6001006c "
            "addr=0xf1230000 secure=false rw=read smmu_fault=nr-nw-ns");
  EXPECT_EQ(only("mc-err: [mcerr] csr_hdar: EMEM address decode error\n"
                 "mc-err: [mcerr]   status = 0x20000015; addr = [0x90000000 -> 0x9000001f]\n"
                 "  secure: no, access-type: read, SMMU fault: none\n"),
            "client=csr_hdar error=EMEM address decode error status=0x20000015 addr=0x90000000 "
            "addr_end=0x9000001f secure=false rw=read");
}

TEST(MemoryControllerLog, L4tPartsAlone) {
  EXPECT_EQ(only("mc-err:   status = 0x0ff74072; addr = 0x3ffffff80\n"),
            "status=0x0ff74072 addr=0x3ffffff80");
  EXPECT_EQ(only("mc-err:   secure: yes, access-type: write\n"), "secure=true rw=write");
  EXPECT_EQ(only("secure: yes, access-type: write\n"), "0 events");
  // Two errors stay two.
  EXPECT_EQ(only("mc-err: (1) csr_a: WCAM error\nmc-err: (2) csr_b: WCAM error\n"), "2 events");
}

TEST(MemoryControllerLog, L4tOtherMessages) {
  EXPECT_EQ(only("mc-err: MC fault - no status: invalid APB ASID update"),
            "error=invalid APB ASID update");
  EXPECT_EQ(only("mc-err: MC fault - WCAM error\n"
                 "mc-err: status: 0x00000042 status2: 0x00001000\n"),
            "error=WCAM error status=0x00000042 status2=0x00001000");
  EXPECT_EQ(only("mc-err: unknown mcerr fault, int_status=0x00001040, ch_int_status=0x00000000"),
            "error=unknown mcerr fault status=0x00001040");
  EXPECT_EQ(only("mc-err: Too many MC errors; throttling prints"), "error=Too many MC errors");
}

TEST(MemoryControllerLog, InWords) {
  EXPECT_EQ(described(mainline("pcie5w: write @0x7fffe0000: EMEM address decode error (EMEM decode "
                               "error)")),
            "memory client pcie5w wrote to address 0x7fffe0000 and was refused by the memory "
            "controller 2c00000.memory-controller (EMEM address decode error, EMEM decode error)");
  EXPECT_EQ(described(mainline("unknown: secure read @0x10: VPR violation ((null))")),
            "an unknown memory client read from address 0x10 and was refused by the memory "
            "controller 2c00000.memory-controller (VPR violation)");
  EXPECT_EQ(described("mc-err: Too many MC errors; throttling prints"),
            "the memory controller reports an error (Too many MC errors)");
  EXPECT_EQ(described("tegra-mc 8020000.memory-controller: channel:4 status:2"),
            "the memory controller 8020000.memory-controller reports an error");
}

TEST(MemoryControllerLog, OrdinaryAndSpoiltLinesTellNothing) {
  for (const std::string_view line :
       {"mc-err: mcerr ops are set to t19x",
        "mc-err: Set intmask: 0x33d40",
        "mc-err: [mcerr] Set intmask: 0x33d40",
        "mc-err: vpr base=0:b4000000, size=1c0, ctrl=1, override:(10a08340, 0c2e10c1, 1, 0)",
        "mc-err: (255",
        "mc-err: (255) csr_a",
        "mc-err:",
        "mc-err: (255) csr a: x",
        "mc-err:   status = zz; addr = 0x1",
        "mc-err:   status = 0x1; addr = ",
        "mc-err:   secure: perhaps, access-type: read",
        "mc-err:   secure: no, access-type: reader",
        "tegra-mc 2c00000.memory-controller: sync_state() pending due to 15340000.vic",
        "tegra-mc 2c00000.memory-controller: No interrupt in MCF",
        "tegra-mc 2c00000.memory-controller: Scrubber operation status:3",
        "tegra-mc 2c00000.memory-controller: hdar: read 0x81000000: VPR violation",
        "tegra-mc 2c00000.memory-controller: hdar: read @garbage: VPR violation",
        "tegra-mc 2c00000.memory-controller: hdar: fetch @0x81000000: VPR violation",
        "tegra-mc 2c00000.memory-controller: hdar: read @0x81000000: ",
        "tegra-mc 2c00000.memory-controller: hdar: read @0x81000000: a=b",
        "tegra-mc 2c00000.memory-controller: mgbe0r: @0x1: Reserved PA error",
        "tegra-mc 2c00000.memory-controller: channel:four status:2",
        "tegra-mc hdar"}) {
    EXPECT_EQ(only(line), "0 events") << line;
  }
}

TEST(MemoryControllerLog, AShorterLineNeverTellsMore) {
  const std::string line = mainline("hdar: secure read @0x81000000: Page fault (SMMU error [R-S])");
  for (std::size_t size = 0; size < line.size(); ++size) {
    for (const Event& event : events_of(std::string_view(line).substr(0, size))) {
      EXPECT_EQ(event.text("client"), "hdar");
      EXPECT_EQ(event.text("addr"), "0x81000000");
      EXPECT_FALSE(event.has("type")) << size;
    }
  }
}

TEST(MemoryControllerLog, Fixture) {
  std::ifstream in(std::string(JETMEM_FIXTURES) + "/kernel-log/memory_controller.txt");
  std::stringstream text;
  text << in.rdbuf();
  const std::vector<Event> events = events_of(text.str());
  EXPECT_EQ(events.size(), 16U);
  for (const Event& event : events) {
    EXPECT_EQ(event.kind(), EventKind::kMcError);
    Event again;
    EXPECT_EQ(decode_line(describe(event), Voice::kUnknown, again).piece.role, Role::kNothing);
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
