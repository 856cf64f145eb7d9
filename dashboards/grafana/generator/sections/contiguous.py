# SPDX-License-Identifier: Apache-2.0
"""Contiguous memory: CMA areas, and blocks of the page allocator."""

from ..layout import row
from ..panels import BARS, query


def cma(k):
    return row("Contiguous memory (CMA)", used(k), fit(k), free(k), borrowed(k), refused(k))


def used(k, w=6, h=9):
    return k.panels.bargauge(
        "CMA used by drivers",
        "Share of each area that drivers allocated. Pages that programs borrow do not count: the kernel moves them away.",
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
        "Largest free CMA block, share of a frame",
        "Largest free block divided by the largest camera frame or failed request. Below 100% the next such request is "
        "refused.",
        f'min by (area) ({k.s("jetmem_cma_frame_fit_ratio")})',
        "{{area}}",
        w=w,
        h=h,
        bounds=[("JetmemCmaFragmented", "jetmem_cma_frame_fit_ratio")],
        alerts=["JetmemCmaFragmented"],
        defaults={"min": 0},
    )


def fullest(k, w=4):
    return k.panels.stat(
        "CMA used, fullest area",
        "Share of the fullest contiguous area that drivers allocated.",
        f'max({k.s("jetmem_cma_used_ratio")})',
        w=w,
        bounds=[("JetmemCmaExhausted", "jetmem_cma_used_ratio")],
        alerts=["JetmemCmaExhausted"],
    )


def tightest(k, w=4):
    return k.panels.stat(
        "Free CMA block, share of a frame",
        "Largest free block of the worst area divided by the largest camera frame or failed request. Below 100% the next "
        "such request is refused.",
        f'min({k.s("jetmem_cma_frame_fit_ratio")})',
        w=w,
        bounds=[("JetmemCmaFragmented", "jetmem_cma_frame_fit_ratio")],
        alerts=["JetmemCmaFragmented"],
    )


def free(k, w=12, h=9):
    s = k.s
    return k.panels.timeseries(
        "CMA free and largest free block",
        "What drivers can still allocate from each area, and its largest contiguous block, which decides whether a buffer "
        "fits. The lowest value of each minute.",
        [
            query(s("jetmem_cma_area_bytes"), "{{area}}: size"),
            query(s("jetmem_cma_available_min_1m_bytes"), "{{area}}: not used by drivers"),
            query(s("jetmem_cma_largest_free_run_min_1m_bytes"), "{{area}}: largest free block"),
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
        "CMA free (CmaFree)",
        "CmaFree also falls when programs borrow the area, which is harmless. It matters only where the use by drivers is "
        "unknown.",
        [query(s("jetmem_cma_free_ratio"), "free, all areas")],
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
        "CMA allocations refused",
        f"Failed calls of cma_alloc (Linux 5.13 and later), and failed page requests. {BARS}",
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
        "Free memory by block order",
        "Memory in free blocks of exactly each order (2^order pages), all zones and CMA together. Dark upper rows with "
        "bright lower ones mean that memory is free but fragmented.",
        f'sum by (order) ({k.s("jetmem_buddy_free_bytes")})',
        "{{order}}",
        "short",
        h=h,
        alerts=["JetmemBuddyFragmented"],
    )


def best(k, w=4, h=8):
    return k.panels.stat(
        "Largest free block outside CMA",
        "Largest block outside CMA in any zone, which any driver can allocate. 0: none.",
        k.s("jetmem_buddy_best_outside_cma_bytes"),
        w=w,
        h=h,
        bounds=[("JetmemBuddyFragmented", "jetmem_buddy_best_outside_cma_bytes")],
        alerts=["JetmemBuddyFragmented"],
    )


def evidence(k, w=4, h=8):
    return k.panels.stat(
        "Failures from fragmentation, 10 min",
        "How many kinds of failure fragmentation caused in 10 min: failed compactions, stalls, failed allocations.",
        k.s("jetmem_fragmentation_evidence"),
        w=w,
        h=h,
        bounds=[("JetmemBuddyFragmented", "jetmem_fragmentation_evidence")],
        alerts=["JetmemBuddyFragmented"],
    )


def blocks(k, w=8):
    s = k.s
    return k.panels.timeseries(
        "Largest free block outside CMA over time",
        "Largest block outside CMA in any zone, which any driver can allocate.",
        [query(s("jetmem_buddy_best_outside_cma_bytes"), "any zone")],
        w=w,
        style="steps",
        low=0,
        calcs=("last", "min"),
        bounds=[("JetmemBuddyFragmented", "jetmem_buddy_best_outside_cma_bytes")],
        alerts=["JetmemBuddyFragmented"],
    )


def pageblocks(k, w=8):
    return k.panels.timeseries(
        "Pageblocks by migrate type",
        "When unmovable pageblocks spread and movable ones shrink, usually only a reboot reverses it. Read every five "
        "minutes.",
        [query(f'sum by (migratetype) ({k.s("jetmem_pagetype_pageblocks")})', "{{migratetype}}")],
        w=w,
        stack=True,
        low=0,
        calcs=("last",),
    )
