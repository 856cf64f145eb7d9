# SPDX-License-Identifier: Apache-2.0
"""A device with a stale mapping: one first fault, then a storm of which the kernel suppresses most.

It lets ten lines through in five seconds, and counts the rest.
"""

SMMU, MC = "12000000.iommu", "2c00000.memory-controller"
SID = 0x804  # gpcdma, with a bit that the match ignores


def story(m):
    iova = 0xFFFF0000

    def fault():
        nonlocal iova
        m.log.print(3, f"arm-smmu {SMMU}: Unhandled context fault: fsr=0x402, iova=0x{iova:08x}, fsynr=0x40011, cbfrsynra=0x{SID:x}, cb=4", SMMU)
        iova += 0x40

    def refused():
        m.log.print(3, f"tegra-mc {MC}: gpcdmaw: write @0x{iova:016x}: EMEM address decode error (EMEM decode error)", MC)

    yield "the machine as it was found"
    yield from m.quiet(9)
    fault()
    refused()
    yield "one DMA fault: gpcdma wrote to an address that nobody mapped"
    yield from m.quiet(14)
    m.pressure.stalls("cpu", 0.25)
    for second in range(80):
        # The rate of a UART at full speed, and a pause now and then.
        times = 0 if second % 23 > 20 else m.rng.randrange(600, 1400)
        m.log.limited("arm_smmu_context_fault", times, m.second, fault)
        m.log.limited("tegra30_mc_handle_irq", times, m.second, refused)
        yield "the storm begins, about a thousand faults a second" if second == 0 else None
    m.log.limited("arm_smmu_context_fault", 1, m.second + 5, fault)
    m.log.limited("tegra30_mc_handle_irq", 1, m.second + 5, refused)
    m.pressure.stalls("cpu", 0.11)
    yield "the driver was unloaded: silence"
    yield from m.quiet(14)
