# SPDX-License-Identifier: Apache-2.0
"""Memory runs out: everyone reclaims for himself and waits, the kernel kills, the machine recovers.

The victim is python3, PID 2215.
"""

import oom_report
from machine import OutOfMemory

PID = 2215


def story(m):
    yield "the machine as it was found"
    yield from m.quiet(7)
    mine = m.devices.resident(PID) or 15_000
    swapped = 0
    batch = m.total_pages // 120  # in a second; 64 MiB on a board of 8 GB
    announced, killed = False, False
    for second in range(115):
        before = m.swap_free
        try:
            m.grow_anon(batch)
        except OutOfMemory:
            killed = True
            break
        # What is swapped out is mostly what it has not touched for long: its own.
        own = min((before - m.swap_free) * 3 // 4, mine)
        mine += batch - own
        swapped += own
        m.devices.set_resident(PID, mine, swapped)
        waits = m.memory_waits()
        if second == 0:
            yield f"python3 loads one batch after the other: {m.kb(batch) // 1024} MiB/s"
        elif waits > 0.5 and not announced:
            announced = True
            yield f"{m.available_mib()} MiB are left, {m.swap_used_mib()} MiB in swap: tasks wait {waits:.0%} of the time"
        else:
            yield None
    assert killed
    mapped, anon, of_files = m.devices.statm(PID) or (mine + swapped + 230_000, mine, 0)
    victim = {"pid": PID, "comm": "python3", "uid": 0, "memcg": m.devices.memory_cgroup(PID), "vm": mapped, "anon": anon, "file": of_files,
              "swapped": swapped, "pgtables_kb": (mine + swapped) // 512 * 4 + 320}
    oom_report.show(m, (1840, "gst-launch-1.0"), tasks(m, victim), victim)
    m.vm["oom_kill"] += 1
    m.vm["allocstall_movable"] += 40
    m.pressure.stalls("memory", 0.85, 0.6)
    yield "the kernel kills python3"
    m.shrink_anon(min(anon, m.vm["nr_anon_pages"] - 100_000), swapped)
    m.shrink_gpu(m.devices.gpu_buffers(PID) * 1024 // m.page_size)
    m.devices.end(PID)
    oom_report.reaped(m, victim)
    m.pressure.stalls("memory", 0.10, 0.04)
    m.pressure.stalls("io", 0.30, 0.20)
    yield f"{m.available_mib()} MiB are free again"
    for second in range(25):
        m.grow_cache(2048)
        m.pressure.stalls("memory", 0.02 if second < 10 else 0.0, 0.01 if second < 10 else 0.0)
        m.pressure.stalls("io", 0.15 if second < 15 else 0.02, 0.08 if second < 15 else 0.01)
        yield "what had to go from the cache is read again" if second == 0 else None


def tasks(m, victim):
    """The other processes, with what the kernel lists of each; the tree's own numbers where it has them."""
    rows = [(1, "systemd", 0, 41_900, 1_410), (642, "systemd-journald", 0, 12_800, 2_204), (1012, "nvargus-daemon", 0, 612_400, 9_117),
            (1377, "gnome-shell", 1000, 912_200, 31_206), (1840, "gst-launch-1.0", 1000, 604_100, 14_872), (2460, "llama-server", 1001, 2_804_500, 88_014)]
    table = []
    for pid, comm, uid, vm, rss in rows:
        vm, anon, of_files = m.devices.statm(pid) or (vm, rss * 3 // 4, rss // 4)
        table.append({"pid": pid, "comm": comm[:15], "uid": uid, "vm": vm, "anon": anon, "file": of_files, "swapped": vm // 90 if m.swap_total else 0,
                      "pgtables_kb": vm // 1200 * 4 + 40, "adj": -250 if pid == 642 else 0})
    return sorted(table + [victim], key=lambda t: t["pid"])
