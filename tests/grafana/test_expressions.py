#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboards as committed, on series made for them (promtool): a counter that a reboot resets, a device
that dies within the time shown, one that nobody scrapes any more, one whose rules nobody evaluates.
"""

import sys
import unittest

import boards

sys.path.insert(0, str(boards.REPOSITORY / "tests/integration"))

import jetmem_testing as jt  # noqa: E402
import promtool_rules as pr  # noqa: E402
import servers  # noqa: E402

# In minutes; each has a value.
END = 40
JOB = 'job="jetmem",instance="{}"'
DEVICE = {"job": "jetmem", "site": ".*", "instance": "d", "scheme": "http", "__range": "30m", "__rate_interval": "4m"}
FLEET = {**DEVICE, "instance": ".+"}
QUERIES = boards.by_name(boards.load())


def series(name, instance="d", **labels):
    more = "".join(f',{label}="{value}"' for label, value in labels.items())
    return f"{name}{{{JOB.format(instance)}{more}}}"


def steady(value, minutes=END):
    return f"{value}x{minutes}"


def answer(what, where, given, wanted, at=END, **chosen):
    """`wanted`: {labels as in a selector: value} at that minute. The time shown is from 10 to 40."""
    expression = QUERIES[where].expanded(**{**(FLEET if where.startswith("jetmem-fleet") else DEVICE), **chosen})
    # Of a range query the end is that of the range; here each point is a query of its own.
    expression = expression.replace("@ end()", f"@ {END * 60}")
    return pr.case(f"{what}: {where}", given, (f"{at}m", expression, wanted), interval="1m")


# ------------------------------------------------------------- what happened in the time shown

BOOTED = series("jetmem_boot_time_seconds")
DIED = "20 stale _x20"


def grown(what, values, wanted, given=()):
    return answer(what, "jetmem-incident / Kernel events in the time range / A",
                  {series("jetmem_kernel_events_total", kind="oom_kill"): values, **dict(given)},
                  {'{kind="oom_kill"}': wanted} if wanted else {})


HAPPENED = [
    grown("it grew", "3x20 5x20", 2),
    grown("nothing grew", steady(3), 0),
    grown("what came in counts in full", "_x20 2x20", 2),
    # The first of the three is seen with the counter.
    grown("two before a reboot, then three from 0 on", "5x15 7x10 3x15", 5),
    # Out of reach at the beginning, it counts from its last value before, of the same boot.
    grown("out of reach", "200x3 _x12 200x25", 0, {BOOTED: "1000x3 _x12 1001x25"}),
    grown("out of reach, and grew", "200x3 _x12 203x25", 3, {BOOTED: "1000x3 _x12 1001x25"}),
    grown("rebooted while out of reach", "1x3 _x12 1x25", 1, {BOOTED: "1000x3 _x12 3000x25"}),
    grown("a device that died", "3x15 7x5 stale _x19", 4),
    grown("what came in before a device died", "_x15 4x5 stale _x19", 4),
    grown("a device that was reset and died", "3x15 1x5 stale _x19", 1),
    answer("the largest of a device that died", "jetmem-device / Resident memory of the ten largest groups / A",
           {series("jetmem_process_group_resident_bytes", command="leaky", unit="u", container=""): f"7x{DIED}"},
           {'{command="leaky",unit="u"}': 7}, at=15),
    answer("the boot of a device that died", "jetmem-incident / Last boot and reset reason / B",
           {BOOTED: f"5x{DIED}"}, {"{}": 5000}),
]

# ------------------------------------------------------------- the verdict of a device

VERDICT = "jetmem-fleet / Devices by verdict, worst first / "
QUIET = {series("jetmem_alert_state", alert="JetmemX", severity="warning"): steady(0)}
KNOWN = {series("jetmem_alert_unknown", alert="JetmemX", severity="warning"): steady(0)}
JUDGED = {**QUIET, **KNOWN}
STEPS = {series("jetmem_rule_evaluations_total"): f"0+6x{END}"}
UP = {series("up"): steady(1)}
ALIVE = {series("jetmem_build_info", version="1"): steady(1)}
GONE = {series("up"): f"1x{DIED}", series("jetmem_build_info", version="1"): f"1x{DIED}"}


def stands(what, given, verdict, weight):
    for column, value in (("A", verdict), ("B", weight)):
        yield answer(what, VERDICT + column, given, {f'{{{JOB.format("d")}}}': value})


def firing(*alerts):
    """(name, severity, state) of each"""
    return {series("jetmem_alert_state", alert=name, severity=severity): steady(state)
            for name, severity, state in alerts}


def of_site(site, given):
    return {key.replace("}", f',site="{site}"}}'): value for key, value in given.items()}


UPTIME = series("jetmem_boot_uptime_seconds")
VERDICTS = [
    *stands("quiet", {**UP, **STEPS, **JUDGED, **ALIVE}, 0, 0),
    *stands("gone", GONE, 8, 1000),
    *stands("not judged at all", {**UP, **ALIVE}, 5, 500),
    # What it says of its alerts is old, critical or not.
    *stands("no longer judged", {**UP, series("jetmem_rule_evaluations_total"): steady(7), **JUDGED, **ALIVE,
                                 **firing(("JetmemY", "critical", 2))}, 5, 600),
    *stands("it does not answer", {series("up"): steady(0), **ALIVE}, 7, 1000),
    *stands("it has stopped sampling", {
        **UP, series("jetmem_sampling_stalled"): steady(1), **STEPS, **JUDGED, **ALIVE}, 6, 1000),
    *stands("the worst alert counts", {**UP, **STEPS, **ALIVE, **firing(
        ("A", "critical", 1), ("B", "warning", 2), ("C", "warning", 2), ("D", "info", 2))}, 3, 21),
    # Although the states of the same alerts are there.
    *stands("what is unknown counts where nothing fires", {
        **UP, **STEPS, **QUIET, **ALIVE, **dict.fromkeys(KNOWN, steady(1))}, 1, 0),
    answer("gone counts as down", "jetmem-fleet / Devices down / A",
           {**GONE, series("up", "a"): steady(0), series("up", "b"): steady(1)}, {"{}": 2}),
    answer("none is down", "jetmem-fleet / Devices down / A", UP, {"{}": 0}),
    answer("a site keeps devices of one name apart", VERDICT + "A",
           {**of_site("north", {series("up"): steady(0), **ALIVE}),
            **of_site("south", {**UP, **ALIVE, **STEPS, **JUDGED})},
           {f'{{{JOB.format("d")},site="north"}}': 7, f'{{{JOB.format("d")},site="south"}}': 0}),
    # Of a device whose site is chosen; and of all sites, with and without the label.
    answer("a site is chosen", "jetmem-device / Uptime / A",
           {**of_site("north", {UPTIME: steady(5)}), UPTIME: steady(7)}, of_site("north", {UPTIME: 5}), site="nor.*"),
    answer("no site is chosen", "jetmem-device / Uptime / A", {UPTIME: steady(7)}, {UPTIME: 7}),
]

# ------------------------------------------------------------- what is counted, lost or stale

MEMINFO, NVMAP = series("jetmem_meminfo_NvMapMemUsed_max_1m_bytes"), series("jetmem_nvmap_total_max_1m_bytes")
HEAP = series("jetmem_nvmap_heap_max_1m_bytes", heap="iovmm")


def counted(*given):
    """By meminfo where it has it, else by nvmap's own total; never by both, never by a part."""
    values = {MEMINFO: 3, NVMAP: 5, HEAP: 2}
    wanted = next(({each: values[each]} for each in (MEMINFO, NVMAP) if each in given), {})
    return answer("nvmap is counted once", "jetmem-device / Memory / D",
                  {each: steady(values[each]) for each in given}, wanted)


LOST = [
    counted(MEMINFO, NVMAP, HEAP), counted(MEMINFO), counted(NVMAP, HEAP), counted(HEAP),
    answer("losses are recorded by what", "jetmem-device / Data lost and operations failed in jetmem / A",
           {series("jetmem_kernel_log_lost_records_total", reason="overrun"): f"0+6x{END}",
            series("jetmem_kernel_log_lost_records_total", reason="another"): f"0+6x{END}",
            series("jetmem_history_errors_total", reason="disk_full"): f"0+3x{END}",
            series("jetmem_history_errors_total", reason="read_only"): f"0+3x{END}",
            series("jetmem_log_dropped_total"): steady(9)},
           {'{what="kernel log records overwritten before read"}': 30, '{what="recorder writes failed"}': 30,
            '{what="log entries dropped"}': 0}),
    answer("errors now", "jetmem-device / Errors and hangs in jetmem now / A",
           {series("jetmem_rules"): steady(0), series("jetmem_history_up"): steady(1),
            series("jetmem_processes_omitted", reason="denied"): steady(2),
            series("jetmem_processes_omitted", reason="limit"): steady(3)},
           {'{what="no rules are evaluated (1: yes)"}': 1, '{what="recorder cannot write (1: yes)"}': 0,
            '{what="processes omitted"}': 5}),
    answer("starts", "jetmem-device / Boots and daemon starts / A",
           {series("jetmem_boots_total"): steady(4), series("jetmem_unclean_shutdowns_total", of="device"): steady(2),
            series("jetmem_unclean_shutdowns_total", of="jetmem"): steady(1)},
           {'{what="boots"}': 4, '{what="device went down without a shutdown"}': 2,
            '{what="jetmemd was killed or crashed"}': 1}),
    answer("a stale source cannot be read", "jetmem-fleet / Unreadable sources by device / A",
           {series("jetmem_source_state", source="emc", state="ok"): steady(1),
            series("jetmem_source_state", source="emc", state="failed"): steady(0),
            series("jetmem_source_failing", source="emc"): steady(1),
            series("jetmem_source_state", source="cma", state="failed"): steady(1),
            series("jetmem_source_failing", source="cma"): steady(1),
            series("jetmem_source_failing", source="vmstat"): steady(0)},
           {f'{{{JOB.format("d")},source="cma",state="failed"}}': 1,
            f'{{{JOB.format("d")},source="emc",state="stale"}}': 1}),
]


class Expressions(unittest.TestCase):
    def test_they_answer(self):
        servers.need("promtool")
        records = jt.temp_directory(self) / "records.yml"
        records.write_text("groups:\n" + boards.RECORDS.read_text(encoding="utf-8"))
        pr.judge(self, records, HAPPENED + VERDICTS + LOST, "1m")


if __name__ == "__main__":
    jt.main()
