# SPDX-License-Identifier: Apache-2.0
"""Asks a lab's Prometheus what the dashboards ask, as Grafana would: variables expanded, over the lab's life."""

import math
import re

import boards

STEP = 4
# Four scrapes and more.
RATE_INTERVAL = "16s"


class Asker:
    def __init__(self, lab, every):
        """`every`: {uid: dashboard}"""
        self.lab, self.boards, self.known = lab, every, {}

    def variables(self, device=None):
        span = f"{int(self.lab.end - self.lab.begin)}s"
        known = {"scheme": "http", "site": ".*", "__rate_interval": RATE_INTERVAL, "__interval": f"{STEP}s", "__range": span}
        if device:
            return {**known, "job": "jetmem", "instance": self.lab.instances[device]}
        for name in ("job", "site", "instance"):
            known[name] = self.chosen_at_first("jetmem-fleet", name, known)
        return known

    def chosen_at_first(self, uid, name, known):
        """A variable as Grafana writes it into a query before anybody has touched it: what stands for all, or else
        all its values as alternatives."""
        variable = next(each for each in self.boards[uid]["templating"]["list"] if each["name"] == name)
        assert variable["current"]["value"] == ["$__all"], name
        if "allValue" in variable:
            return variable["allValue"]
        values = [re.escape(each) for each in self.answer(boards.variable_query(self.boards[uid], variable), known)]
        return values[0] if len(values) == 1 else f"({'|'.join(values)})"

    def ask(self, query, device=None):
        """Series that have a number, as (labels, values); of a variable, its values."""
        if device not in self.known:
            self.known[device] = self.variables(device)
        return self.answer(query, self.known[device])

    def answer(self, query, variables):
        text = query.expanded(**variables)
        api, begin, end = self.lab.prometheus.api, self.lab.begin, self.lab.end
        if query.kind == "values":
            return api(f"label/{query.label}/values", **{"match[]": text, "start": begin, "end": end})
        if query.kind == "instant":
            found = [(each["metric"], [each["value"]]) for each in api("query", query=text, time=end)["result"]]
        else:
            found = [
                (each["metric"], each["values"])
                for each in api("query_range", query=text, start=begin, end=end, step=STEP)["result"]
            ]
        numbers = [(labels, [float(value) for _, value in values]) for labels, values in found]
        return [(labels, values) for labels, values in numbers if any(map(math.isfinite, values))]
