# SPDX-License-Identifier: Apache-2.0
"""What changed before an incident."""

from ..layout import row
from ..styles import GRAY, GREEN, RED, words
from ..panels import query
from ..query import named, now_or_last
from ..tables import Column, Label, table

ANSWERS = words(v0=("does not answer", RED), v1=("answers", GREEN))


def section(k):
    return row("Changes, boot and scrapes", changed(k), boot(k), answering(k))


def changed(k, w=8, h=8):
    return table(
        k.panels,
        "Latest changes and marks",
        "Latest change of kernel, command line, L4T, power mode, and jetmem's settings and version; mark: a note made with jetmem mark.",
        [Label("what")],
        [Column("when", f'{now_or_last(k.s("jetmem_last_change_timestamp_seconds"), "max by (what) ")} * 1000')],
        w=w,
        h=h,
        sort="-when",
        nothing="nothing changed since the history began",
    )


def boot(k, w=16, h=8):
    s = k.s
    return table(
        k.panels,
        "Last boot and reset reason",
        "Why the chip was reset before this boot, how long the device was down, and whether the kernel recorded a crash.",
        [Label("reason"), Label("cause"), Label("level", width=70)],
        [
            Column(None, now_or_last(s("jetmem_boot_reset_reason_info"), "max by (reason, cause, level) "), "short"),
            Column("booted", f'{now_or_last(s("jetmem_boot_time_seconds"), "max")} * 1000', "dateTimeFromNow"),
            Column("downtime", now_or_last(s("jetmem_boot_downtime_seconds"), "max")),
            Column(
                "crash recorded",
                now_or_last(s("jetmem_boot_crash_recorded"), "max"),
                "short",
                mappings=words(v0=("no", GRAY), v1=("yes", RED)),
                look="text",
            ),
        ],
        w=w,
        h=h,
        alerts=["JetmemDeviceRebootedUncleanly"],
    )


def answering(k, h=4):
    return k.panels.timeline(
        "Scrape success",
        "Whether the device answered Prometheus. Other panels have gaps where it did not.",
        [query(k.s("up"), "{{instance}}")],
        ANSWERS,
        h=h,
        unit="short",
        nothing="not scraped by Prometheus in this time range",
    )


def grew(k, w=24, h=9):
    """Groups of processes, by what they took between the beginning and the end of the time shown."""
    by = "command, unit, container"

    def column(title, metric):
        series = k.s(metric)
        return Column(
            title, named(f"max by ({by}) ({now_or_last(series)} - {series} offset $__range)", "unit", "container")
        )

    return table(
        k.panels,
        "Growth of process groups in the time range",
        "Growth of each process group since the start of the time range. Only groups that were among the largest at both ends. "
        "If the device is down, its last values are used.",
        [Label("command"), Label("unit"), Label("container")],
        [
            column("resident", "jetmem_process_group_resident_bytes"),
            column("GPU and camera", "jetmem_process_group_gpu_bytes"),
            column("other DMA-BUFs", "jetmem_process_group_dmabuf_bytes"),
            Column(
                "resident now",
                named(now_or_last(k.s("jetmem_process_group_resident_bytes"), f"max by ({by}) "), "unit", "container"),
            ),
        ],
        w=w,
        h=h,
        sort="-resident",
        alerts=["JetmemMemoryLeak", "JetmemOomKill"],
    )
