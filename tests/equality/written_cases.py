# SPDX-License-Identifier: Apache-2.0
"""Cases for the edges of the semantics, each with the steps at which an alert is seen in a state."""

import random

from cases import OF_COUNTERS, OF_GAUGES, Batch, Case, counter_values, gauge_values, with_holes
from equality import rule

GAP, STALE = None, "stale"
BATCHES = {}


def case(steps, interval=15_000):
    """The function fills in the one case of a batch on this grid."""
    def add(function):
        written = Written(steps, interval)
        function(written)
        BATCHES[function.__name__] = written.batch
        return function
    return add


class Written:
    """`expected`: {(alert, state): [steps]}."""

    def __init__(self, steps, interval):
        self.batch = Batch(interval, steps)
        self.case = Case()
        self.batch.cases = [self.case]
        self.batch.expected = {}

    def metric(self, name, *labels):
        kind = "counter" if name.endswith("_total") else "gauge"
        self.case.metrics.append({"name": name, "type": kind, "labels": list(labels)})

    def series(self, metric, values, **labels):
        if all(m["name"] != metric for m in self.case.metrics):
            self.metric(metric, *sorted(labels))
        values = list(values) + [GAP] * (self.batch.steps - len(values))
        self.case.series.append({"metric": metric, "labels": labels, "values": values})

    def rule(self, name, *when, firing=None, pending=None, **others):
        """`firing`, `pending`: the steps at which its alerts are seen in this state."""
        self.case.rules.append(rule(name, *when, **others))
        for state, steps in (("firing", firing), ("pending", pending)):
            if steps is not None:
                self.expect(name, state, steps)

    def expect(self, alert, state, steps):
        self.batch.expected[alert, state] = list(steps)


def when(metric, **others):
    return {"metric": metric, **others}


@case(20)
def counter_reset_inside_and_at_the_edges(w):
    # The window of 1m at step 8 reaches from step 4 to 8: resets before it, on its first sample,
    # inside, on its last.
    w.series("jetmem_x_total", [10 + i if i < 6 else i - 6 for i in range(20)])
    w.series("jetmem_y_total", [5, 9, 3, 3, 0, 0, 7, 7, 1, 2, 3, 0, 0, 0, 9, 8, 7, 6, 5, 4])
    for function in ("rate", "increase"):
        for metric in ("jetmem_x_total", "jetmem_y_total"):
            w.rule(f"C{function}{metric[7]}",
                   when(metric, function=function, window="1m", above="0"))
    # A first value of 0 is a start: five samples, four steps of one.
    w.expect("Cincreasex", "firing", range(1, 20))


@case(40)
def extrapolation_limits(w):
    # The window reaches further than 1.1 intervals beyond the first and the last sample, and less.
    w.series("jetmem_a_total", [100 + 3 * i for i in range(40)])
    w.series("jetmem_late_total", [GAP] * 12 + [1000 + i for i in range(28)])
    w.series("jetmem_ends_total", [1000 + i for i in range(12)])
    # Extrapolated to no less than zero: 0, and next to it.
    w.series("jetmem_zero_total", [GAP] * 9 + [0, 10, 20, 30, 40])
    w.series("jetmem_near_total", [GAP] * 9 + [2, 10, 20, 30, 40])
    w.series("jetmem_negative_total", [GAP] * 9 + [-3, 10, 20])
    w.series("jetmem_d_bytes", [GAP] * 9 + [2, 10, 20, -30, 40])
    for name in ("a", "late", "ends", "zero", "near", "negative"):
        for window in ("1m", "76s", "77s", "5m", "31s500ms"):
            for function in ("rate", "increase"):
                w.rule(f"X{name}{window}{function}", when(f"jetmem_{name}_total", function=function,
                                                          window=window, above="0"))
    for window in ("1m", "76s", "5m"):
        w.rule(f"D{window}", when("jetmem_d_bytes", function="delta", window=window, above="0"))
    w.expect("Xlate1mrate", "firing", range(13, 40))
    w.expect("Xends1mrate", "firing", range(1, 15))


@case(12)
def window_includes_both_ends(w):
    # The peak of step 3 is seen by a window of 1m at step 7, exactly a minute later; not at step 8.
    w.series("jetmem_peak_bytes", [0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0])
    w.rule("Peak", when("jetmem_peak_bytes", function="maximum", window="1m", above="5"),
           firing=range(3, 8))
    w.rule("PeakLess", when("jetmem_peak_bytes", function="maximum", window="59s999ms", above="5"),
           firing=range(3, 7))


@case(30)
def lookback_of_exactly_five_minutes(w):
    w.series("jetmem_once_bytes", [GAP, GAP, 7])
    # 20 steps of 15 s later it is still found.
    w.rule("Once", when("jetmem_once_bytes", above="5"), firing=range(2, 23))
    w.rule("Gone", when("jetmem_once_bytes", function="absent"), firing=[0, 1, *range(23, 30)])


@case(50, 7000)
def lookback_of_a_grid_that_does_not_divide_five_minutes(w):
    w.series("jetmem_once_bytes", [GAP, 7])
    w.rule("Once", when("jetmem_once_bytes", above="5"), firing=range(1, 44))


@case(20)
def stale_then_back(w):
    w.series("jetmem_x_bytes",
             [9, 9, STALE, GAP, GAP, 9, 9, STALE, 9, STALE, STALE, GAP, 9, STALE])
    w.rule("Now", when("jetmem_x_bytes", above="5"), firing=[0, 1, 5, 6, 8, 12])
    w.rule("Held", when("jetmem_x_bytes", above="5"), for_="15s", pending=[0, 5, 8, 12], firing=[1, 6])
    # A window does not see the mark, but the samples around it.
    w.rule("Over", when("jetmem_x_bytes", function="minimum", window="1m", above="5"),
           firing=range(0, 17))
    w.rule("Count", when("jetmem_x_bytes", function="changes", window="5m", at_least="0"))
    w.rule("Absent", when("jetmem_x_bytes", function="absent"),
           firing=[2, 3, 4, 7, 9, 10, 11, *range(13, 20)])


@case(14)
def for_reached_exactly(w):
    values = [0, 9, 9, 9, 9, 9, 0, 9, 9, 9, 0, 9, 9, 9]
    w.series("jetmem_x_bytes", values)
    up = [i for i, v in enumerate(values) if v]
    condition = when("jetmem_x_bytes", above="5")
    w.rule("Zero", condition, for_="0s", firing=up, pending=[])
    w.rule("None", condition, firing=up)
    w.rule("Exact", condition, for_="30s", pending=[1, 2, 7, 8, 11, 12], firing=[3, 4, 5, 9, 13])
    w.rule("Beyond", condition, for_="30001ms", firing=[4, 5])
    w.rule("Before", condition, for_="29999ms", firing=[3, 4, 5, 9, 13])


@case(16)
def clear_on_its_edges(w):
    w.series("jetmem_x_bytes",
             [0, 95, 94, 90, 91, 90, 89.99, 90, 94, 95, 90, 80, 96, STALE, 94, 95])
    w.rule("AtLeast", when("jetmem_x_bytes", at_least="95", clear="90"),
           firing=[1, 2, 3, 4, 5, 9, 10, 12, 15])
    w.rule("Above", when("jetmem_x_bytes", above="95", clear="90"), firing=[12])
    # Kept firing when it falls to 89.99, and held again by the 90 after it.
    w.rule("Kept", when("jetmem_x_bytes", at_least="95", clear="90"), keep_firing_for="30s",
           firing=[*range(1, 16)])
    # The threshold to stop at does not keep what is only pending.
    w.rule("Held", when("jetmem_x_bytes", at_least="95", clear="90"), for_="15s", firing=[],
           pending=[1, 9, 12, 15])
    w.rule("Below", when("jetmem_x_bytes", below="90", clear="94"), firing=[0, 6, 7, 11])


@case(10)
def clear_of_a_later_condition(w):
    w.series("jetmem_x_bytes", [9] * 10, area="a")
    w.series("jetmem_x_bytes", [9] * 10, area="b")
    w.series("jetmem_y_bytes", [0, 95, 92, 92, 89, 92, 95, 92, 92, 80], area="a")
    w.series("jetmem_y_bytes", [92] * 10, area="b")
    w.rule("Tied", when("jetmem_x_bytes", above="5"),
           when("jetmem_y_bytes", at_least="95", clear="90", on="area"), firing=[1, 2, 3, 6, 7, 8])
    w.rule("Any", when("jetmem_x_bytes", above="5"),
           when("jetmem_y_bytes", at_least="95", clear="90"), firing=sorted([*range(1, 10)] * 2))


@case(16)
def keep_firing_for_reached_exactly(w):
    w.series("jetmem_x_bytes", [0, 9, 0, 0, 0, 0, 9, 0, 9, 0, 0, 0, 0, 0, 0, 0])
    condition = when("jetmem_x_bytes", above="5")
    w.rule("Exact", condition, keep_firing_for="30s", firing=[1, 2, 3, 6, 7, 8, 9, 10])
    w.rule("Beyond", condition, keep_firing_for="30001ms", firing=[1, 2, 3, 4, 6, 7, 8, 9, 10, 11])
    # A pending alert is not kept.
    w.rule("Pending", condition, for_="30s", keep_firing_for="30s", pending=[1, 6, 8])


@case(12)
def kept_while_its_series_is_gone(w):
    w.series("jetmem_x_bytes", [9, 9, STALE, GAP, GAP, GAP, 9, 0, 0, 0, 0, 0])
    w.rule("Kept", when("jetmem_x_bytes", above="5"), keep_firing_for="1m",
           firing=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])


@case(14)
def unless_in_both_orders(w):
    w.series("jetmem_x_bytes", [9] * 14)
    w.series("jetmem_hot_level", [0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0])
    hot = when("jetmem_hot_level", above="0")
    x = when("jetmem_x_bytes", above="5")
    # A rule before what silences it sees the step before.
    w.rule("Early", x, unless="Hot", firing=[0, 1, 2, 5, 6, 7, 9, 10])
    w.rule("Hot", hot, firing=[2, 3, 7, 10, 11, 12])
    w.rule("Late", x, unless="Hot", firing=[0, 1, 4, 5, 6, 8, 9, 13])
    w.rule("LateHeld", x, unless="Hot", for_="30s", firing=[6])
    w.rule("LateKept", x, unless="Hot", keep_firing_for="30s",
           firing=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13])
    # Pending does not silence.
    w.rule("HotLater", hot, for_="30s")
    w.rule("ByPending", x, unless="HotLater", firing=[*range(0, 12), 13])
    w.rule("ByTwo", x, unless=["HotLater", "Hot"], firing=[0, 1, 4, 5, 6, 8, 9, 13])


@case(14)
def unless_of_each_other_and_of_a_chain(w):
    w.series("jetmem_x_bytes", [9, 9, 9, 9, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9])
    w.series("jetmem_y_bytes", [0, 96, 92, 92, 92, 89, 0, 96, 92, 92, 96, 0, 0, 0])
    x = when("jetmem_x_bytes", above="5")
    w.rule("First", x, unless="Second", firing=[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    w.rule("Second", x, unless="First", firing=[])
    # Silenced by one that silences itself away, and by one that hysteresis holds.
    w.rule("Holds", when("jetmem_y_bytes", at_least="95", clear="90"), unless="Last", firing=[1, 7, 10])
    w.rule("Quiet", x, unless="Holds")
    w.rule("Last", x, unless="Quiet")


@case(10)
def one_of_two_series_resolves(w):
    w.series("jetmem_x_bytes", [9, 9, 9, 9, 0, 0, 9, 9, 9, 9], area="a")
    w.series("jetmem_x_bytes", [9, 9, 9, 9, 9, 9, 9, 9, STALE], area="b")
    w.series("jetmem_x_bytes", [0, 0, 9, 0, 0, 0, 0, 9, 9, 9], area="c")
    w.rule("Each", when("jetmem_x_bytes", above="5"), for_="15s", pending=[0, 0, 2, 6, 7],
           firing=[1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9])


@case(4)
def labels_of_every_kind(w):
    values = ["", 'q"uo"te', "back\\slash\\", "a.b", "axb", "(a|b)", "a|b", "^$", "[x]", "größe",
              "日本", "two words", "{{ value }}", "%", "a", "'", "`"]
    w.metric("jetmem_x_bytes", "area", "kind")
    for value in values:
        w.series("jetmem_x_bytes", [9] * 4, **({"area": value} if value else {}))
        if value:
            w.series("jetmem_x_bytes", [9] * 4, area=value, kind="k")
    w.series("jetmem_y_bytes", [9] * 4, area="größe")
    w.series("jetmem_y_bytes", [9] * 4, area='q"uo"te')
    for i, value in enumerate(values):
        for key in ("labels", "not_labels"):
            w.rule(f"One{i}{key}", when("jetmem_x_bytes", above="5", **{key: {"area": value}}))
            w.rule(f"Two{i}{key}", when("jetmem_x_bytes", above="5",
                                        **{key: {"area": [value, "a|b"], "kind": ["", "other"]}}))
    w.rule("All", when("jetmem_x_bytes", above="5", labels={"area": values}),
           firing=sorted(list(range(4)) * 33))
    w.rule("NotAll", when("jetmem_x_bytes", above="5", not_labels={"area": values}), firing=[])
    w.rule("Tied", when("jetmem_x_bytes", above="5"), when("jetmem_y_bytes", above="5", on="area"),
           summary="{{ labels.area }} of {{ labels.kind }}", firing=sorted(list(range(4)) * 4))
    w.rule("Gone", when("jetmem_z_bytes", function="absent", labels={"area": 'q"\\', "kind": ""}),
           firing=range(4))
    w.metric("jetmem_z_bytes", "area", "kind")


@case(12)
def absent_behind_another(w):
    w.series("jetmem_x_bytes", [1, 1, STALE, GAP, GAP, GAP, 1, STALE], area="a", kind="k")
    w.series("jetmem_y_bytes", [9] * 5 + [0] * 7, area="a", kind="k")
    w.rule("Later", when("jetmem_y_bytes", above="5"), when("jetmem_x_bytes", function="absent"),
           firing=[2, 3, 4])


@case(12)
def not_a_number(w):
    values = [1, "NaN", 9, "+Inf", 9, "-Inf", 0, -0.0, "NaN", "NaN", 3, 9]
    w.series("jetmem_x_bytes", values)
    w.series("jetmem_x_total", [abs(v) if not isinstance(v, str) else v for v in values])
    for name in ("above", "below", "at_least", "at_most", "equal_to", "not_equal_to"):
        w.rule(f"Now{name}", when("jetmem_x_bytes", **{name: "0"}))
        for function in ("delta", "slope", "average", "minimum", "maximum", "changes"):
            w.rule(f"{function.title()}{name}",
                   when("jetmem_x_bytes", function=function, window="45s", **{name: "0"}))
        for function in ("rate", "increase"):
            w.rule(f"{function.title()}{name}",
                   when("jetmem_x_total", function=function, window="45s", **{name: "0"}))
    w.expect("Nownot_equal_to", "firing", [0, 1, 2, 3, 4, 5, 8, 9, 10, 11])


@case(280)
def windows_of_an_hour(w):
    # Sums over 240 samples, with gaps and resets.
    r = random.Random(7)
    w.series("jetmem_y_bytes", [i % 2 for i in range(280)])
    w.rule("ChangesY", when("jetmem_y_bytes", function="changes", window="1h", above="200"), firing=range(201, 280))
    for area in "abc":
        w.series("jetmem_x_total", with_holes(r, counter_values(r, 280)), area=area)
        w.series("jetmem_x_bytes", with_holes(r, gauge_values(r, 280)), area=area)
    for metric, functions in (("jetmem_x_total", OF_COUNTERS[1:]), ("jetmem_x_bytes", OF_GAUGES[1:])):
        for function in functions:
            ahead = {"ahead": "4h"} if function == "predict" else {}
            w.rule(function.title() + metric[8:],
                   when(metric, function=function, window="1h", above="0", **ahead))
