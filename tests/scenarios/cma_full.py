# SPDX-License-Identifier: Apache-2.0
"""Camera after camera is started until the contiguous memory area is full, and one more is refused.

Nothing is fragmented here: drivers have nearly every page of it. What meminfo says (CmaFree) falls
sooner, as programs had borrowed a part.
"""

from cma_exhaustion import VI, left

RING = 4096  # the frames of one camera: 16 MiB


def story(m):
    yield "the area as it was found"
    yield from m.quiet(5)
    for owner in m.cma.owners():
        m.cma_release(owner)
    yield "all cameras are stopped: the area is free"
    yield from m.quiet(4)
    camera = 0
    while m.cma.largest_run >= RING:
        camera += 1
        m.cma_alloc(RING, f"camera {camera}")
        yield f"camera {camera} of many: {left(m.cma)}" if camera % 4 == 1 else None
        yield from m.quiet(4)
    # The alignment of a ring leaves gaps: smaller buffers fill them.
    for pages in (1024, 256, 64):
        while m.cma.largest_run >= pages and m.cma.used < m.cma.count * 0.98 and m.cma_alloc(pages, "statistics"):
            pass
    yield f"statistics of each camera take the rest: {left(m.cma)}"
    for retry in range(5):
        if not m.cma_alloc(RING, "one more"):
            m.log.print(3, f"{VI} {VI}: dma_alloc_coherent of size {RING * 4096} failed", VI)
        yield "one more camera is refused" if retry == 0 else None
        yield from m.quiet(5)
