# SPDX-License-Identifier: Apache-2.0
"""The memory that all share: how much there is, what uses it, and what waits for it."""

from ..layout import row
from ..styles import PRESSURE_LEVELS
from ..panels import query


def section(k):
    return row(
        "Memory",
        hidden(k),
        budget(k),
        trend(k, w=8),
        stalls(k, w=8),
        zones(k, w=8),
        work(k),
        swap(k),
    )


def available(k, w=4):
    return k.panels.stat(
        "Memory available",
        "Share of memory that programs and the GPU can still allocate without swapping.",
        k.s("jetmem_memory_available_ratio"),
        w=w,
        bounds=[("JetmemMemoryLow", "jetmem_memory_available_ratio")],
        alerts=["JetmemMemoryLow", "JetmemMemoryExhausting"],
    )


def exhaustion(k, w=4):
    return k.panels.stat(
        "Memory exhausted in",
        "Time until no memory is available if it continues to shrink as in the last two hours.",
        k.s("jetmem_trend_exhaustion_seconds", of="MemAvailable"),
        w=w,
        unit="dtdurations",
        bounds=[("JetmemMemoryLeak", "jetmem_trend_exhaustion_seconds")],
        alerts=["JetmemMemoryLeak"],
        nothing="memory does not shrink steadily",
    )


def pressure_level(k, w=4):
    return k.panels.stat(
        "Memory pressure",
        "What allocations cost now: none; the kernel reclaims; tasks stall; severe.",
        k.s("jetmem_memory_pressure_level"),
        w=w,
        mappings=PRESSURE_LEVELS,
    )


def hidden(k, w=6, h=10):
    return k.panels.stat(
        "Available memory that CUDA does not report",
        "Share of the available memory that CUDA does not report as free: it is page cache, and is freed for any allocation.",
        k.s("jetmem_gpu_free_hidden_ratio"),
        w=w,
        h=h,
        bounds=[("JetmemGpuFreeHidden", "jetmem_gpu_free_hidden_ratio")],
        alerts=["JetmemGpuFreeHidden"],
    )


def budget(k):
    return k.panels.bargauge(
        "Module memory by owner at boot",
        "What owned the module's memory before the first program ran; all parts add up to the module. linux mem_total is "
        "what programs share.",
        f'sort_desc(sum by (kind, part) ({k.s("jetmem_memory_budget_bytes")}))',
        "{{kind}}: {{part}}",
        w=18,
        h=10,
    )


def course(k, w=16, h=10):
    s = k.s
    return k.panels.timeseries(
        "Memory",
        "Memory of Linux, what is available and free, and what nvmap allocated for GPU and cameras. The lowest value of each "
        "minute, so that a short shortage is visible. nvmap: NvMapMemUsed of /proc/meminfo, or the sum of nvmap's heaps where "
        "the kernel does not report it there.",
        [
            query(s("jetmem_meminfo_MemTotal_bytes"), "total"),
            query(s("jetmem_meminfo_MemAvailable_min_1m_bytes"), "available, lowest of a minute"),
            query(s("jetmem_meminfo_MemFree_min_1m_bytes"), "free, lowest of a minute"),
            # One or the other: most kernels of an Orin have no NvMapMemUsed.
            query(
                f'{s("jetmem_meminfo_NvMapMemUsed_max_1m_bytes")}'
                f' or on (job, instance) {s("jetmem_nvmap_total_max_1m_bytes")}',
                "nvmap (GPU, camera), highest of a minute",
            ),
            query(s("jetmem_meminfo_CmaFree_bytes"), "free in CMA"),
        ],
        w=w,
        h=h,
        low=0,
        calcs=("last", "min", "max"),
        alerts=["JetmemMemoryLow"],
    )


def trend(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Memory growth, last two hours",
        "Growth per second, below 0 if it shrinks. Shown only while a straight line fits the last two hours well.",
        [query(s("jetmem_trend_bytes_per_second"), "{{of}}")],
        w=w,
        alerts=["JetmemMemoryLeak", "JetmemNvmapOrphansGrowing"],
        nothing="nothing grows or shrinks steadily",
    )


def stalls(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Memory stalls (PSI)",
        "Share of time in which tasks were stalled on memory: some, at least one task; full, all runnable tasks. The dashed "
        "line is the threshold of the alert, for full within 60 s.",
        [
            query(s("jetmem_pressure_stall_ratio", resource="memory", window="60s"), "{{kind}}, 60 s"),
            query(
                s("jetmem_pressure_stall_max_1m_ratio", resource="memory", window="10s"),
                "{{kind}}, 10 s, highest of a minute",
            ),
        ],
        w=w,
        low=0,
        bounds=[("JetmemMemoryStall", "jetmem_pressure_stall_ratio")],
        alerts=["JetmemMemoryStall"],
    )


def zones(k, w=12):
    return k.panels.timeseries(
        "Free memory above the min watermark",
        "Free memory of each zone above its min watermark, without free CMA, as for unmovable requests of drivers. Below 0 "
        "these requests wait or fail.",
        [
            query(
                k.s("jetmem_zone_watermark_distance_min_1m_bytes", watermark="min", request="unmovable"),
                "node {{node}} {{zone}}",
            )
        ],
        w=w,
        calcs=("last", "min"),
        bounds=_below_min(k),
        alerts=["JetmemBelowWatermark"],
    )


def _below_min(k):
    return [("JetmemBelowWatermark", "jetmem_zone_watermark_distance_bytes")]


def work(k, w=12):
    s = k.s
    queries = [
        query(f'rate({s(f"jetmem_vmstat_{name}_total")}[$__rate_interval])', legend)
        for name, legend in (
            ("allocstall", "direct-reclaim stalls"),
            ("pgscan_direct", "pages scanned in direct reclaim"),
            ("workingset_refault_anon", "anonymous pages refaulted"),
            ("workingset_refault_file", "file pages refaulted"),
            ("compact_stall", "compaction stalls"),
            ("compact_fail", "failed compactions"),
        )
    ]
    return k.panels.timeseries(
        "Reclaim and compaction",
        "Work per second that tasks do themselves to get memory. All of it is near 0 on a healthy machine.",
        queries,
        w=w,
        unit="cps",
        low=0,
        alerts=["JetmemBuddyFragmented"],
    )


def swap(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Swap-in and swap-out",
        "Pages per second. Many pages read back while tasks stall on memory mean thrashing.",
        [
            query(f'rate({s("jetmem_vmstat_pswpin_total")}[$__rate_interval])', "read"),
            query(f'rate({s("jetmem_vmstat_pswpout_total")}[$__rate_interval])', "written"),
        ],
        w=w,
        unit="cps",
        low=0,
        bounds=[("JetmemSwapThrash", "jetmem_vmstat_pswpin_total")],
        alerts=["JetmemSwapThrash"],
    )
