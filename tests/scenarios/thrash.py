# SPDX-License-Identifier: Apache-2.0
"""Two programs need more than there is: what one gets back from swap, the other loses to it.

It goes on for minutes, without an end and without an OOM kill: swap is in memory (zram) and fast
enough for that.
"""

from machine import OutOfMemory

SECONDS = 420


def story(m):
    yield "the machine as it was found"
    yield from m.quiet(9)
    batch = m.total_pages // 120
    while m.files.fields(m)["MemAvailable"] * 25 > m.files.mem["MemTotal"]:
        m.grow_anon(batch)
        m.memory_waits()
        yield None
    yield f"both have loaded what they need: {m.available_mib()} MiB are left, {m.swap_used_mib()} MiB in swap"
    back = m.total_pages // 160
    for second in range(SECONDS):
        try:
            m.swap_in(back)
        except OutOfMemory:
            # The kernel would wait for kswapd here; there is swap left.
            m.swap_out(min(m.swap_free, back))
        m.memory_waits()
        m.pressure.stalls("memory", 0.62, 0.35)
        yield f"{m.kb(back) // 1024} MiB/s come back from swap, and as many go" if second == 0 else None
