# SPDX-License-Identifier: Apache-2.0
"""jetmem itself: what it can read, what it costs, what it lost."""

from ..layout import row
from ..styles import BLUE, GRAY, GREEN, ORANGE, RED, text_words, words
from ..panels import query
from ..tables import Column, Label, table
from .verdict import ANY_IS_BAD, ANY_IS_WARNING, NOT_RECORDED, device

STATES = text_words(ok=GREEN, absent=GRAY, denied=ORANGE, failed=RED, stale=RED, pending=BLUE, disabled=GRAY)
UNREADABLE = words(v0=("ok or absent", GREEN), v1=("unreadable", RED))


def section(k):
    return row(
        "jetmem itself",
        device(k),
        sources(k),
        blindness(k),
        losses(k),
        rounds(k),
        cost(k),
        recorder(k),
        standing(k),
        starts(k),
    )


def sources(k, w=12, h=14):
    s = k.s
    labels = "source, state"
    return table(
        k.panels,
        "Source states",
        "Each source and its state: ok; absent, this kernel or board has none; denied, it needs privilege; failed; pending; "
        "disabled. It is the reason for panels that show: not available here.",
        [Label("source"), Label("state", width=90, mappings=STATES)],
        [
            Column(None, f'max by ({labels}) ({s("jetmem_source_state")}) == 1', "short"),
            Column("age", f'max by (source) ({s("jetmem_source_age_seconds")})'),
            Column("interval", f'max by (source) ({s("jetmem_source_interval_seconds")})'),
            Column("duration", f'max by (source) ({s("jetmem_source_duration_seconds")})'),
            Column(
                "errors", f'sum by (source) ({s("jetmem_source_errors_total")})', bounds=ANY_IS_WARNING, look="text"
            ),
            Column("values omitted", f'sum by (source) ({s("jetmem_source_absent_values")})'),
        ],
        w=w,
        h=h,
        sort="source",
        unit="short",
        alerts=["JetmemSourceFailing", "JetmemSourceDenied", "JetmemTegrastatsStale"],
    )


def blindness(k, w=12, h=14):
    return k.panels.timeline(
        "Unreadable sources",
        "Sources that exist on this device and could not be read.",
        [query(f'max by (source) ({k.s("jetmem_source_failing")})', "{{source}}")],
        UNREADABLE,
        w=w,
        h=h,
        unit="short",
        alerts=["JetmemSourceFailing"],
    )


def losses(k, w=12, h=9):
    return k.panels.timeseries(
        "Data lost and operations failed in jetmem",
        "What jetmem could not read, keep or report, in the 5 min before each point. All of it should be 0. One loss appears "
        "in every bar whose 5 min contain it: do not add bars up.",
        [query(f'max by (what) ({k.s("instance:jetmem_losses:increase5m")})', "{{what}}")],
        w=w,
        h=h,
        style="bars",
        stack=True,
        low=0,
        unit="short",
        calcs=("max",),
        alerts=["JetmemKernelLogLost"],
        nothing=NOT_RECORDED,
    )


def rounds(k, w=12, h=9):
    s = k.s
    return k.panels.timeseries(
        "Sampling lag and duration",
        "How late sample cycles started and how long they took, the highest of each minute. A high lag means that the machine is "
        "too busy to run even jetmemd in time.",
        [
            query(s("jetmem_sample_cycle_lag_max_1m_seconds"), "lag"),
            query(s("jetmem_sample_cycle_duration_max_1m_seconds"), "duration"),
            query(
                f'rate({s("jetmem_rule_evaluation_duration_seconds_sum")}[$__rate_interval]) / '
                f'rate({s("jetmem_rule_evaluation_duration_seconds_count")}[$__rate_interval])',
                "rule evaluation",
            ),
        ],
        w=w,
        h=h,
        low=0,
    )


def cost(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "CPU use of jetmem",
        "CPU time of each of jetmem's processes, as a share of one CPU.",
        [query(f'rate({s("jetmem_process_cpu_seconds_total")}[$__rate_interval])', "{{process}}")],
        w=w,
        unit="percentunit",
        low=0,
    )


def recorder(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Memory and disk use of jetmem",
        "Resident memory of jetmem's processes, and disk space of the flight recorder.",
        [
            query(s("jetmem_process_resident_memory_bytes"), "{{process}}: memory"),
            query(s("jetmem_history_bytes"), "recorder: disk"),
            query(s("jetmem_history_max_bytes"), "recorder: limit"),
        ],
        w=w,
        low=0,
    )


def standing(k, w=12, h=14):
    return k.panels.bargauge(
        "Errors and hangs in jetmem now",
        "Each should be 0.",
        f'max by (what) ({k.s("instance:jetmem_self_check:max")})',
        "{{what}}",
        w=w,
        h=h,
        unit="short",
        alerts=["JetmemHistoryNotWritten"],
        bounds=ANY_IS_BAD,
        nothing=NOT_RECORDED,
    )


def starts(k, w=12, h=14):
    return table(
        k.panels,
        "Boots and daemon starts",
        "How often, as far back as the history reaches; and how the previous boot ended.",
        [Label("what")],
        [Column("count", f'max by (what) ({k.s("instance:jetmem_starts:max")})', "short")],
        w=w,
        h=h,
        alerts=["JetmemRestartedOften", "JetmemDeviceRebootedUncleanly"],
        nothing=NOT_RECORDED,
    )
