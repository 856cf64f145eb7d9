# SPDX-License-Identifier: Apache-2.0
"""A program leaks on the GPU and in RAM: cache and swap give way, and in the end everyone waits.

It is a detector, python3 with PID 2215.
"""

PID = 2215


def story(m):
    yield "the machine as it was found"
    yield from m.quiet(7)
    resident = m.devices.resident(PID) or 0
    gpu, swapped = m.devices.gpu_buffers(PID), 0
    unit = m.total_pages // 7620  # 1 MiB on a board of 8 GB
    for second in range(104):
        # The frames get larger as more of them are kept: slow first, then faster.
        rate = 9 + second // 6
        m.grow_gpu(rate * unit)
        gpu += m.kb(rate * unit)
        m.devices.set_gpu_buffers(PID, gpu)
        free_before = m.swap_free
        m.grow_anon(rate * unit // 2)
        # A part of what was swapped out was its own.
        own = min((free_before - m.swap_free) // 4, resident // 2)
        swapped += own
        resident = min(resident + rate * unit // 2 - own, m.vm["nr_anon_pages"] * 2 // 3)
        m.devices.set_resident(PID, resident, swapped)
        waits = m.memory_waits()
        if second == 0:
            yield f"python3 begins to leak: {m.kb(rate * unit) // 1024} MiB/s of GPU buffers, half as much of its own"
        elif second == 60:
            yield f"{m.available_mib()} MiB are left, {m.swap_used_mib()} MiB in swap, tasks wait {waits:.0%} of the time"
        elif second == 100:
            yield f"{m.available_mib()} MiB are left, {m.swap_used_mib()} MiB in swap, tasks wait {waits:.0%} of the time"
        else:
            yield None
    yield from m.quiet(8)
