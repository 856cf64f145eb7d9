# SPDX-License-Identifier: Apache-2.0
"""How the device stands, and which alerts say so."""

from ..links import runbook_of_value
from ..styles import ALERT_STATES, DOWN, GONE, GRAY, NOT_JUDGED, ORANGE, RED, STALLED, VERDICTS, YELLOW, no_thresholds
from ..layout import row
from ..panels import query
from ..tables import Column, Label, table

# A count of anything bad: one is enough.
ANY_IS_BAD = [*no_thresholds(), {"color": RED, "value": 1}]
ANY_IS_WARNING = [*no_thresholds(), {"color": ORANGE, "value": 1}]
ANY_IS_NOTED = [*no_thresholds(), {"color": YELLOW, "value": 1}]


def gone(s):
    """Devices that were scraped in the time shown and no longer exist: the agent is gone, or nobody lists them."""
    return f'(last_over_time({s("jetmem_build_info")}[$__range]) unless on (job, instance) {s("up")})'


def not_judged(s):
    """Devices that answer and whose alerts nobody evaluates, or no longer: what they say of alerts is nothing, or old."""
    return (
        f'((increase({s("jetmem_rule_evaluations_total")}[5m]) == 0)'
        f' or ({s("up")} == 1 unless on (job, instance) {s("jetmem_alert_state")}))'
    )


def verdict(s):
    """8: gone; 7: does not answer; 6: stopped sampling; 5: answers and is not evaluated; 4, 3, 2: a critical alert, a
    warning, an information fires; 1: nothing does, and of some alerts nobody can tell; 0: nothing does."""
    return f"""max by (job, instance) (
  {gone(s)} * 0 + {GONE}
  or ({s("up")} == 0) + {DOWN}
  or ({s("jetmem_sampling_stalled")} == 1) * {STALLED}
  or {not_judged(s)} * 0 + {NOT_JUDGED}
  or ({s("jetmem_alert_state", severity="critical")} == bool 2) * 4
  or ({s("jetmem_alert_state", severity="warning")} == bool 2) * 3
  or ({s("jetmem_alert_state", severity="info")} == bool 2) * 2
  or max by (job, instance) ({s("jetmem_alert_unknown")})
)"""


def weight(s):
    """By which the worst come first."""
    return f"""sum by (job, instance) (
  max by (job, instance) ({gone(s)}) * 1000
  or ({s("up")} == 0) + 1000
  or ({s("jetmem_sampling_stalled")} == 1) * 1000
  or {not_judged(s)} * 0 + 500
  or ({s("jetmem_alert_state", severity="critical")} == bool 2) * 100
  or ({s("jetmem_alert_state", severity="warning")} == bool 2) * 10
  or ({s("jetmem_alert_state", severity="info")} == bool 2)
)"""


def alert_label(k):
    return Label("runbook", runbook_of_value(k.site), k.panels.runbook_words(), 210)


def with_runbook(expression, label="alert"):
    """Alerts that ship have pages; a site's own have no link."""
    return f'label_replace({expression}, "runbook", "$1", "{label}", "(Jetmem.+)")'


def section(k):
    return row("Verdict", *_stats(k), alerts(k), device(k), timeline(k))


def _stats(k):
    s, panels = k.s, k.panels

    def count(title, about, expression, bounds):
        return panels.stat(title, about, expression, w=3, unit="short", bounds=bounds, nothing="unknown")

    return [
        panels.stat(
            "Verdict",
            "The worst that fires on the device, by its own judgement; and whether it answers at all.",
            verdict(s),
            w=6,
            fill=True,
            mappings=VERDICTS,
            unit="short",
            bounds=no_thresholds(GRAY),
            nothing="not known: never scraped in this time",
        ),
        count(
            "Critical",
            "Critical alerts that fire.",
            f'sum({s("jetmem_alert_state", severity="critical")} == bool 2)',
            ANY_IS_BAD,
        ),
        count(
            "Warnings",
            "Warnings that fire.",
            f'sum({s("jetmem_alert_state", severity="warning")} == bool 2)',
            ANY_IS_WARNING,
        ),
        count(
            "Pending",
            "Alerts whose condition holds, not yet for long enough.",
            f'sum({s("jetmem_alert_state")} == bool 1)',
            ANY_IS_NOTED,
        ),
        count(
            "Cannot tell",
            "Alerts of which nobody can say whether they should fire, as a source that they need is blind.",
            f'sum({s("jetmem_alert_unknown")})',
            ANY_IS_WARNING,
        ),
        panels.stat(
            "Up for", "Since the device booted, as last read.", s("jetmem_boot_uptime_seconds"), w=3, unit="dtdurations"
        ),
        panels.stat(
            "Page age", "How old what is shown here was when Prometheus came for it.", s("jetmem_samples_age_seconds"), w=3
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
        "Alerts that are not quiet",
        "What is pending or fires, and what cannot be evaluated. The page of an alert "
        "says what it means and what to do.",
        [Label("alert", width=260), Label("severity", width=90), alert_label(k)],
        [Column("state", expression, "short", no_thresholds(GRAY), ALERT_STATES, "background")],
        w=w,
        h=h,
        sort="-state",
        nothing="nothing pends or fires",
    )


def device(k, w=10, h=8):
    s = k.s
    return table(
        k.panels,
        "Which device",
        "Model, chip, releases, and jetmem's version.",
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
        "Each alert that was pending or fired in the time shown.",
        [query(f'max by (alert) ({s("jetmem_alert_state")}) and on (alert) max by (alert) ({active})', "{{alert}}")],
        ALERT_STATES,
        h=h,
        unit="short",
        nothing="no alert was pending or fired in this time",
    )
