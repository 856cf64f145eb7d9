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
        "Kernel events",
        f"Events in the kernel log as they are counted, by kind. {BARS} The very first event of a kind appears only in Kernel "
        "events of the last 10 min and in the totals.",
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
        nothing="no event in this time range",
    )


def recent(k, w=12, h=9):
    return k.panels.timeseries(
        "Kernel events of the last 10 min",
        "Number of events in the 10 min before each point, also those from before jetmem started. The alerts use these "
        "values.",
        [query(f'sum by (kind) ({k.s("jetmem_kernel_recent_events")}) > 0', "{{kind}}")],
        w=w,
        h=h,
        style="steps",
        low=0,
        calcs=("last", "max"),
        alerts=["JetmemCmaAllocationFailing", "JetmemNvmapCap"],
        nothing="no event in this time range",
    )


def faults(k, w=24):
    return k.panels.timeseries(
        "SMMU faults per minute",
        "Blocked accesses of devices to memory that is not mapped for them, by client. client unknown: the kernel only "
        "counted these faults.",
        [query(f'sum by (smmu, client) ({k.s("jetmem_smmu_recent_faults")})', "{{client}} at {{smmu}}")],
        w=w,
        style="steps",
        low=0,
        bounds=[("JetmemSmmuFault", "jetmem_smmu_recent_faults"), ("JetmemSmmuStorm", "jetmem_smmu_recent_faults")],
        alerts=["JetmemSmmuFault", "JetmemSmmuStorm", "JetmemSmmuSuppressed"],
        nothing="no device has caused a fault",
    )


def since_boot(k, w=12, h=9):
    s = k.s
    return table(
        k.panels,
        "Kernel events since boot",
        "By kind, including events that the kernel rate-limited and those from before jetmem started.",
        [Label("kind")],
        [
            Column(
                "events", f'sum by (kind) ({s("jetmem_kernel_events_total")}) > 0', bounds=ANY_IS_WARNING, look="text"
            ),
            Column("last", f'max by (kind) ({s("jetmem_kernel_event_last_seen_timestamp_seconds")}) * 1000'),
            Column("rate-limited", f'max by (kind) ({s("jetmem_kernel_events_suppressed_total")}) > 0'),
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
        "Number of faults by SMMU, client, fault and direction.",
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
        "OOM kills since boot",
        "Killed processes: because the machine ran out of memory (machine), or a control group reached its limit (memcg).",
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
        nothing="no kill since boot",
    )


def log(k, w=12, h=7):
    s = k.s
    return k.panels.timeseries(
        "Kernel log records read and lost",
        "Records read, and records overwritten before jetmem could read them. Events among the lost ones are not counted.",
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


# ------------------------------------------------------------------- within the time range, for an incident


def in_time(k, w=8, h=9):
    total = k.s("jetmem_kernel_events_total")
    booted = k.s("jetmem_boot_time_seconds")
    return table(
        k.panels,
        "Kernel events in the time range",
        "By kind. If the device was not scraped in the day before the range, all events since its boot.",
        [Label("kind")],
        [Column("events", f"sum by (kind) ({grown(total, booted)}) > 0", bounds=ANY_IS_WARNING, look="text")],
        w=w,
        h=h,
        sort="-events",
        nothing="none in this time range",
    )


def clients_in_time(k, w=8, h=9):
    total = k.s("jetmem_smmu_faults_total")
    booted = k.s("jetmem_boot_time_seconds")
    return table(
        k.panels,
        "SMMU faults in the time range",
        "By client and fault. If the device was not scraped in the day before the range, all faults since its boot.",
        [Label("client"), Label("fault"), Label("access")],
        [Column("faults", f"sum by (client, fault, access) ({grown(total, booted)}) > 0", bounds=ANY_IS_WARNING, look="text")],
        w=w,
        h=h,
        sort="-faults",
        alerts=["JetmemSmmuFault", "JetmemSmmuStorm"],
        nothing="none in this time range",
    )


def kills_in_time(k, w=8, h=9):
    total = k.s("jetmem_oom_kills_total")
    booted = k.s("jetmem_boot_time_seconds")
    return table(
        k.panels,
        "OOM kills in the time range",
        "Processes killed by the OOM killer. If the device was not scraped in the day before the range, all kills since its boot.",
        [Label("comm", title="process"), Label("scope")],
        [Column("kills", f"sum by (comm, scope) ({grown(total, booted)}) > 0", bounds=ANY_IS_WARNING, look="text")],
        w=w,
        h=h,
        sort="-kills",
        alerts=["JetmemOomKill"],
        nothing="no kill in this time range",
    )
