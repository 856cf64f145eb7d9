# SPDX-License-Identifier: Apache-2.0
"""jetmem-fleet: hundreds of devices, by instant queries and a few series over time."""

from .dashboard import annotation, dashboard
from .layout import row
from .links import ROW_LINKS, SERIES_LINKS, runbooks
from .styles import DOWN, GRAY, GREEN, NOT_EVALUATED, RED, THROTTLING_LEVELS, VERDICTS, no_thresholds, words
from .panels import few, query
from .sections import fleet_lists
from .sections.verdict import ANY_IS_BAD, ANY_IS_NOTED, ANY_IS_WARNING, alert_label, verdict, weight, with_runbook
from .tables import Column, Label, table

# Between two points of an annotation: each queries all devices.
FEW_STEPS = "5m"


def _each(k, how, series):
    """One value for each device, whatever other labels its series and its target have."""
    return f"{how} by ({k.by}) ({series})"


def _counts(k):
    s = k.s

    def count(title, about, expression, bounds=None, nothing="unknown", **more):
        return k.panels.stat(
            title, about, expression, w=3, unit="short", bounds=bounds or no_thresholds(), nothing=nothing, **more
        )

    # Of each device that was watched for half an hour.
    watched = s("jetmem_trend_r_squared", of="MemAvailable")
    soon = k.rules["JetmemMemoryLeak"].condition("jetmem_trend_exhaustion_seconds").value
    return [
        count("Devices answering", "Devices that answered the last scrape.", f'sum({s("up")})'),
        count(
            "Devices down",
            "Devices that did not answer the last scrape, and those no longer scraped that were in the time range.",
            f'count({verdict(k)} >= {DOWN}) or count({s("up")}) * 0',
            ANY_IS_BAD,
        ),
        count(
            "Devices with critical alerts",
            "Devices on which a critical alert fires.",
            f'sum({_each(k, "max", s("jetmem_alert_state", severity="critical"))} == bool 2)',
            ANY_IS_BAD,
        ),
        count(
            "Devices with warnings",
            "Devices on which a warning fires.",
            f'sum({_each(k, "max", s("jetmem_alert_state", severity="warning"))} == bool 2)',
            ANY_IS_WARNING,
        ),
        count(
            "Memory exhausted soon",
            f"Devices whose memory shrinks steadily and will be exhausted within {soon / 3600:g} h.",
            f'sum({_each(k, "min", s("jetmem_trend_exhaustion_seconds"))} < bool {soon}) or count({watched}) * 0',
            ANY_IS_WARNING,
            alerts=["JetmemMemoryLeak"],
        ),
        count(
            "Unreadable sources",
            "Devices on which a source exists but cannot be read.",
            f'sum({_each(k, "max", s("jetmem_source_failing"))} == bool 1)',
            ANY_IS_WARNING,
            alerts=["JetmemSourceFailing"],
        ),
        count(
            "Devices throttled",
            "Devices that heat or power limits throttle now.",
            f'sum({_each(k, "max", s("jetmem_throttling_level"))} > bool 0)',
            ANY_IS_WARNING,
            alerts=["JetmemThrottling"],
        ),
        count(
            "Versions of jetmem in use",
            "Number of different versions of jetmem that devices run.",
            f'count(count by (version) ({s("jetmem_build_info")}))',
            ANY_IS_BAD[:1],
        ),
    ]


def _worst(k):
    s = k.s

    def column(title, how, series, *rules, **more):
        return Column(
            title,
            _each(k, how, series),
            bounds=list(rules) or None,
            look=more.pop("look", "text" if rules else "auto"),
            **more,
        )

    columns = [
        Column("verdict", verdict(k), "short", no_thresholds(GRAY), VERDICTS, "background", width=180),
        Column("weight", weight(k), "short", width=80),
        Column("alerts unknown", _each(k, "sum", s("jetmem_alert_unknown")), "short", ANY_IS_NOTED, look="text", width=90),
        column(
            "available",
            "min",
            s("jetmem_memory_available_ratio"),
            ("JetmemMemoryLow", "jetmem_memory_available_ratio"),
            width=90,
        ),
        column(
            "exhausted in",
            "min",
            s("jetmem_trend_exhaustion_seconds"),
            ("JetmemMemoryLeak", "jetmem_trend_exhaustion_seconds"),
            width=110,
        ),
        column(
            "CMA used", "max", s("jetmem_cma_used_ratio"), ("JetmemCmaExhausted", "jetmem_cma_used_ratio"), width=90
        ),
        column(
            "free CMA block / frame",
            "min",
            s("jetmem_cma_frame_fit_ratio"),
            ("JetmemCmaFragmented", "jetmem_cma_frame_fit_ratio"),
            width=90,
        ),
        column(
            "SMMU faults/min",
            "max",
            s("jetmem_smmu_recent_faults"),
            ("JetmemSmmuFault", "jetmem_smmu_recent_faults"),
            ("JetmemSmmuStorm", "jetmem_smmu_recent_faults"),
            width=120,
        ),
        column(
            "below trip point",
            "min",
            s("jetmem_thermal_margin_celsius", kind="=~hot|critical"),
            ("JetmemThermalNearTrip", "jetmem_thermal_margin_celsius"),
            width=90,
        ),
        Column(
            "throttling",
            _each(k, "max", s("jetmem_throttling_level")),
            "short",
            no_thresholds(GRAY),
            THROTTLING_LEVELS,
            "text",
            width=90,
        ),
        column("unreadable sources", "sum", s("jetmem_source_failing"), unit="short", width=60),
        column("uptime", "max", s("jetmem_boot_uptime_seconds"), unit="dtdurations", width=130),
        Column(None, f'max by ({k.by}, version) ({s("jetmem_build_info")})', "short"),
        Column(None, f'max by ({k.by}, model, l4t) ({s("jetmem_device_info")})', "short"),
    ]
    return table(
        k.panels,
        "Devices by verdict, worst first",
        "Weight: 1000 for a device that is gone, does not answer or has stopped sampling, 500 for one that does not evaluate its "
        "alerts, 100 for each critical alert that fires, 10 for each warning, 1 for each information. SMMU faults: the worst "
        "client's. A cell is - where the device has no such source or cannot read it.",
        [
            Label("instance", ROW_LINKS, width=190),
            Label(k.site.label, width=90),
            Label("job", width=90),
            Label("model"),
            Label("l4t", width=80),
            Label("version", width=80),
        ],
        columns,
        w=24,
        h=14,
        sort="-weight",
        nothing="no device is scraped, or none is selected",
    )


def _alerts(k):
    s = k.s
    firing = f'count by (alert, severity) ({s("jetmem_alert_state")} == 2)'
    return [
        table(
            k.panels,
            "Alerts firing, by number of devices",
            "Each alert that fires, and on how many devices.",
            [Label("alert", width=250), Label("severity", width=80), alert_label(k)],
            [Column("devices", with_runbook(firing), "short")],
            w=12,
            h=10,
            sort="-devices",
            nothing="no alert fires",
        ),
        few(
            k.panels.timeseries(
                "Alerts firing over time",
                "Number of devices on which each alert fires.",
                [query(f'count by (alert) ({s("jetmem_alert_state")} == 2)', "{{alert}}")],
                w=12,
                h=10,
                style="steps",
                stack=True,
                low=0,
                unit="short",
                calcs=("last", "max"),
                nothing="no alert fired",
            )
        ),
    ]


def _down(k):
    s = k.s
    return [
        table(
            k.panels,
            "Devices down, stalled or gone",
            "Devices that do not answer; answer but have stopped sampling, or do not evaluate their rules; or are no longer "
            "scraped but were in the time range.",
            [Label("instance", ROW_LINKS), Label(k.site.label, width=90), Label("job", width=90)],
            [
                Column(
                    "state",
                    f"{verdict(k)} >= {NOT_EVALUATED}",
                    "short",
                    no_thresholds(GRAY),
                    VERDICTS,
                    "background",
                )
            ],
            w=8,
            h=8,
            sort="-state",
            nothing="none, or not recorded: load jetmem.rules.yml into Prometheus",
        ),
        few(
            k.panels.timeline(
                "Scrapes of devices that are down",
                "Devices that do not answer at the end of the time range, or are no longer scraped then.",
                [
                    query(
                        f'{_each(k, "max", s("up"))} unless on ({k.by}) ({_each(k, "max", s("up") + " @ end()")} == 1)',
                        "{{instance}}",
                    )
                ],
                words(v0=("no answer", RED), v1=("answers", GREEN)),
                w=16,
                h=8,
                links=SERIES_LINKS,
                unit="short",
                nothing="none: all that are scraped answer, or nothing is scraped",
            )
        ),
    ]


def make(k):
    rows = [
        row("Devices", *_counts(k), _worst(k)),
        row("Alerts", *_alerts(k)),
        row("Devices down, stalled or gone", *_down(k)),
        fleet_lists.rankings(k),
        fleet_lists.faults(k),
        fleet_lists.blindness(k),
        fleet_lists.inventory(k),
    ]
    annotations = [
        annotation(
            "Device down (Prometheus)",
            f'count(ALERTS{{{k.scope},alertname="JetmemDeviceDown",alertstate="firing"}})',
            "dark-red",
            "devices down",
            text="JetmemDeviceDown fires",
            step=FEW_STEPS,
        ),
        annotation(
            "Critical (devices)",
            f'count({k.s("jetmem_alert_state", severity="critical")} == 2) by (alert)',
            "red",
            "{{alert}}",
            text="fires on at least one device",
            step=FEW_STEPS,
        ),
    ]
    return dashboard(
        "jetmem-fleet",
        "jetmem: Fleet",
        "All devices: by verdict; when memory is exhausted; faults; unreadable sources; devices that do not answer; versions.",
        k.site,
        rows,
        annotations,
        [runbooks(k.site)],
        several=True,
        since="now-6h",
        refresh="2m",
    )
