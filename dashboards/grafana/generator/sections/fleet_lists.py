# SPDX-License-Identifier: Apache-2.0
"""Rankings, faults, blindness and versions of a fleet."""

from ..links import ROW_LINKS
from ..layout import row
from ..styles import no_thresholds
from ..panels import few, query
from ..tables import Column, Label, table
from .jetmem import STATES
from .verdict import ANY_IS_BAD, ANY_IS_WARNING

BY = "job, instance"
LONGEST = 25


def _device(width=None):
    return Label("instance", ROW_LINKS, width=width)


def _ranking(k, title, about, by, expression, rule, metric, sort, column, look="gauge", **more):
    """The devices nearest to one limit."""
    limits = more.pop("limits", {})
    return table(
        k.panels,
        title,
        about,
        [_device(190), *(Label(name) for name in by.split(", ")[2:]), Label("job", width=90)],
        [Column(column, expression, bounds=[(rule, metric)], look=look, **limits)],
        w=8,
        h=10,
        sort=sort,
        alerts=[rule],
        **more,
    )


def rankings(k):
    s = k.s
    return row(
        "Who is next",
        _ranking(
            k,
            "Used up first",
            "Time to exhaustion of memory at each device's steady loss.",
            BY,
            f'bottomk({LONGEST}, min by ({BY}) ({s("jetmem_trend_exhaustion_seconds", of="MemAvailable")}))',
            "JetmemMemoryLeak",
            "jetmem_trend_exhaustion_seconds",
            "used up in",
            "used up in",
            look="text",
            limits={"unit": "dtdurations"},
            nothing="no device loses memory steadily",
        ),
        _ranking(
            k,
            "Least memory available",
            "Share of memory that programs and GPU can still have.",
            BY,
            f'bottomk({LONGEST}, min by ({BY}) ({s("jetmem_memory_available_ratio")}))',
            "JetmemMemoryLow",
            "jetmem_memory_available_ratio",
            "available",
            "available",
            limits={"low": 0, "high": 1},
        ),
        _ranking(
            k,
            "CMA most taken",
            "Share of an area that drivers have.",
            BY + ", area",
            f'topk({LONGEST}, max by ({BY}, area) ({s("jetmem_cma_used_ratio")}))',
            "JetmemCmaExhausted",
            "jetmem_cma_used_ratio",
            "-taken",
            "taken",
            limits={"low": 0, "high": 1},
        ),
        _ranking(
            k,
            "Frame fits least",
            "Largest free piece of an area by what is wanted in one piece.",
            BY + ", area",
            f'bottomk({LONGEST}, min by ({BY}, area) ({s("jetmem_cma_frame_fit_ratio")}))',
            "JetmemCmaFragmented",
            "jetmem_cma_frame_fit_ratio",
            "fits",
            "fits",
            look="text",
        ),
        _ranking(
            k,
            "Most orphans",
            "How fast GPU and camera buffers grow that no program holds.",
            BY,
            f'topk({LONGEST}, max by ({BY}) ({s("jetmem_trend_bytes_per_second", of="nvmap_orphans")}))',
            "JetmemNvmapOrphansGrowing",
            "jetmem_trend_bytes_per_second",
            "-growth",
            "growth",
            look="text",
            nothing="nowhere do orphans grow steadily",
        ),
        _ranking(
            k,
            "Nearest to its limit of heat",
            "Degrees to the limit at which the machine warns or switches itself off.",
            BY,
            f'bottomk({LONGEST}, min by ({BY}) ({s("jetmem_thermal_margin_celsius", kind="=~hot|critical")}))',
            "JetmemThermalNearTrip",
            "jetmem_thermal_margin_celsius",
            "degrees",
            "degrees",
            look="text",
        ),
    )


def faults(k):
    s = k.s
    matrix = table(
        k.panels,
        "Fault map: SMMU faults since boot, by client",
        "Which device's accesses to memory were blocked, on which of the fleet. A client that is bad everywhere is a "
        "driver's or release's fault, one that is bad on one device its own.",
        [_device(190)],
        [Column(None, f'topk(500, sum by (instance, client) ({s("jetmem_smmu_faults_total")}) > 0)', "short")],
        w=24,
        h=10,
        unit="short",
        bounds=ANY_IS_WARNING,
        alerts=["JetmemSmmuFault", "JetmemSmmuStorm"],
        nothing="no faults",
    )
    # A column for each client.
    matrix["transformations"] = [
        {
            "id": "groupingToMatrix",
            "options": {"columnField": "client", "rowField": "instance", "valueField": "Value", "emptyValue": "null"},
        }
    ]
    matrix["fieldConfig"]["defaults"]["custom"]["cellOptions"] = {"type": "color-text"}
    # The first column is called after both labels, and its cells do not know the job: no links.
    matrix["fieldConfig"]["overrides"] = matrix["fieldConfig"]["overrides"][:1]
    now = k.panels.timeseries(
        "SMMU faults a minute, by client",
        "All devices together.",
        [query(f'sum by (client) ({s("jetmem_smmu_recent_faults")}) > 0', "{{client}}")],
        w=12,
        h=9,
        style="steps",
        low=0,
        unit="short",
        alerts=["JetmemSmmuFault"],
        nothing="no faults in this time",
    )
    events = k.panels.timeseries(
        "Kernel events within ten minutes, by kind",
        "All devices together.",
        [query(f'sum by (kind) ({s("jetmem_kernel_recent_events")}) > 0', "{{kind}}")],
        w=12,
        h=9,
        style="steps",
        low=0,
        unit="short",
        alerts=["JetmemOomKill", "JetmemPageAllocationFailure"],
        nothing="no events in this time",
    )
    kills = table(
        k.panels,
        "OOM kills, since boot",
        "Who was killed where.",
        [_device(190), Label("comm", title="process"), Label("scope", width=90), Label("job", width=90)],
        [
            Column(
                "kills",
                f'topk({LONGEST}, sum by ({BY}, comm, scope) ({s("jetmem_oom_kills_total")}) > 0)',
                bounds=ANY_IS_WARNING,
                look="text",
            )
        ],
        w=12,
        h=9,
        sort="-kills",
        alerts=["JetmemOomKill"],
        nothing="nobody since boot",
    )
    refused = table(
        k.panels,
        "Probes refused",
        "Kinds of memory that jetmem's own probe could not have.",
        [_device(190), Label("kind"), Label("target"), Label("job", width=90)],
        [Column(None, f'topk(100, min by ({BY}, kind, target) ({s("jetmem_probe_success")}) == 0)', "short")],
        w=12,
        h=9,
        alerts=["JetmemProbeFailing"],
        nothing="none",
    )
    return row("Faults", matrix, few(now), few(events), kills, refused)


def blindness(k):
    s = k.s
    unread = f'{s("jetmem_source_failing")} == 1 or {s("jetmem_source_state", state="denied")} == 1'
    reported = f'max by ({BY}, source, state) ({s("jetmem_source_state", state="=~denied|failed")}) == 1'
    # Blind and not failed: its last good reading is too old.
    stale = f'max by ({BY}, source) ({s("jetmem_source_failing")}) == 1 unless on ({BY}, source) ({reported})'
    bad = f'{reported} or label_replace({stale}, "state", "blind", "", "")'
    return row(
        "Blind",
        table(
            k.panels,
            "Sources that cannot be read",
            "Denied, failed, or blind as the last good reading is too old, on which device. Alerts that need them say nothing there.",
            [_device(190), Label("source"), Label("state", mappings=STATES, width=90), Label("job", width=90)],
            [Column(None, f"topk(200, {bad})", "short")],
            w=14,
            h=10,
            alerts=["JetmemSourceFailing", "JetmemSourceDenied"],
            nothing="none: all that devices have is read",
        ),
        k.panels.bargauge(
            "By source",
            "On how many devices each source cannot be read: failed or stale (blind), or denied.",
            f"sort_desc(sum by (source) (max by ({BY}, source) ({unread})))",
            "{{source}}",
            w=10,
            h=10,
            unit="short",
            bounds=ANY_IS_BAD[:1],
            nothing="none: all that devices have is read",
        ),
    )


def inventory(k):
    s = k.s
    lately = f'bottomk({LONGEST}, min by ({BY}) ({s("jetmem_boot_uptime_seconds")}))'
    return row(
        "What runs",
        table(
            k.panels,
            "Versions of jetmem",
            "By the number of devices.",
            [Label("version")],
            [Column("devices", f'count by (version) ({s("jetmem_build_info")})', "short")],
            w=6,
            h=9,
            sort="-devices",
        ),
        table(
            k.panels,
            "Devices and releases",
            "By the number of devices.",
            [Label("model"), Label("soc", width=90), Label("l4t", width=80), Label("kernel")],
            [Column("devices", f'count by (model, soc, l4t, kernel) ({s("jetmem_device_info")})', "short", width=80)],
            w=18,
            h=9,
            sort="-devices",
        ),
        table(
            k.panels,
            "Restarted lately",
            "Devices by time since boot, and whether the boot before ended by itself (1: yes).",
            [_device(190), Label("job", width=90)],
            [
                Column("up for", lately, "dtdurations"),
                Column(
                    "ended by itself",
                    f'max by ({BY}) ({s("jetmem_boot_last_shutdown", clean="no")}) and on ({BY}) {lately}',
                    "short",
                    bounds=ANY_IS_WARNING,
                    look="text",
                ),
            ],
            w=12,
            h=9,
            sort="up for",
            alerts=["JetmemDeviceRebootedUncleanly"],
        ),
        table(
            k.panels,
            "What jetmem itself costs",
            "Processor time of the last five minutes, as a share of one CPU, and memory, of all its processes.",
            [_device(190), Label("job", width=90)],
            [
                Column(
                    "processor",
                    f'sum by ({BY}) (rate({s("jetmem_process_cpu_seconds_total")}[5m]))',
                    "percentunit",
                    bounds=no_thresholds("text"),
                ),
                Column("memory", f'sum by ({BY}) ({s("jetmem_process_resident_memory_bytes")})'),
            ],
            w=12,
            h=9,
            sort="-processor",
        ),
    )
