# SPDX-License-Identifier: Apache-2.0
"""The kernel logs trouble that no metric measures: hardware, DMA memory, drivers, stalls.

One line of each rule of rules/shipped/kernel.yaml, and of others, as the drivers print it.
"""

DIMM = "memory read error on CPU#0Channel#2_DIMM#0 (channel:2 slot:0 page:0x0 offset:0x0 grain:8"

# (level, text, device, rule without "Jetmem" that is true from there on), one a second from BEGIN on.
BEGIN = 21
LINES = (
    (0, f"EDAC MC0: 1 UE {DIMM})", None, "MemoryErrorUncorrected"),
    *[(3, f"EDAC MC0: 1 CE {DIMM} syndrome:0x0)", None, None)] * 9,
    (3, f"EDAC MC0: 1 CE {DIMM} syndrome:0x0)", None, "MemoryError"),
    (0, "CPU1: SError detected, daif=140, spsr=0x40000045, mpidr=80000001, esr=bf000002", None, "BusError"),
    (3, "Host read timeout at address 13e2c010", None, None),
    (3, "OF: reserved mem: failed to allocate memory for node 'linux,cma'", None, "ReservedMemoryFailed"),
    (4, "dwc3 38200000.dwc3: swiotlb buffer is full (sz: 16384 bytes), total 32768 (slots), used 32768 (slots)",
     "38200000.dwc3", "BounceBufferFull"),
    (3, "drm drm: out of I/O virtual memory: -28", "drm", "DmaMappingFailing"),
    (4, "SLUB: Unable to allocate memory on node -1, gfp=0xcc0(GFP_KERNEL)", None, "DriverAllocationFailing"),
    (4, "nvgpu: 17000000.gpu         nvgpu_dma_alloc_flags_sys:238  [WRN]  memory leak !!", "17000000.gpu", "BufferLeak"),
    (3, "NVRM: Xid (PCI:0000:01:00): 43, pid=2317, name=python3, channel 0x00000018", None, "GpuHang"),
    (3, "tegra-nvdec 15480000.nvdec: falcon boot timed out", "15480000.nvdec", "FirmwareHang"),
    (3, "Write-error on swap-device (254:0:14656)", None, "StorageError"),
    (0, "watchdog: BUG: soft lockup - CPU#2 stuck for 23s! [kworker/2:1:77]", None, "CpuStall"),
    (1, "BUG: Bad page state in process python3  pfn:12345", None, "KernelOops"),
    (3, "tegra-camrtc-capture-vi tegra-capture-vi: uncorr_err: request timed out after 2500 ms",
     "tegra-capture-vi", "CameraTimeout"),
    (3, "generic-0: failed to alloc mem of size (2097152)", None, "NvmapCarveoutRefused"),
)


def story(m):
    yield from m.quiet(BEGIN - 1)
    for level, text, device, _ in LINES:
        m.log.print(level, text, device)
        yield "the kernel logs trouble" if text == LINES[0][1] else None
    # Long enough for a story of its own.
    yield from m.quiet(40)
