# SPDX-License-Identifier: Apache-2.0
"""What is around the panels: variables, annotations, links, and the dashboard itself."""

from .layout import place
from .panels import DATASOURCE

# Grafana 10.3 to 11.3 write this one, later ones bring it up to their own.
SCHEMA_VERSION = 39


def variables(site, several):
    """`several`: more than one job and device may be chosen, and all are at first."""
    datasource = {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "description": "The Prometheus, or what answers like one, that has jetmem's series.",
        "includeAll": False,
        "multi": False,
        "refresh": 1,
        "regex": "",
        "hide": 0,
        "options": [],
        "current": {"selected": True, "text": site.datasource, "value": site.datasource},
    }
    jobs = "label_values(jetmem_build_info, job)"
    how = "=~" if several else "="
    sites = f'label_values(jetmem_build_info{{job{how}"$job"}}, {site.label})'
    devices = f'label_values(up{{{site.label}=~"$site",job{how}"$job"}}, instance)'
    return [
        datasource,
        _queried("job", "Job", "The scrape job of the devices.", jobs, several),
        # Also matches devices without this label: where no target has it, the variable has no values and selects all.
        _queried("site", "Site", f"The target label {site.label}. All includes devices without it.", sites, True, ".*"),
        _queried("instance", "Device", "The address at which Prometheus scrapes the device, or its name.", devices, several, ".+"),
        {
            "name": "scheme",
            "label": "Device's page",
            "type": "custom",
            "query": "http,https",
            "hide": 0,
            "description": "How a browser reaches the page that each device serves itself.",
            "includeAll": False,
            "multi": False,
            "skipUrlSync": False,
            "current": {"selected": True, "text": site.scheme, "value": site.scheme},
            "options": [{"selected": each == site.scheme, "text": each, "value": each} for each in ("http", "https")],
        },
        site.runbooks_variable(),
    ]


def _queried(name, label, about, query, several, everything=None):
    variable = {
        "name": name,
        "label": label,
        "type": "query",
        "description": about,
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"qryType": 1, "query": query, "refId": f"{name}-variable"},
        # When the time range changes: a device that is gone is listed for the time in which it was there.
        "refresh": 2,
        "sort": 7,
        "regex": "",
        "hide": 0,
        "options": [],
        "skipUrlSync": False,
        "includeAll": several,
        "multi": several,
    }
    if several:
        # Shorter than hundreds of addresses. Of jobs it would be each that the Prometheus has.
        if everything:
            variable["allValue"] = everything
        variable["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return variable


def annotation(name, expression, shade, title, tags="", text="", value_is_time=False, step="30s"):
    return {
        "name": name,
        "datasource": DATASOURCE,
        "enable": True,
        "hide": False,
        "iconColor": shade,
        "expr": expression,
        "step": step,
        "titleFormat": title,
        "textFormat": text,
        "tagKeys": tags,
        "useValueForTime": value_is_time,
    }


BUILT_IN = {
    "builtIn": 1,
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "enable": True,
    "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)",
    "name": "Annotations & Alerts",
    "type": "dashboard",
}


def firing_annotations(scope):
    """What the device evaluates itself, and what Prometheus evaluates by the exported rules: where the two differ, one of
    them lacked data."""
    return [
        annotation(
            "Alerts of the device",
            f"jetmem_alert_state{{{scope}}} == 2",
            "red",
            "{{alert}}",
            tags="severity",
            text="evaluated by {{instance}} itself ({{severity}})",
        ),
        annotation(
            "Alerts of Prometheus",
            f'ALERTS{{{scope},alertname=~"Jetmem.+",alertstate="firing"}}',
            "orange",
            "{{alertname}}",
            tags="severity",
            text="evaluated by Prometheus for {{instance}} ({{severity}})",
        ),
    ]


def dashboard(
    uid, title, about, site, rows, annotations, links, several=False, since="now-6h", refresh="30s", folded=False
):
    """`folded`: only the first row is open."""
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["jetmem"],
        "id": None,
        "version": 1,
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "weekStart": "",
        "fiscalYearStartMonth": 0,
        "liveNow": False,
        "refresh": refresh,
        "time": {"from": since, "to": "now"},
        "timepicker": {},
        "annotations": {"list": [BUILT_IN, *annotations]},
        "templating": {"list": variables(site, several)},
        "links": links,
        "panels": place(rows, folded),
    }
