# SPDX-License-Identifier: Apache-2.0
"""Holders of memory: processes, GPU and camera buffers, compressed swap."""

from ..layout import row
from ..panels import query
from ..query import named
from ..tables import Column, Label, table

_GROUP = "command, unit, container"


def section(k):
    return row(
        "Memory holders", top(k), groups(k), nvmap(k), nvmap_processes(k), dmabuf(k), dmabuf_holders(k), swap(k), gpu(k)
    )


def top(k, h=11):
    s = k.s

    def column(title, metric, unit=None, look="auto"):
        return Column(title, named(f"max by ({_GROUP}) ({s(metric)})", "unit", "container"), unit, look=look)

    return table(
        k.panels,
        "Largest process groups",
        "The largest groups of processes with the same name, unit and container. Resident memory does not include GPU memory. "
        "Growth: last 15 min. Trend: slope of two hours, where a straight line fits well.",
        [Label("command"), Label("unit"), Label("container")],
        [
            column("resident", "jetmem_process_group_resident_bytes", look="gauge"),
            column("GPU and camera", "jetmem_process_group_gpu_bytes", look="gauge"),
            column("other DMA-BUFs", "jetmem_process_group_dmabuf_bytes"),
            column("processes", "jetmem_process_group_processes"),
            column("growth", "jetmem_process_group_growth_bytes_per_second"),
            column("trend", "jetmem_process_group_trend_bytes_per_second"),
        ],
        w=24,
        h=h,
        sort="-resident",
        alerts=["JetmemMemoryLow", "JetmemMemoryLeak", "JetmemOomKill"],
    )


def groups(k, w=24, h=9):
    resident = f'sum by ({_GROUP}) ({k.s("jetmem_process_group_resident_bytes")})'
    most = f'sum by ({_GROUP}) (max_over_time({k.s("jetmem_process_group_resident_bytes")}[$__range] @ end()))'
    return k.panels.timeseries(
        "Resident memory of the ten largest groups",
        "The ten process groups with the highest resident memory at any time in the time range.",
        [query(f"{resident} and topk(10, {most})", "{{command}} {{unit}} {{container}}")],
        w=w,
        h=h,
        low=0,
    )


def nvmap(k, w=12, h=9):
    s = k.s
    return k.panels.timeseries(
        "GPU and camera memory (nvmap)",
        "By heap, and the part without an nvmap client. Growth of that part is a leak that nvmap charges to no process: "
        "sudo jetmem top --gpu names the holder.",
        [
            query(s("jetmem_nvmap_heap_bytes"), "{{heap}}"),
            query(s("jetmem_nvmap_orphan_bytes"), "{{heap}}: without a client"),
            query(s("jetmem_gpu_available_bytes"), "available, including the page pool"),
        ],
        w=w,
        h=h,
        low=0,
        alerts=["JetmemNvmapOrphansGrowing", "JetmemNvmapCap", "JetmemNvmapCarveoutFull", "JetmemNvmapCarveoutRefused"],
    )


def nvmap_processes(k, w=12, h=9):
    return k.panels.bargauge(
        "GPU and camera memory by process",
        "The ten process names that hold most.",
        f'sort_desc(topk(10, sum by (process) ({k.s("jetmem_nvmap_process_bytes")})))',
        "{{process}}",
        w=w,
        h=h,
        alerts=["JetmemNvmapOrphansGrowing"],
    )


def dmabuf(k, w=12, h=9):
    s = k.s
    return k.panels.timeseries(
        "DMA-BUF memory",
        "Memory in DMA-BUFs of the whole machine, and by exporting driver. Resident memory of processes does not include it.",
        [
            query(s("jetmem_dmabuf_bytes"), "all ({{origin}})"),
            query(s("jetmem_dmabuf_exporter_bytes"), "exported by {{exporter}}"),
            query(s("jetmem_dmabuf_held_bytes"), "open in a process"),
        ],
        w=w,
        h=h,
        low=0,
    )


def dmabuf_holders(k, w=12, h=9):
    return k.panels.bargauge(
        "DMA-BUF memory by holder",
        "The ten process names that hold most; a shared buffer counts for each holder.",
        f'sort_desc(topk(10, sum by (command) ({k.s("jetmem_dmabuf_holder_bytes")})))',
        "{{command}}",
        w=w,
        h=h,
    )


def swap(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Swap and zram",
        "Memory that is swapped out, and the memory that zram uses to store it.",
        [
            query(f'sum({s("jetmem_swap_area_used_bytes")})', "swapped out"),
            query(f'sum({s("jetmem_swap_area_bytes")})', "swap size"),
            query(f'sum({s("jetmem_zram_used_bytes")})', "memory used by zram"),
        ],
        w=w,
        low=0,
        alerts=["JetmemSwapThrash"],
    )


def gpu(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "GPU memory by NVML",
        "With the driver nvidia.ko (Thor, PCs): memory of all processes on the GPU, and used memory of a card.",
        [
            query(s("jetmem_nvml_process_memory_bytes"), "GPU {{gpu}}: all processes"),
            query(s("jetmem_nvml_memory_used_bytes"), "GPU {{gpu}}: used card memory"),
        ],
        w=w,
        low=0,
    )
