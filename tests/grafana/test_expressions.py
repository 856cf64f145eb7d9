#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboards as committed, on series made for them (promtool): a counter that a reboot resets, a device
that dies within the time shown, one that nobody scrapes any more, one whose rules nobody evaluates.

Exits 77 without promtool.
"""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import boards

# In minutes; each has a value.
END = 40
JOB = 'job="jetmem",instance="{}"'
DEVICE = {"job": "jetmem", "site": ".*", "instance": "d", "scheme": "http", "__range": "30m", "__rate_interval": "4m"}
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

    def answers(self, where, given, wanted, at=END, **chosen):
        """`wanted`: {labels as in a selector: value} at that minute. The time shown is from 10 to 40."""
        expression = self.query(where).expanded(
            **{**(FLEET if where.startswith("jetmem-fleet") else DEVICE), **chosen}
        )
        # Of a range query the end is that of the range; here each point is a query of its own.
        expression = expression.replace("@ end()", f"@ {END * 60}")
        samples = [{"labels": labels, "value": value} for labels, value in wanted.items()]
        test = {
            "evaluation_interval": "1m",
            "rule_files": ["records.yml"],
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
            pathlib.Path(folder, "records.yml").write_text("groups:\n" + boards.RECORDS.read_text(encoding="utf-8"))
            done = boards.run(["promtool", "test", "rules", str(file)])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    # ------------------------------------------------------------- what happened in the time shown

    def grown(self, values, wanted, *more):
        self.answers(
            "jetmem-incident / Kernel events in the time range / A",
            [series("jetmem_kernel_events_total", values, kind="oom_kill"), *more],
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

    def test_out_of_reach_at_the_beginning(self):
        """It counts from its last value before, of the same boot."""
        booted = series("jetmem_boot_time_seconds", "1000x3 _x12 1001x25")
        self.grown("200x3 _x12 200x25", 0, booted)
        self.grown("200x3 _x12 203x25", 3, booted)

    def test_rebooted_while_out_of_reach(self):
        self.grown("1x3 _x12 1x25", 1, series("jetmem_boot_time_seconds", "1000x3 _x12 3000x25"))

    def test_a_device_that_died(self):
        self.grown("3x15 7x5 stale _x19", 4)

    def test_what_came_in_before_a_device_died(self):
        self.grown("_x15 4x5 stale _x19", 4)

    def test_a_device_that_was_reset_and_died(self):
        self.grown("3x15 1x5 stale _x19", 1)

    def test_the_largest_of_a_device_that_died(self):
        labels = {"command": "leaky", "unit": "u", "container": ""}
        self.answers(
            "jetmem-device / Resident memory of the ten largest groups / A",
            [series("jetmem_process_group_resident_bytes", "7x20 stale _x20", **labels)],
            {'{command="leaky",unit="u"}': 7},
            at=15,
        )

    def test_the_boot_of_a_device_that_died(self):
        self.answers(
            "jetmem-incident / Last boot and reset reason / B",
            [series("jetmem_boot_time_seconds", "5x20 stale _x20")],
            {"{}": 5000},
        )

    # ------------------------------------------------------------- the verdict of a device

    def stands(self, given, verdict, weight):
        alive = [series("jetmem_build_info", steady(1), version="1")] if verdict != 8 else []
        for column, value in (("A", verdict), ("B", weight)):
            self.answers(
                f"jetmem-fleet / Devices by verdict, worst first / {column}", given + alive, {f'{{{JOB.format("d")}}}': value}
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
        self.answers("jetmem-fleet / Devices down / A", given, {"{}": 2})

    def test_none_is_down(self):
        self.answers("jetmem-fleet / Devices down / A", [self.UP], {"{}": 0})

    def test_it_does_not_answer(self):
        self.stands([series("up", steady(0))], 7, 1000)

    def test_it_has_stopped_sampling(self):
        self.stands([self.UP, series("jetmem_sampling_stalled", steady(1)), self.STEPS, *self.JUDGED], 6, 1000)

    def test_the_worst_alert_counts(self):
        states = [("A", "critical", 1), ("B", "warning", 2), ("C", "warning", 2), ("D", "info", 2)]
        alerts = [series("jetmem_alert_state", steady(state), alert=name, severity=how) for name, how, state in states]
        self.stands([self.UP, self.STEPS, *alerts], 3, 21)

    def test_what_is_unknown_counts_where_nothing_fires(self):
        """Although the states of the same alerts are there."""
        unknown = series("jetmem_alert_unknown", steady(1), alert="JetmemX", severity="warning")
        self.stands([self.UP, self.STEPS, self.JUDGED[0], unknown], 1, 0)

    def test_a_site_keeps_devices_of_one_name_apart(self):
        given = []
        for site, value in (("north", 0), ("south", 1)):
            given += [series("up", steady(value), site=site), series("jetmem_build_info", steady(1), version="1", site=site)]
        judged = [{**each, "series": each["series"].replace("}", ',site="south"}')} for each in (self.STEPS, *self.JUDGED)]
        self.answers(
            "jetmem-fleet / Devices by verdict, worst first / A",
            given + judged,
            {f'{{{JOB.format("d")},site="north"}}': 7, f'{{{JOB.format("d")},site="south"}}': 0},
        )
        # Of a device whose site is chosen; and of all sites, with and without the label.
        self.answers("jetmem-device / Uptime / A", [
            series("jetmem_boot_uptime_seconds", steady(5), site="north"), series("jetmem_boot_uptime_seconds", steady(7))
        ], {f'jetmem_boot_uptime_seconds{{{JOB.format("d")},site="north"}}': 5}, site="nor.*")
        self.answers("jetmem-device / Uptime / A", [series("jetmem_boot_uptime_seconds", steady(7))],
                     {f'jetmem_boot_uptime_seconds{{{JOB.format("d")}}}': 7})

    # ------------------------------------------------------------- nvmap

    def nvmap(self, given, name, value):
        self.answers(
            "jetmem-device / Memory / D", given, {f'{name}{{{JOB.format("d")}}}': value} if name else {}
        )

    def test_nvmap_is_counted_once(self):
        """By meminfo where it has it, else by nvmap's own total; never by both, never by a part."""
        by_meminfo = series("jetmem_meminfo_NvMapMemUsed_max_1m_bytes", steady(3))
        total = series("jetmem_nvmap_total_max_1m_bytes", steady(5))
        heap = series("jetmem_nvmap_heap_max_1m_bytes", steady(2), heap="iovmm")
        self.nvmap([by_meminfo, total, heap], "jetmem_meminfo_NvMapMemUsed_max_1m_bytes", 3)
        self.nvmap([by_meminfo], "jetmem_meminfo_NvMapMemUsed_max_1m_bytes", 3)
        self.nvmap([total, heap], "jetmem_nvmap_total_max_1m_bytes", 5)
        self.nvmap([heap], None, None)

    # ------------------------------------------------------------- what jetmem lost

    def test_losses_are_recorded_by_what(self):
        given = [
            series("jetmem_kernel_log_lost_records_total", f"0+6x{END}", reason="overrun"),
            series("jetmem_kernel_log_lost_records_total", f"0+6x{END}", reason="another"),
            series("jetmem_history_errors_total", f"0+3x{END}", reason="disk_full"),
            series("jetmem_history_errors_total", f"0+3x{END}", reason="read_only"),
            series("jetmem_log_dropped_total", steady(9)),
        ]
        self.answers(
            "jetmem-device / Data lost and operations failed in jetmem / A",
            given,
            {'{what="kernel log records overwritten before read"}': 30, '{what="recorder writes failed"}': 30,
             '{what="log entries dropped"}': 0},
        )

    def test_errors_now_and_starts(self):
        self.answers(
            "jetmem-device / Errors and hangs in jetmem now / A",
            [series("jetmem_rules", steady(0)), series("jetmem_history_up", steady(1)),
             series("jetmem_processes_omitted", steady(2), reason="denied"), series("jetmem_processes_omitted", steady(3), reason="limit")],
            {'{what="no rules are evaluated (1: yes)"}': 1, '{what="recorder cannot write (1: yes)"}': 0, '{what="processes omitted"}': 5},
        )
        self.answers(
            "jetmem-device / Boots and daemon starts / A",
            [series("jetmem_boots_total", steady(4)), series("jetmem_unclean_shutdowns_total", steady(2), of="device"),
             series("jetmem_unclean_shutdowns_total", steady(1), of="jetmem")],
            {'{what="boots"}': 4, '{what="device went down without a shutdown"}': 2, '{what="jetmemd was killed or crashed"}': 1},
        )

    # ------------------------------------------------------------- unreadable sources

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
            "jetmem-fleet / Unreadable sources by device / A",
            given,
            {
                f'{{{JOB.format("d")},source="cma",state="failed"}}': 1,
                f'{{{JOB.format("d")},source="emc",state="stale"}}': 1,
            },
        )


if __name__ == "__main__":
    if not shutil.which("promtool"):
        print("SKIPPED: needs the program promtool (Debian package prometheus)")
        sys.exit(77)
    unittest.main(verbosity=2)
