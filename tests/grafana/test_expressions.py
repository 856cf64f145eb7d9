#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboards as committed, on series made for them (promtool): a counter that a reboot resets, a device
that dies within the time shown, one that nobody scrapes any more, one whose rules nobody evaluates.

Exits 77 without promtool.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import boards

# In minutes; each has a value.
END = 40
JOB = 'job="jetmem",instance="{}"'
DEVICE = {"job": "jetmem", "instance": "d", "scheme": "http", "__range": "30m", "__rate_interval": "4m"}
FLEET = {**DEVICE, "instance": ".+"}


def series(name, values, instance="d", **labels):
    more = "".join(f',{label}="{value}"' for label, value in labels.items())
    return {"series": f"{name}{{{JOB.format(instance)}{more}}}", "values": values}


def steady(value, minutes=END):
    return f"{value}x{minutes}"


class Expressions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.boards = boards.load()

    def query(self, where):
        return next(each for each in boards.queries(self.boards[where.split(" / ")[0]]) if each.where == where)

    def answers(self, where, given, wanted, at=END):
        """`wanted`: {labels as in a selector: value} at that minute. The time shown is from 10 to 40."""
        expression = self.query(where).expanded(**(FLEET if where.startswith("jetmem-fleet") else DEVICE))
        # Of a range query the end is that of the range; here each point is a query of its own.
        expression = expression.replace("@ end()", f"@ {END * 60}")
        samples = [{"labels": labels, "value": value} for labels, value in wanted.items()]
        test = {
            "evaluation_interval": "1m",
            "rule_files": [],
            "tests": [
                {
                    "interval": "1m",
                    "input_series": given,
                    "promql_expr_test": [{"expr": expression, "eval_time": f"{at}m", "exp_samples": samples}],
                }
            ],
        }
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "test.yml")
            file.write_text(json.dumps(test), encoding="utf-8")  # JSON is YAML
            done = subprocess.run(
                ["promtool", "test", "rules", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                universal_newlines=True,
                timeout=60,
            )
        self.assertEqual(done.returncode, 0, done.stdout)

    # ------------------------------------------------------------- what happened in the time shown

    def grown(self, values, wanted):
        self.answers(
            "jetmem-incident / Events in this time / A",
            [series("jetmem_kernel_events_total", values, kind="oom_kill")],
            {'{kind="oom_kill"}': wanted} if wanted else {},
        )

    def test_what_grew(self):
        self.grown("3x20 5x20", 2)

    def test_nothing_grew(self):
        self.grown(steady(3), 0)

    def test_what_came_in_counts_in_full(self):
        self.grown("_x20 2x20", 2)

    def test_a_reboot_resets(self):
        """Two before it, then three from 0 on, of which the first is seen with the counter."""
        self.grown("5x15 7x10 3x15", 5)

    def test_a_device_that_died(self):
        self.grown("3x15 7x5 stale _x19", 4)

    def test_what_came_in_before_a_device_died(self):
        self.grown("_x15 4x5 stale _x19", 4)

    def test_a_device_that_was_reset_and_died(self):
        self.grown("3x15 1x5 stale _x19", 1)

    def test_the_largest_of_a_device_that_died(self):
        labels = {"command": "leaky", "unit": "u", "container": ""}
        self.answers(
            "jetmem-device / The largest over time / A",
            [series("jetmem_process_group_resident_bytes", "7x20 stale _x20", **labels)],
            {'{command="leaky",unit="u"}': 7},
            at=15,
        )

    def test_the_boot_of_a_device_that_died(self):
        self.answers(
            "jetmem-incident / The boot / B",
            [series("jetmem_boot_time_seconds", "5x20 stale _x20")],
            {"{}": 5000},
        )

    # ------------------------------------------------------------- how a device stands

    def stands(self, given, verdict, weight):
        alive = [series("jetmem_build_info", steady(1), version="1")] if verdict != 8 else []
        for column, value in (("A", verdict), ("B", weight)):
            self.answers(
                f"jetmem-fleet / Devices, the worst first / {column}", given + alive, {f'{{{JOB.format("d")}}}': value}
            )

    JUDGED = (
        series("jetmem_alert_state", steady(0), alert="JetmemX", severity="warning"),
        series("jetmem_alert_unknown", steady(0), alert="JetmemX", severity="warning"),
    )
    STEPS = series("jetmem_rule_evaluations_total", f"0+6x{END}")
    UP = series("up", steady(1))

    def test_quiet(self):
        self.stands([self.UP, self.STEPS, *self.JUDGED], 0, 0)

    def test_gone(self):
        self.stands(
            [series("up", "1x20 stale _x20"), series("jetmem_build_info", "1x20 stale _x20", version="1")], 8, 1000
        )

    def test_not_judged_at_all(self):
        self.stands([self.UP], 5, 500)

    def test_no_longer_judged(self):
        """What it says of its alerts is old, critical or not."""
        critical = series("jetmem_alert_state", steady(2), alert="JetmemY", severity="critical")
        still = series("jetmem_rule_evaluations_total", steady(7))
        self.stands([self.UP, still, *self.JUDGED, critical], 5, 600)

    def test_gone_counts_as_down(self):
        given = [series("up", "1x20 stale _x20"), series("jetmem_build_info", "1x20 stale _x20", version="1")]
        for instance, value in (("a", 0), ("b", 1)):
            given.append(series("up", steady(value), instance))
        self.answers("jetmem-fleet / Down / A", given, {"{}": 2})

    def test_none_is_down(self):
        self.answers("jetmem-fleet / Down / A", [self.UP], {"{}": 0})

    # ------------------------------------------------------------- blind

    def test_a_stale_source_cannot_be_read(self):
        given = [
            series("jetmem_source_state", steady(1), source="emc", state="ok"),
            series("jetmem_source_state", steady(0), source="emc", state="failed"),
            series("jetmem_source_failing", steady(1), source="emc"),
            series("jetmem_source_state", steady(1), source="cma", state="failed"),
            series("jetmem_source_failing", steady(1), source="cma"),
            series("jetmem_source_failing", steady(0), source="vmstat"),
        ]
        self.answers(
            "jetmem-fleet / Sources that cannot be read / A",
            given,
            {
                f'{{{JOB.format("d")},source="cma",state="failed"}}': 1,
                f'{{{JOB.format("d")},source="emc",state="blind"}}': 1,
            },
        )


if __name__ == "__main__":
    if not shutil.which("promtool"):
        print("SKIPPED: needs the program promtool (Debian package prometheus)")
        sys.exit(77)
    unittest.main(verbosity=2)
