# SPDX-License-Identifier: Apache-2.0
"""Rankings, faults, unreadable sources and versions of a fleet."""

from ..links import ROW_LINKS
from ..layout import row
from ..styles import no_thresholds
from ..panels import few, query
from ..tables import Column, Label, table
from .jetmem import STATES
from .verdict import ANY_IS_BAD, ANY_IS_WARNING

LONGEST = 25


def _device(width=None):
    return Label("instance", ROW_LINKS, width=width)


def _target(k):
    return [Label(k.site.label, width=90), Label("job", width=90)]


def _ranking(k, title, about, by, expression, rule, metric, sort, column, look="gauge", **more):
    """The devices nearest to one limit."""
    limits = more.pop("limits", {})
    return table(
        k.panels,
        title,
        about,
        [_device(190), *(Label(name) for name in by.split(", ")[3:]), *_target(k)],
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
        "Nearest to a limit",
        _ranking(
            k,
            "Memory exhausted soonest",
            "Time until no memory is available, if it continues to shrink as in the last two hours.",
            k.by,
            f'bottomk({LONGEST}, min by ({k.by}) ({s("jetmem_trend_exhaustion_seconds", of="MemAvailable")}))',
            "JetmemMemoryLeak",
            "jetmem_trend_exhaustion_seconds",
            "exhausted in",
            "exhausted in",
            look="text",
            limits={"unit": "dtdurations"},
            nothing="on no device memory shrinks steadily",
        ),
        _ranking(
            k,
            "Least memory available",
            "Share of memory that programs and GPU can still allocate.",
            k.by,
            f'bottomk({LONGEST}, min by ({k.by}) ({s("jetmem_memory_available_ratio")}))',
            "JetmemMemoryLow",
            "jetmem_memory_available_ratio",
            "available",
            "available",
            limits={"low": 0, "high": 1},
        ),
        _ranking(
            k,
            "Highest CMA use",
            "Share of an area that drivers allocated.",
            k.by + ", area",
            f'topk({LONGEST}, max by ({k.by}, area) ({s("jetmem_cma_used_ratio")}))',
            "JetmemCmaExhausted",
            "jetmem_cma_used_ratio",
            "-used",
            "used",
            limits={"low": 0, "high": 1},
        ),
        _ranking(
            k,
            "Smallest free CMA block, share of a frame",
            "Largest free block of an area divided by the largest camera frame or failed request.",
            k.by + ", area",
            f'bottomk({LONGEST}, min by ({k.by}, area) ({s("jetmem_cma_frame_fit_ratio")}))',
            "JetmemCmaFragmented",
            "jetmem_cma_frame_fit_ratio",
            "block / frame",
            "block / frame",
            look="text",
        ),
        _ranking(
            k,
            "Fastest growth of nvmap orphans",
            "Growth of GPU and camera buffers without an nvmap client.",
            k.by,
            f'topk({LONGEST}, max by ({k.by}) ({s("jetmem_trend_bytes_per_second", of="nvmap_orphans")}))',
            "JetmemNvmapOrphansGrowing",
            "jetmem_trend_bytes_per_second",
            "-growth",
            "growth",
            look="text",
            nothing="on no device orphans grow steadily",
        ),
        _ranking(
            k,
            "Fewest degrees below a trip point",
            "Degrees below the trip point at which the machine warns or shuts down.",
            k.by,
            f'bottomk({LONGEST}, min by ({k.by}) ({s("jetmem_thermal_margin_celsius", kind="=~hot|critical")}))',
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
        "SMMU faults since boot, by device and client",
        "Blocked memory accesses per client. A client that faults on many devices points at a driver or release; a client that "
        "faults on one device points at that device.",
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
    # The first column is called after both labels, and its cells lack the job: no links.
    matrix["fieldConfig"]["overrides"] = matrix["fieldConfig"]["overrides"][:1]
    now = k.panels.timeseries(
        "SMMU faults per minute, by client",
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
        "Kernel events of the last 10 min, by kind",
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
        "OOM kills since boot",
        "Killed processes by device.",
        [_device(190), Label("comm", title="process"), Label("scope", width=90), *_target(k)],
        [
            Column(
                "kills",
                f'topk({LONGEST}, sum by ({k.by}, comm, scope) ({s("jetmem_oom_kills_total")}) > 0)',
                bounds=ANY_IS_WARNING,
                look="text",
            )
        ],
        w=12,
        h=9,
        sort="-kills",
        alerts=["JetmemOomKill"],
        nothing="no kill since boot",
    )
    refused = table(
        k.panels,
        "Failed test allocations",
        "Kinds of memory that jetmem's probe could not allocate.",
        [_device(190), Label("kind"), Label("target"), *_target(k)],
        [Column(None, f'topk(100, min by ({k.by}, kind, target) ({s("jetmem_probe_success")}) == 0)', "short")],
        w=12,
        h=9,
        alerts=["JetmemProbeFailing"],
        nothing="none",
    )
    return row("Faults", matrix, few(now), few(events), kills, refused)


def blindness(k):
    s = k.s
    unread = s("instance:jetmem_source_unread:max")
    nothing = "none, or not recorded: load jetmem.rules.yml into Prometheus"
    return row(
        "Unreadable sources",
        table(
            k.panels,
            "Unreadable sources by device",
            "Sources that are denied, failed, or stale (the last good reading is too old). Alerts that need them are unknown "
            "there.",
            [_device(190), Label("source"), Label("state", mappings=STATES, width=90), *_target(k)],
            [Column(None, f"topk(200, max by ({k.by}, source, state) ({unread}))", "short")],
            w=14,
            h=10,
            alerts=["JetmemSourceFailing", "JetmemSourceDenied"],
            nothing=nothing,
        ),
        k.panels.bargauge(
            "Devices per unreadable source",
            "On how many devices each source is denied, failed or stale.",
            f"sort_desc(sum by (source) (max by ({k.by}, source) ({unread})))",
            "{{source}}",
            w=10,
            h=10,
            unit="short",
            bounds=ANY_IS_BAD[:1],
            nothing=nothing,
        ),
    )


def inventory(k):
    s = k.s
    lately = f'bottomk({LONGEST}, min by ({k.by}) ({s("jetmem_boot_uptime_seconds")}))'
    return row(
        "Versions and restarts",
        table(
            k.panels,
            "Versions of jetmem",
            "Number of devices per version.",
            [Label("version")],
            [Column("devices", f'count by (version) ({s("jetmem_build_info")})', "short")],
            w=6,
            h=9,
            sort="-devices",
        ),
        table(
            k.panels,
            "Models and releases",
            "Number of devices per model, L4T and kernel release.",
            [Label("model"), Label("soc", width=90), Label("l4t", width=80), Label("kernel")],
            [Column("devices", f'count by (model, soc, l4t, kernel) ({s("jetmem_device_info")})', "short", width=80)],
            w=18,
            h=9,
            sort="-devices",
        ),
        table(
            k.panels,
            "Shortest uptime",
            "Devices by time since boot, and whether the previous boot ended without a shutdown (1: yes).",
            [_device(190), *_target(k)],
            [
                Column("uptime", lately, "dtdurations"),
                Column(
                    "unclean shutdown",
                    f'max by ({k.by}) ({s("jetmem_boot_last_shutdown", clean="no")}) and on ({k.by}) {lately}',
                    "short",
                    bounds=ANY_IS_WARNING,
                    look="text",
                ),
            ],
            w=12,
            h=9,
            sort="uptime",
            alerts=["JetmemDeviceRebootedUncleanly"],
        ),
        table(
            k.panels,
            "CPU and memory use of jetmem",
            "CPU time of the last five minutes, as a share of one CPU, and resident memory, of all its processes.",
            [_device(190), *_target(k)],
            [
                Column(
                    "CPU",
                    f'sum by ({k.by}) (rate({s("jetmem_process_cpu_seconds_total")}[5m]))',
                    "percentunit",
                    bounds=no_thresholds("text"),
                ),
                Column("memory", f'sum by ({k.by}) ({s("jetmem_process_resident_memory_bytes")})'),
            ],
            w=12,
            h=9,
            sort="-CPU",
        ),
    )
