# SPDX-License-Identifier: Apache-2.0
"""How the device is, and which alerts say so."""

from ..links import runbook_of_value
from ..styles import ALERT_STATES, GONE, GRAY, ORANGE, RED, VERDICTS, YELLOW, no_thresholds
from ..layout import row
from ..panels import query
from ..tables import Column, Label, table
from . import contiguous, heat, memory

# A count of anything bad: one is enough.
ANY_IS_BAD = [*no_thresholds(), {"color": RED, "value": 1}]
ANY_IS_WARNING = [*no_thresholds(), {"color": ORANGE, "value": 1}]
ANY_IS_NOTED = [*no_thresholds(), {"color": YELLOW, "value": 1}]


# What a panel of recorded series says when there are none.
NOT_RECORDED = "not recorded: load jetmem.rules.yml into Prometheus"


def _or_gone(s, name, value):
    """A record, and of devices that were scraped in the time shown and no longer exist this value: the agent is gone, or
    the target was removed. The record ends with their series."""
    record = s(name)
    return f"{record} or on (job, instance) last_over_time({record}[$__range]) * 0 + {value}"


def verdict(k):
    """8: gone; below that as instance:jetmem_verdict:max."""
    return f"max by ({k.by}) ({_or_gone(k.s, 'instance:jetmem_verdict:max', GONE)})"


def weight(k):
    """By which the worst come first."""
    return f"max by ({k.by}) ({_or_gone(k.s, 'instance:jetmem_verdict_weight:sum', 1000)})"


def alert_label(k):
    return Label("runbook", runbook_of_value(k.site), k.panels.runbook_words(), 210)


def with_runbook(expression, label="alert"):
    """Shipped alerts have runbooks; a site's own have no link."""
    return f'label_replace({expression}, "runbook", "$1", "{label}", "(Jetmem.+)")'


def section(k):
    """The row that is open: how the device is, which alerts fire, and memory over the time shown."""
    return row(
        "Overview",
        *stats(k),
        memory.available(k),
        memory.exhaustion(k),
        memory.pressure_level(k),
        contiguous.fullest(k),
        contiguous.tightest(k),
        heat.level(k),
        memory.course(k, w=14, h=8),
        alerts(k, w=10, h=8),
        timeline(k, h=7),
    )


def stats(k):
    s, panels = k.s, k.panels

    def count(title, about, expression, bounds):
        return panels.stat(title, about, expression, w=3, unit="short", bounds=bounds, nothing="unknown")

    return [
        panels.stat(
            "Verdict",
            "The worst alert that fires on the device, as the device itself evaluates it; or that it does not answer.",
            verdict(k),
            w=6,
            fill=True,
            mappings=VERDICTS,
            unit="short",
            bounds=no_thresholds(GRAY),
            nothing="not recorded in this time: load jetmem.rules.yml into Prometheus",
        ),
        count(
            "Critical alerts firing",
            "Number of critical alerts that fire.",
            f'sum({s("jetmem_alert_state", severity="critical")} == bool 2)',
            ANY_IS_BAD,
        ),
        count(
            "Warnings firing",
            "Number of warnings that fire.",
            f'sum({s("jetmem_alert_state", severity="warning")} == bool 2)',
            ANY_IS_WARNING,
        ),
        count(
            "Alerts pending",
            "Alerts whose condition is true, but not yet for long enough to fire.",
            f'sum({s("jetmem_alert_state")} == bool 1)',
            ANY_IS_NOTED,
        ),
        count(
            "Alerts unknown",
            "Alerts that cannot be evaluated, because a source that they need is unavailable.",
            f'sum({s("jetmem_alert_unknown")})',
            ANY_IS_WARNING,
        ),
        panels.stat("Uptime", "Time since the device booted.", s("jetmem_boot_uptime_seconds"), w=3, unit="dtdurations"),
        panels.stat(
            "Age of the values",
            "Age of the device's samples when Prometheus scraped them.",
            s("jetmem_samples_age_seconds"),
            w=3,
        ),
    ]


def alerts(k, w=14, h=8):
    s = k.s
    expression = (
        f'max by (alert, severity, runbook) ({with_runbook(s("jetmem_alert_state") + " > 0")})'
        f' or max by (alert, severity, runbook) ({with_runbook(s("jetmem_alert_unknown") + " == 1")}) * -1'
    )
    return table(
        k.panels,
        "Alerts firing, pending or unknown",
        "Each alert that fires, is pending, or cannot be evaluated. Its runbook says what it means and what to do.",
        [Label("alert", width=260), Label("severity", width=90), alert_label(k)],
        [Column("state", expression, "short", no_thresholds(GRAY), ALERT_STATES, "background")],
        w=w,
        h=h,
        sort="-state",
        nothing="no alert is pending or fires",
    )


def device(k, w=24, h=4):
    s = k.s
    return table(
        k.panels,
        "Model and releases",
        "Model, chip, L4T and kernel release, and the version of jetmem.",
        [Label("model"), Label("soc", width=90), Label("l4t", width=80), Label("kernel"), Label("version", width=80)],
        [
            Column(
                None,
                f'max by (model, soc, l4t, kernel, version) ({s("jetmem_device_info")} * on (job, instance) '
                f'group_left (version) {s("jetmem_build_info")})',
                "short",
            )
        ],
        w=w,
        h=h,
    )


def timeline(k, h=8):
    s = k.s
    active = f'max_over_time({s("jetmem_alert_state")}[$__range] @ end()) > 0'
    return k.panels.timeline(
        "Alerts over time",
        "State of each alert that was pending or fired in the time range.",
        [query(f'max by (alert) ({s("jetmem_alert_state")}) and on (alert) max by (alert) ({active})', "{{alert}}")],
        ALERT_STATES,
        h=h,
        unit="short",
        nothing="no alert was pending or fired in this time range",
    )
