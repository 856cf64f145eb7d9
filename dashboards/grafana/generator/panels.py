# SPDX-License-Identifier: Apache-2.0
"""The kinds of panel. Each says what it shows, in which unit, and what it means when there is nothing.

A panel is a dict as Grafana has it, with "w" and "h" in place of a position: layout.py gives it one.
"""

from .links import runbook
from .styles import GRAY, GREEN, absent, no_thresholds, thresholds_of, thresholds_of_words
from .query import names_in, selects

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Ends the text of an empty panel that would otherwise state what may not have been read.
HEDGE = ", or it could not be read: see Unreadable sources"
# How bars of increase() over $__rate_interval are to be read.
BARS = "One event appears in every bar whose interval contains it, up to four: do not add bars up."
# Help texts of more metrics than this would be a page.
MOST_EXPLAINED = 6
# Points of a series over time where each costs a look at all devices of a fleet.
FEW_POINTS = 120


def query(expression, legend="", instant=False):
    return {"expr": expression, "legend": legend, "instant": instant}


def few(panel):
    return {**panel, "maxDataPoints": FEW_POINTS}


class Panels:
    def __init__(self, catalog, rules, site):
        self.catalog, self.rules, self.site = catalog, rules, site

    # ---------------------------------------------------------------- what all have

    def panel(
        self,
        kind,
        title,
        about,
        queries,
        options,
        w,
        h,
        unit=None,
        nothing=None,
        alerts=(),
        bounds=None,
        mappings=(),
        defaults=None,
        custom=None,
        overrides=(),
        transformations=(),
        table=False,
    ):
        """`alerts` are rules that speak of what is shown: each gets a link to its runbook. `bounds` are thresholds,
        [(rule, metric)] or steps. `nothing` is what an empty panel says: "not ...", or what is so if all was read."""
        expressions = [each["expr"] for each in queries]
        nothing = nothing or self._nothing(expressions)
        if not nothing.startswith("not ") and ", or " not in nothing:
            nothing += HEDGE
        mappings = list(mappings)
        if kind in ("stat", "bargauge"):
            mappings.append(absent(nothing))
        field = {
            "unit": unit or self.unit(expressions[0]),
            "noValue": nothing,
            "color": {"mode": "thresholds"},
            "mappings": mappings,
            "thresholds": {"mode": "absolute", "steps": self.steps(bounds, expressions)},
            **(defaults or {}),
        }
        if custom is not None:
            field["custom"] = custom
        return {
            "type": kind,
            "title": title,
            "description": self._description(about, expressions, field["noValue"]),
            "datasource": DATASOURCE,
            "links": [runbook(self.rules[name], self.site) for name in alerts],
            "targets": [self._target(each, at, table) for at, each in enumerate(queries)],
            "fieldConfig": {"defaults": field, "overrides": list(overrides)},
            "options": options,
            "transformations": list(transformations),
            "w": w,
            "h": h,
        }

    def _target(self, each, at, table):
        return {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "exemplar": False,
            "expr": each["expr"],
            "format": "table" if table else "time_series",
            "instant": each["instant"],
            "legendFormat": each["legend"],
            "range": not each["instant"],
            "refId": chr(ord("A") + at),
        }

    def _metrics(self, expressions):
        found = [self.catalog.get(name) for text in expressions for name in names_in(text)]
        return list({metric.name: metric for metric in found if metric}.values())

    def unit(self, expression):
        metrics = self._metrics([expression])
        return metrics[0].unit if metrics else "short"

    def _nothing(self, expressions):
        return "not available here: " + (self._sources(expressions) or "see Source states")

    def _sources(self, expressions):
        names = [
            metric.source.split(" ")[-1]
            for metric in self._metrics(expressions)
            if metric.source.startswith(("Source ", "Derived: "))
        ]
        return ", ".join(dict.fromkeys(names))

    def _description(self, about, expressions, nothing):
        metrics = {metric.name: metric for metric in self._metrics(expressions)}
        reported = [
            f"- `{metric.name}`: {metric.help.split('. ')[0].rstrip('.')}."
            for metric in metrics.values()
            if not metric.is_worst_of_a_minute_of(metrics)
        ]
        lines = [about, "", *reported[:MOST_EXPLAINED]]
        if len(reported) > MOST_EXPLAINED:
            lines.append("- the others are in docs/metrics.md")
        return "\n".join([*lines, "", f"Empty means: {nothing}."])

    def steps(self, bounds, expressions):
        """Of [(rule, metric)], or steps as they are, for what the expressions ask for."""
        if not bounds:
            return no_thresholds()
        if isinstance(bounds[0], dict):
            return list(bounds)
        conditions = [(self.rules[rule], self.rules[rule].condition(metric)) for rule, metric in bounds]
        for rule, condition in conditions:
            reported = [selects(text, condition) for text in expressions]
            if False in reported and True not in reported:
                raise SystemExit(
                    f"the threshold of {rule.name} is for {condition.metric} with {condition.labels or 'any label'}"
                    f"{' by ' + condition.function if condition.function else ''}; asked for is "
                    + " and ".join(expressions)
                )
        return thresholds_of(*conditions)

    def runbook_words(self):
        """Names of alerts, and of their pages' files: for a column that links to them."""
        return [
            {
                "type": "value",
                "options": {
                    name: {"text": rule.runbook, "index": index}
                    for index, (name, rule) in enumerate(sorted(self.rules.rules.items()))
                },
            }
        ]

    # ---------------------------------------------------------------- the kinds

    def stat(self, title, about, expression, w=4, h=4, legend="", fill=False, **more):
        options = {
            "colorMode": "background" if fill else "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "percentChangeColorMode": "standard",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "showPercentChange": False,
            "textMode": "value_and_name" if legend else "auto",
            "wideLayout": True,
        }
        return self.panel("stat", title, about, [query(expression, legend, instant=True)], options, w, h, **more)

    def timeseries(
        self,
        title,
        about,
        queries,
        w=12,
        h=8,
        style="line",
        stack=False,
        low=None,
        high=None,
        calcs=("last", "max"),
        **more,
    ):
        """`style`: line, steps (values that are counts or levels) or bars (what happened in each interval)."""
        if more.get("bounds"):
            # What is bad is shaded, what is good is not.
            more["bounds"] = [
                {**step, "color": "transparent"} if step["color"] == GREEN else step
                for step in self.steps(more["bounds"], [each["expr"] for each in queries])
            ]
        custom = {
            "axisPlacement": "auto",
            "drawStyle": "bars" if style == "bars" else "line",
            "fillOpacity": 60 if style == "bars" or stack else 8,
            "lineInterpolation": "stepAfter" if style == "steps" else "linear",
            "lineWidth": 1,
            "showPoints": "auto",
            # A gap stays one: nobody knows what was in it.
            "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if stack else "none"},
            "thresholdsStyle": {"mode": "dashed+area" if more.get("bounds") else "off"},
        }
        defaults = {"color": {"mode": "palette-classic"}}
        if low is not None:
            defaults["min"] = low
        if high is not None:
            defaults["max"] = high
        options = {
            "legend": {
                "calcs": list(calcs),
                "displayMode": "table" if calcs else "list",
                "placement": "bottom",
                "showLegend": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
        return self.panel("timeseries", title, about, queries, options, w, h, custom=custom, defaults=defaults, **more)

    def bargauge(self, title, about, expression, legend, w=12, h=8, **more):
        options = {
            "displayMode": "basic",
            "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
            "maxVizHeight": 32,
            "minVizHeight": 12,
            "minVizWidth": 8,
            "namePlacement": "left",
            "orientation": "horizontal",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "showUnfilled": True,
            "sizing": "auto",
            "valueMode": "text",
        }
        return self.panel("bargauge", title, about, [query(expression, legend, instant=True)], options, w, h, **more)

    def timeline(self, title, about, queries, mappings, w=24, h=8, links=(), **more):
        options = {
            "alignValue": "left",
            "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
            "mergeValues": True,
            "rowHeight": 0.85,
            "showValue": "auto",
            "tooltip": {"mode": "single", "sort": "none"},
        }
        # Grafana merges values that lie between the same thresholds, without a look at their words, where colours go by
        # thresholds: so they do not, and each value has a step.
        defaults = {"color": {"mode": "fixed", "fixedColor": GRAY}}
        if links:
            defaults["links"] = list(links)
        return self.panel(
            "state-timeline",
            title,
            about,
            queries,
            options,
            w,
            h,
            mappings=mappings,
            bounds=thresholds_of_words(mappings),
            custom={"fillOpacity": 80, "lineWidth": 0},
            defaults=defaults,
            **more,
        )

    def heatmap(self, title, about, expression, legend, rows_unit, w=24, h=9, **more):
        """One row for each series, in the order of their numbers; colour is the value."""
        options = {
            "calculate": False,
            "cellGap": 1,
            "color": {
                "exponent": 0.5,
                "fill": "dark-orange",
                "mode": "scheme",
                "reverse": False,
                "scale": "exponential",
                "scheme": "Viridis",
                "steps": 64,
                "min": 0,
            },
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
            # Grafana leaves 0 out by itself; here it must not look like a gap.
            "filterValues": {"le": -1e-9},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "showValue": "never",
            "tooltip": {"mode": "single", "showColorScale": True, "yHistogram": False},
            "yAxis": {"axisPlacement": "left", "reverse": False, "unit": rows_unit},
        }
        unit = more.pop("unit", None) or self.unit(expression)
        options["cellValues"] = {"unit": unit}
        return self.panel(
            "heatmap",
            title,
            about,
            [query(expression, legend)],
            options,
            w,
            h,
            unit=unit,
            custom={"scaleDistribution": {"type": "linear"}},
            **more,
        )
