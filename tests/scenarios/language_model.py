# SPDX-License-Identifier: Apache-2.0
"""A language model's file fills the cache: CUDA finds no free memory, and the bandwidth is used up.

A quarter of the memory could be had at once, but it is the page cache's. CUDA's own figure shows what
is free (MemFree) only, and the driver refuses a large buffer before the cache gives way.
"""

PID = 1840  # of the camera's pipeline, which is stopped to make room


def story(m):
    yield "the machine as it was found"
    yield from m.quiet(9)
    m.shrink_gpu(m.devices.gpu_buffers(PID) * 1024 // m.page_size)
    m.devices.end(PID)
    yield f"the camera's pipeline is stopped: {m.available_mib()} MiB are available"
    yield from m.quiet(5)
    # At most what stays free above the watermarks; nvmap's buffers do not move.
    for second in range(30):
        m.grow_cache(m.total_pages // 100)
        yield "llama-server reads its model" if second == 0 else None
    yield f"the file is in the cache: {free_mib(m)} MiB are free, {m.available_mib()} MiB available"
    for second in range(330):
        m.meters.busy_memory(0.97 + m.rng.randrange(-15, 16) / 1000)
        if second % 120 == 20:
            m.log.print(4, "nvmap nvmap: nvmap_alloc_handle: failed to allocate memory")
            m.log.print(3, "nvgpu: 17000000.gpu               nvgpu_dma_print_err:105  [INFO]  DMA alloc FAILED: [sysmem] size=268435456 "
                           "aligned=268435456 flags:NO_KERNEL_MAPPING")
        if second == 30:
            m.devices.fill_carve_out("vpr", 1 << 20)
        yield {0: "it answers: the memory is busy all the time", 20: "a buffer of 256 MiB is refused",
               30: "protected video takes all of its carve-out"}.get(second)


def free_mib(m):
    return m.kb(m.free_pages) // 1024
