# SPDX-License-Identifier: Apache-2.0
"""Free memory falls to splinters: large blocks are refused, then a burst of packets takes the reserve.

There is memory all the time. What is missing are blocks of 2^6 pages and more outside CMA, and, for
a minute, anything for those who cannot wait.
"""

import oom_report

WAIT = "0x40cc0(GFP_KERNEL|__GFP_COMP)"


def story(m):
    yield "the machine as it was found"
    yield from m.quiet(9)
    for largest in (8, 7, 6, 5):
        m.splinter(largest)
        yield f"services come and go: no free block above {m.kb(1 << largest)} KiB outside CMA" if largest == 5 else None
        yield from splintered(m, 9, largest)
    for second in range(370):
        m.vm["compact_stall"] += second % 4 == 0
        m.vm["compact_fail"] += second % 4 == 0
        m.vm["allocstall_movable"] += second % 7 == 0
        if second % 60 == 10:
            oom_report.page_failure(m, 3312, "kworker/u12:3", 7, WAIT)
        yield from splintered(m, 1, 5, "a driver asks for 512 KiB in one piece and is refused" if second == 10 else None)
    burst, announced = 0, False
    for second in range(90):
        # kswapd frees some, and the packets take that, too.
        m.vm["pgscan_kswapd"] += 40_000
        m.vm["pgsteal_kswapd"] += 2_000
        more = spare(m) + 1500 if second == 0 else max(0, m.below_min() * -1 + 1500)
        m.grow_slab(more)
        burst += more
        if second % 30 == 5:
            oom_report.page_failure(m, 47, "ksoftirqd/3", 3, "0x40a20(GFP_ATOMIC|__GFP_COMP)")
        m.pressure.stalls("memory", 0.12, 0.02)
        yield from splintered(m, 1, 5, "a burst of packets: the reserve of those who cannot wait is used up" if not announced else None)
        announced = True
    m.shrink_slab(burst)
    m.pressure.stalls("memory", 0.01, 0.0)
    yield from splintered(m, 1, 5, "the burst is over; the splinters stay")
    yield from splintered(m, 10, 5)


def spare(m):
    """What is free above the last watermarks."""
    return sum(max(0, m.free_in(z) - m.free_in(z, "CMA") - m.zones[z]["min"] - max(m.zones[z]["protection"])) for z in m.zones)


def splintered(m, seconds, largest, said=None):
    for _ in range(seconds):
        m.splinter(largest)
        yield said
        said = None
