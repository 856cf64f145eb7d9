# SPDX-License-Identifier: Apache-2.0
"""Events of the kernel log: faults, kills, refusals."""

from ..layout import row
from ..panels import BARS, query
from ..query import grown
from ..tables import Column, Label, table
from .verdict import ANY_IS_WARNING


def section(k):
    return row("Faults and events", new_events(k), recent(k), faults(k), since_boot(k), clients(k), kills(k), log(k))


def new_events(k, w=12, h=9):
    return k.panels.timeseries(
        "Events",
        f"Events in the kernel's log as they are counted, by kind. {BARS} The first of a kind that a device never had is seen in the "
        "panel beside this one.",
        [query(f'sum by (kind) (increase({k.s("jetmem_kernel_events_total")}[$__rate_interval])) > 0', "{{kind}}")],
        w=w,
        h=h,
        style="bars",
        stack=True,
        low=0,
        calcs=(),
        unit="short",
        alerts=[
            "JetmemOomKill",
            "JetmemPageAllocationFailure",
            "JetmemMemoryControllerError",
            "JetmemDmaAllocationFailing",
        ],
        nothing="no event in this time",
    )


def recent(k, w=12, h=9):
    return k.panels.timeseries(
        "Within the last ten minutes",
        "Events of the last ten minutes by the time at which they were, also those from before jetmem started. "
        "What alerts go by.",
        [query(f'sum by (kind) ({k.s("jetmem_kernel_recent_events")}) > 0', "{{kind}}")],
        w=w,
        h=h,
        style="steps",
        low=0,
        calcs=("last", "max"),
        alerts=["JetmemCmaAllocationFailing", "JetmemNvmapCap"],
        nothing="no event in this time",
    )


def faults(k, w=24):
    return k.panels.timeseries(
        "SMMU faults a minute",
        "Accesses to memory that a device must not touch, by the device behind the stream ID. client unknown: the kernel only "
        "counted them.",
        [query(f'sum by (smmu, client) ({k.s("jetmem_smmu_recent_faults")})', "{{client}} at {{smmu}}")],
        w=w,
        style="steps",
        low=0,
        bounds=[("JetmemSmmuFault", "jetmem_smmu_recent_faults"), ("JetmemSmmuStorm", "jetmem_smmu_recent_faults")],
        alerts=["JetmemSmmuFault", "JetmemSmmuStorm", "JetmemSmmuSuppressed"],
        nothing="no device has faulted",
    )


def since_boot(k, w=12, h=9):
    s = k.s
    return table(
        k.panels,
        "Events since boot",
        "By kind, with those that the kernel only counted and those from before jetmem came to read the log.",
        [Label("kind")],
        [
            Column(
                "events", f'sum by (kind) ({s("jetmem_kernel_events_total")}) > 0', bounds=ANY_IS_WARNING, look="text"
            ),
            Column("last", f'max by (kind) ({s("jetmem_kernel_event_last_seen_timestamp_seconds")}) * 1000'),
            Column("not printed", f'max by (kind) ({s("jetmem_kernel_events_suppressed_total")}) > 0'),
            Column("before jetmem", f'max by (kind) ({s("jetmem_kernel_events_before_start")}) > 0'),
        ],
        w=w,
        h=h,
        sort="-events",
        nothing="no event since boot",
    )


def clients(k, w=12, h=9):
    return table(
        k.panels,
        "SMMU faults since boot",
        "By SMMU, client, fault and direction.",
        [Label("client"), Label("smmu"), Label("fault"), Label("access")],
        [
            Column(
                "faults",
                f'sum by (client, smmu, fault, access) ({k.s("jetmem_smmu_faults_total")}) > 0',
                bounds=ANY_IS_WARNING,
                look="text",
            )
        ],
        w=w,
        h=h,
        sort="-faults",
        alerts=["JetmemSmmuFault"],
        nothing="no fault since boot",
    )


def kills(k, w=12, h=7):
    return table(
        k.panels,
        "OOM kills, since boot",
        "Who was killed: by the machine as a whole (machine) or by a control group's own limit (memcg).",
        [Label("comm", title="process"), Label("scope")],
        [
            Column(
                "kills",
                f'sum by (comm, scope) ({k.s("jetmem_oom_kills_total")}) > 0',
                bounds=ANY_IS_WARNING,
                look="text",
            )
        ],
        w=w,
        h=h,
        sort="-kills",
        alerts=["JetmemOomKill"],
        nothing="nobody since boot",
    )


def log(k, w=12, h=7):
    s = k.s
    return k.panels.timeseries(
        "The log itself",
        "Records read, and records that were overwritten before jetmem could read them: events among those are not counted.",
        [
            query(f'increase({s("jetmem_kernel_log_records_total")}[$__rate_interval])', "read"),
            query(f'increase({s("jetmem_kernel_log_lost_records_total", reason="overrun")}[$__rate_interval])', "lost"),
        ],
        w=w,
        h=h,
        unit="short",
        low=0,
        alerts=["JetmemKernelLogLost"],
    )


# ------------------------------------------------------------------- within the time shown, for an incident


def in_time(k, w=8, h=9):
    total = k.s("jetmem_kernel_events_total")
    return table(
        k.panels,
        "Events in this time",
        "By kind; where the device was not scraped at the beginning, all since its boot.",
        [Label("kind")],
        [Column("events", f"sum by (kind) ({grown(total)}) > 0", bounds=ANY_IS_WARNING, look="text")],
        w=w,
        h=h,
        sort="-events",
        nothing="none in this time",
    )


def clients_in_time(k, w=8, h=9):
    total = k.s("jetmem_smmu_faults_total")
    return table(
        k.panels,
        "SMMU faults in this time",
        "By client and fault; where the device was not scraped at the beginning, all since its boot.",
        [Label("client"), Label("fault"), Label("access")],
        [Column("faults", f"sum by (client, fault, access) ({grown(total)}) > 0", bounds=ANY_IS_WARNING, look="text")],
        w=w,
        h=h,
        sort="-faults",
        alerts=["JetmemSmmuFault", "JetmemSmmuStorm"],
        nothing="none in this time",
    )


def kills_in_time(k, w=8, h=9):
    total = k.s("jetmem_oom_kills_total")
    return table(
        k.panels,
        "Killed in this time",
        "Processes killed by the OOM killer; where the device was not scraped at the beginning, all since its boot.",
        [Label("comm", title="process"), Label("scope")],
        [Column("kills", f"sum by (comm, scope) ({grown(total)}) > 0", bounds=ANY_IS_WARNING, look="text")],
        w=w,
        h=h,
        sort="-kills",
        alerts=["JetmemOomKill"],
        nothing="nobody in this time",
    )
