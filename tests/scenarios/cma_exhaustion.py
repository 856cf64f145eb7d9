# SPDX-License-Identifier: Apache-2.0
"""The camera fragments its contiguous memory area until a 4K frame no longer fits.

Each time the pipeline is set up again it gives its frames back, but two smaller buffers, of the preview,
stay: a leak. Each one lands where a frame was, and the rest of that place is too small for another. In
the end a third of the area is free, and yet there are no 12 MB in one piece.
"""

FRAME = -(-3840 * 2160 * 3 // 2 // 4096)  # one 4K frame in NV12: 3038 pages
PREVIEW = 2560 * 1440 * 2 // 4096         # a preview in YUYV: 1800 pages
VI = "tegra-capture-vi"


# Who allocates for an owner, and through which function of a driver.
PROGRAMS = {"frames": ("nvargus-daemon", "vb2_dc_alloc"), "leaked": ("gst-launch-1.0", "vb2_dc_alloc"), "display": ("gnome-shell", "tegra_bo_create")}


def story(m):
    for owner, (name, function) in PROGRAMS.items():
        m.cma_tasks[owner] = m.task(name), function
    yield "the area as it was found: the camera of yesterday holds most of it"
    for owner in m.cma.owners():
        m.cma_release(owner)
    m.cma_alloc(4096, "display")
    yield f"its service is restarted: the area is free but for the display's 16 MiB, {mib(m.cma.largest_run)} in one piece"
    yield from m.quiet(5)

    session, failed = 0, False
    while m.cma.largest_run >= FRAME:
        session += 1
        note = f"session {session}: {left(m.cma)}"
        for frame in range(6):
            if frame % 3 == 0:
                m.cma_alloc(PREVIEW + m.rng.randrange(-40, 40), "leaked")
            if not one_frame(m):
                note = f"no room for frame {frame + 1} of 6: {left(m.cma)}" if not failed else note
                failed = True
                break
            if frame % 2:
                yield note
                note = None
        yield note
        yield from m.quiet(m.rng.randrange(1, 3))
        m.cma_release("frames")
        yield None
    yield f"the camera no longer starts: {left(m.cma)}, and a frame needs 12"
    for retry in range(6):
        one_frame(m)
        yield from m.quiet(3)


def one_frame(m):
    got = m.cma_alloc(FRAME, "frames")
    if not got:
        m.log.print(3, f"{VI} {VI}: dma_alloc_coherent of size {FRAME * 4096} failed", VI)
    return got


def left(area):
    return f"{mib(area.count - area.used)} free, {mib(area.largest_run)} in one piece"


def mib(pages):
    return f"{pages // 256} MiB"
