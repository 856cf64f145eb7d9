# SPDX-License-Identifier: Apache-2.0
"""jetmem-fleet: hundreds of devices, by instant queries and a few series over time."""

from .dashboard import annotation, dashboard
from .layout import row
from .links import ROW_LINKS, SERIES_LINKS, runbooks
from .styles import DARK_RED, GRAY, GREEN, ORANGE, PURPLE, RED, THROTTLING_LEVELS, VERDICTS, no_thresholds, words
from .panels import few, query
from .sections import fleet_lists
from .sections.verdict import ANY_IS_BAD, ANY_IS_NOTED, ANY_IS_WARNING, alert_label, gone, verdict, weight, with_runbook
from .tables import Column, Label, table

BY = "job, instance"
# Between two points of an annotation: each costs a look at all devices.
FEW_STEPS = "5m"


def _each(how, series):
    """One value for each device, whatever other labels its series and its target have."""
    return f"{how} by ({BY}) ({series})"


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
        count("Answer", "Devices that answered Prometheus' last scrape.", f'sum({s("up")})'),
        count(
            "Down",
            "Devices that did not, and those that are no longer scraped but were in the time shown.",
            f'count({_each("max", s("up"))} == 0 or {_each("max", gone(s))}) or count({s("up")}) * 0',
            ANY_IS_BAD,
        ),
        count(
            "Critical",
            "Devices on which a critical alert fires.",
            f'sum({_each("max", s("jetmem_alert_state", severity="critical"))} == bool 2)',
            ANY_IS_BAD,
        ),
        count(
            "Warning",
            "Devices on which a warning fires.",
            f'sum({_each("max", s("jetmem_alert_state", severity="warning"))} == bool 2)',
            ANY_IS_WARNING,
        ),
        count(
            "Run out soon",
            f"Devices that are seen to lose memory steadily, and have none in {soon / 3600:g} hours.",
            f'sum({_each("min", s("jetmem_trend_exhaustion_seconds"))} < bool {soon}) or count({watched}) * 0',
            ANY_IS_WARNING,
            alerts=["JetmemMemoryLeak"],
        ),
        count(
            "Blind",
            "Devices on which a source that should be read cannot be.",
            f'sum({_each("max", s("jetmem_source_failing"))} == bool 1)',
            ANY_IS_WARNING,
            alerts=["JetmemSourceFailing"],
        ),
        count(
            "Slowed down",
            "Devices that heat or power limits slow down now.",
            f'sum({_each("max", s("jetmem_throttling_level"))} > bool 0)',
            ANY_IS_WARNING,
            alerts=["JetmemThrottling"],
        ),
        count(
            "Versions",
            "Versions of jetmem that run.",
            f'count(count by (version) ({s("jetmem_build_info")}))',
            ANY_IS_BAD[:1],
        ),
    ]


def _worst(k):
    s = k.s

    def column(title, how, series, *rules, **more):
        return Column(
            title,
            _each(how, series),
            bounds=list(rules) or None,
            look=more.pop("look", "text" if rules else "auto"),
            **more,
        )

    columns = [
        Column("verdict", verdict(s), "short", no_thresholds(GRAY), VERDICTS, "background", width=180),
        Column("weight", weight(s), "short", width=80),
        Column("cannot tell", _each("sum", s("jetmem_alert_unknown")), "short", ANY_IS_NOTED, look="text", width=90),
        column(
            "available",
            "min",
            s("jetmem_memory_available_ratio"),
            ("JetmemMemoryLow", "jetmem_memory_available_ratio"),
            width=90,
        ),
        column(
            "used up in",
            "min",
            s("jetmem_trend_exhaustion_seconds"),
            ("JetmemMemoryLeak", "jetmem_trend_exhaustion_seconds"),
            width=110,
        ),
        column(
            "CMA taken", "max", s("jetmem_cma_used_ratio"), ("JetmemCmaExhausted", "jetmem_cma_used_ratio"), width=90
        ),
        column(
            "frame fits",
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
            "to its limit",
            "min",
            s("jetmem_thermal_margin_celsius", kind="=~hot|critical"),
            ("JetmemThermalNearTrip", "jetmem_thermal_margin_celsius"),
            width=90,
        ),
        Column(
            "slowed",
            _each("max", s("jetmem_throttling_level")),
            "short",
            no_thresholds(GRAY),
            THROTTLING_LEVELS,
            "text",
            width=90,
        ),
        column("blind", "sum", s("jetmem_source_failing"), unit="short", width=60),
        column("up for", "max", s("jetmem_boot_uptime_seconds"), unit="dtdurations", width=130),
        Column(None, f'max by ({BY}, version) ({s("jetmem_build_info")})', "short"),
        Column(None, f'max by ({BY}, model, l4t) ({s("jetmem_device_info")})', "short"),
    ]
    return table(
        k.panels,
        "Devices, the worst first",
        "Weight: 1000 for a device that is gone, does not answer or has stopped sampling, 500 for one whose alerts nobody evaluates, 100 for each critical alert that fires, 10 for each warning, 1 for each "
        "information. SMMU faults are those of the worst client. A cell is -  where the device has no such thing, or cannot read it.",
        [
            Label("instance", ROW_LINKS, width=190),
            Label("job", width=90),
            Label("model"),
            Label("l4t", width=80),
            Label("version", width=80),
        ],
        columns,
        w=24,
        h=14,
        sort="-weight",
        nothing="no device is scraped, or none is chosen",
    )


def _alerts(k):
    s = k.s
    firing = f'count by (alert, severity) ({s("jetmem_alert_state")} == 2)'
    return [
        table(
            k.panels,
            "What fires",
            "Alerts by the number of devices on which they fire.",
            [Label("alert", width=250), Label("severity", width=80), alert_label(k)],
            [Column("devices", with_runbook(firing), "short")],
            w=12,
            h=10,
            sort="-devices",
            nothing="nothing fires",
        ),
        few(
            k.panels.timeseries(
                "What fired",
                "Devices on which each alert fires, over time.",
                [query(f'count by (alert) ({s("jetmem_alert_state")} == 2)', "{{alert}}")],
                w=12,
                h=10,
                style="steps",
                stack=True,
                low=0,
                unit="short",
                calcs=("last", "max"),
                nothing="nothing fired",
            )
        ),
    ]


def _down(k):
    s = k.s
    silent = (
        f'({_each("max", s("up"))} == 0) or ({_each("max", s("jetmem_sampling_stalled"))} == 1)'
        f' or (({_each("max", s("up"))} == 1) unless on ({BY}) {_each("max", s("jetmem_rule_evaluations_total"))}) + 1'
        f' or {_each("max", gone(s))} * 0 + 3'
        f' or ({_each("max", "increase(" + s("jetmem_rule_evaluations_total") + "[5m])")} == 0) + 4'
    )
    mappings = words(
        v0=("does not answer", RED),
        v1=("stopped sampling", PURPLE),
        v2=("answers without samples", ORANGE),
        v3=("gone: no longer scraped", DARK_RED),
        v4=("no longer evaluates itself", ORANGE),
    )
    return [
        table(
            k.panels,
            "Silent devices",
            "Those that do not answer; that answer and have stopped sampling, or judging their rules; that answer without samples of "
            "jetmem; and that are no longer scraped but were in the time shown.",
            [Label("instance", ROW_LINKS), Label("job", width=110)],
            [Column("how", silent, "short", no_thresholds(GRAY), mappings, "background")],
            w=8,
            h=8,
            sort="how",
            nothing="none: all that are scraped answer, or nothing is scraped",
        ),
        few(
            k.panels.timeline(
                "Since when they do not answer",
                "Devices that do not answer at the end of the time shown, or are no longer scraped then.",
                [
                    query(
                        f'{_each("max", s("up"))} unless on ({BY}) ({_each("max", s("up") + " @ end()")} == 1)',
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
        row("Fleet", *_counts(k), _worst(k)),
        row("Alerts", *_alerts(k)),
        row("Silent", *_down(k)),
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
            text="fires on some device",
            step=FEW_STEPS,
        ),
    ]
    return dashboard(
        "jetmem-fleet",
        "jetmem: Fleet",
        "All devices: who is worst, who runs out of memory when, who faults, who is blind, who is silent, which versions run.",
        k.site,
        rows,
        annotations,
        [runbooks(k.site)],
        several=True,
        since="now-6h",
        refresh="2m",
    )
