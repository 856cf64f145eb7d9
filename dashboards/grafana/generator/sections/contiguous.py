# SPDX-License-Identifier: Apache-2.0
"""Memory in one piece: CMA areas, and blocks of the page allocator."""

from ..layout import row
from ..panels import BARS, query


def cma(k):
    return row("Contiguous memory (CMA)", used(k), fit(k), free(k), borrowed(k), refused(k))


def used(k, w=6, h=9):
    return k.panels.bargauge(
        "Taken by drivers",
        "Share of each area that drivers have. Programs that borrow the area do not count: they give way.",
        f'max by (area) ({k.s("jetmem_cma_used_ratio")})',
        "{{area}}",
        w=w,
        h=h,
        bounds=[("JetmemCmaExhausted", "jetmem_cma_used_ratio")],
        alerts=["JetmemCmaExhausted"],
        defaults={"min": 0, "max": 1},
    )


def fit(k, w=6, h=9):
    return k.panels.bargauge(
        "Does a frame fit?",
        "Largest free piece by what is wanted in one piece: below 100% a camera's frame, or the largest "
        "request that was refused, cannot be had.",
        f'min by (area) ({k.s("jetmem_cma_frame_fit_ratio")})',
        "{{area}}",
        w=w,
        h=h,
        bounds=[("JetmemCmaFragmented", "jetmem_cma_frame_fit_ratio")],
        alerts=["JetmemCmaFragmented"],
        defaults={"min": 0},
    )


def free(k, w=12, h=9):
    s = k.s
    return k.panels.timeseries(
        "Free, and the largest piece of it",
        "What drivers have left of each area, and the largest run of it, which decides "
        "whether a buffer can be had. The lowest of each minute.",
        [
            query(s("jetmem_cma_area_bytes"), "{{area}}: size"),
            query(s("jetmem_cma_available_min_1m_bytes"), "{{area}}: left by drivers"),
            query(s("jetmem_cma_largest_free_run_min_1m_bytes"), "{{area}}: largest run"),
        ],
        w=w,
        h=h,
        low=0,
        calcs=("last", "min"),
        alerts=["JetmemCmaExhausted", "JetmemCmaFragmented"],
    )


def borrowed(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Free by the kernel's count",
        "CmaFree also falls when programs borrow the area, which is no trouble: it matters only where "
        "what drivers hold is not known.",
        [query(s("jetmem_cma_free_ratio"), "free of all areas")],
        w=w,
        low=0,
        high=1,
        calcs=("last", "min"),
        bounds=[("JetmemCmaFreeLow", "jetmem_cma_free_ratio")],
        alerts=["JetmemCmaFreeLow"],
    )


def refused(k, w=12, h=8):
    s = k.s
    return k.panels.timeseries(
        "Refused",
        f"Calls of cma_alloc that got nothing (Linux 5.13 on), and the pages that were asked for in vain. {BARS}",
        [
            query(f'increase({s("jetmem_vmstat_cma_alloc_fail_total")}[$__rate_interval])', "calls"),
            query(f'increase({s("jetmem_cma_alloc_pages_fail_total")}[$__rate_interval])', "{{area}}: pages"),
        ],
        w=w,
        h=h,
        style="bars",
        unit="short",
        low=0,
        alerts=["JetmemCmaAllocationFailing", "JetmemDmaAllocationFailing"],
    )


def fragmentation(k):
    return row("Fragmentation", heat(k), best(k), evidence(k), blocks(k), pageblocks(k))


def heat(k, h=9):
    return k.panels.heatmap(
        "Free blocks by size, over time",
        "Memory in free blocks of exactly each order (2^order pages), all zones and CMA together. "
        "When the upper rows go dark while the lower ones are bright, memory is there and in splinters.",
        f'sum by (order) ({k.s("jetmem_buddy_free_bytes")})',
        "{{order}}",
        "short",
        h=h,
        alerts=["JetmemBuddyFragmented"],
    )


def best(k, w=4, h=8):
    return k.panels.stat(
        "Largest free block",
        "Order of the largest block that a driver is sure to get, from any zone. -1: none at all.",
        k.s("jetmem_buddy_best_order_outside_cma"),
        w=w,
        h=h,
        bounds=[("JetmemBuddyFragmented", "jetmem_buddy_best_order_outside_cma")],
        alerts=["JetmemBuddyFragmented"],
    )


def evidence(k, w=4, h=8):
    return k.panels.stat(
        "Does it hurt?",
        "Kinds of evidence within ten minutes that fragmentation hurts: failed compactions, stalls, failed allocations.",
        k.s("jetmem_fragmentation_evidence"),
        w=w,
        h=h,
        bounds=[("JetmemBuddyFragmented", "jetmem_fragmentation_evidence")],
        alerts=["JetmemBuddyFragmented"],
    )


def blocks(k, w=8):
    s = k.s
    return k.panels.timeseries(
        "Largest block by zone",
        "Order of the largest free block of each zone, without free CMA.",
        [query(s("jetmem_buddy_largest_order_outside_cma"), "node {{node}} {{zone}}")],
        w=w,
        style="steps",
        calcs=("last", "min"),
        bounds=[("JetmemBuddyFragmented", "jetmem_buddy_best_order_outside_cma")],
        alerts=["JetmemBuddyFragmented"],
    )


def pageblocks(k, w=8):
    return k.panels.timeseries(
        "Pageblocks by mobility",
        "Unmovable ones that spread while movable ones shrink are mostly undone only by a reboot. Read every "
        "five minutes.",
        [query(f'sum by (migratetype) ({k.s("jetmem_pagetype_pageblocks")})', "{{migratetype}}")],
        w=w,
        stack=True,
        low=0,
        calcs=("last",),
    )
