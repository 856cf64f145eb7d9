# SPDX-License-Identifier: Apache-2.0
"""The memory that all share: how much there is, where it went, and who waits for it."""

from ..layout import row
from ..styles import PRESSURE_LEVELS
from ..panels import query


def section(k):
    return row(
        "Memory",
        available(k),
        exhaustion(k),
        pressure_level(k),
        hidden(k),
        budget(k),
        course(k),
        trend(k, w=8),
        stalls(k, w=8),
        zones(k, w=8),
        work(k),
        swap(k),
    )


def available(k, w=6):
    return k.panels.stat(
        "Available",
        "Share of memory that programs and the GPU can still have without swapping.",
        k.s("jetmem_memory_available_ratio"),
        w=w,
        bounds=[("JetmemMemoryLow", "jetmem_memory_available_ratio")],
        alerts=["JetmemMemoryLow", "JetmemMemoryExhausting"],
    )


def exhaustion(k, w=6):
    return k.panels.stat(
        "Used up in",
        "When memory is gone if it goes on falling as in the last two hours.",
        k.s("jetmem_trend_exhaustion_seconds", of="MemAvailable"),
        w=w,
        unit="dtdurations",
        bounds=[("JetmemMemoryLeak", "jetmem_trend_exhaustion_seconds")],
        alerts=["JetmemMemoryLeak"],
        nothing="no steady loss is seen",
    )


def pressure_level(k, w=6):
    return k.panels.stat(
        "Pressure", "How hard memory is to get now.", k.s("jetmem_memory_pressure_level"), w=w, mappings=PRESSURE_LEVELS
    )


def hidden(k, w=6):
    return k.panels.stat(
        "Hidden from CUDA",
        "Share of the available memory that CUDA does not count as free: it is cache now, and "
        "is given to whoever asks.",
        k.s("jetmem_gpu_free_hidden_ratio"),
        w=w,
        bounds=[("JetmemGpuFreeHidden", "jetmem_gpu_free_hidden_ratio")],
        alerts=["JetmemGpuFreeHidden"],
    )


def budget(k):
    return k.panels.bargauge(
        "Memory budget",
        "Where the module's memory went before the first program ran: all parts together are the "
        "module. linux mem_total is what programs share.",
        f'sort_desc(sum by (kind, part) ({k.s("jetmem_memory_budget_bytes")}))',
        "{{kind}}: {{part}}",
        w=8,
        h=10,
    )


def course(k, w=16, h=10):
    s = k.s
    return k.panels.timeseries(
        "Memory",
        "What Linux has, what is left of it, and what GPU and cameras took. The lowest of each minute "
        "is shown, so that a short shortage is not missed.",
        [
            query(s("jetmem_meminfo_MemTotal_bytes"), "total"),
            query(s("jetmem_meminfo_MemAvailable_min_1m_bytes"), "available, lowest of a minute"),
            query(s("jetmem_meminfo_MemFree_min_1m_bytes"), "free, lowest of a minute"),
            query(s("jetmem_meminfo_NvMapMemUsed_max_1m_bytes"), "nvmap (GPU, camera), highest of a minute"),
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
        "Trend",
        "How fast it grows, below 0 shrinks, by the last two hours. Shown only while a line explains it well.",
        [query(s("jetmem_trend_bytes_per_second"), "{{of}}")],
        w=w,
        alerts=["JetmemMemoryLeak", "JetmemNvmapOrphansGrowing"],
        nothing="nothing grows or shrinks steadily",
    )


def stalls(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Waiting for memory",
        "Share of time in which tasks waited for memory: some, at least one; full, all that could "
        "have run. The dashed line is the alert's, for full within 60 s.",
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
        "Above the last reserve",
        "Free memory of each zone above its min watermark, without free CMA, as drivers' "
        "requests are evaluated. Below 0 they wait or fail.",
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
            ("allocstall", "allocations stalled"),
            ("pgscan_direct", "pages scanned by programs"),
            ("workingset_refault_anon", "program pages back from swap"),
            ("workingset_refault_file", "file pages read again"),
            ("compact_stall", "waits for compaction"),
            ("compact_fail", "compactions in vain"),
        )
    ]
    return k.panels.timeseries(
        "Reclaim and compaction",
        "What programs themselves had to do to get memory, a second. All of it is 0 on a healthy " "machine.",
        queries,
        w=w,
        unit="cps",
        low=0,
        alerts=["JetmemBuddyFragmented"],
    )


def swap(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Swapping",
        "Pages a second. Those read back while programs wait for memory are what thrashing is made of.",
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
