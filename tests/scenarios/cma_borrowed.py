# SPDX-License-Identifier: Apache-2.0
"""Files fill the contiguous area as on any machine, but this kernel does not tell what drivers have.

It has neither CONFIG_CMA_SYSFS nor CONFIG_CMA_DEBUGFS, so CmaFree is all that is known; and memory is
short enough that tasks wait for reclaim now and then.
"""


def before(tree):
    tree.remove("/sys/kernel/debug/cma")


def story(m):
    yield "the machine as it was found"
    yield from m.quiet(9)
    m.pressure.stalls("memory", 0.03, 0.01)
    part = (m.free_cma - m.files.mem["CmaTotal"] * 1024 // m.page_size // 25) // 30
    for second in range(30):
        if part > 0:
            m.lend_cma(part)
        yield "recordings are read: the page cache borrows contiguous memory" if second == 0 else None
    yield f"{m.kb(m.free_cma) // 1024} MiB of it are free, and drivers may have the rest"
    yield from m.quiet(20)
