# SPDX-License-Identifier: Apache-2.0
"""Tasks with hostile names, in each line that the kernel prints with one: no event comes of them, and none is hidden.
The lines are those of tests/report/messages/shipped_messages_test.cc, the names beginnings of the catalogue's examples."""

import ast
import re
import time

import borrowed

READ_WITHIN = 30.0
# Of a name's bytes the kernel keeps 15.
NAME = range(3, 16)
KILL = ("Out of memory: Killed process 4711 ({}) total-vm:8123456kB, anon-rss:7000000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 "
        "pgtables:14000kB oom_score_adj:0")


def lines_with_a_name():
    text = (borrowed.TESTS / "report/messages/shipped_messages_test.cc").read_text()
    found = re.search(r"kLinesWithAName\{(.*?)\n\};", text, re.S)[1]
    return [ast.literal_eval(f"({each})") for each in re.split(r",\n(?=    \")", found.strip().rstrip(","))]


def examples():
    out = []
    for file in sorted((borrowed.TESTS.parent / "collectors/kernel_log/messages").glob("*.yaml")):
        text = file.read_text()
        out += [line for _, line in re.findall(r"- line: (['\"])(.*)\1", text)]
    return out


def events(target):
    return {kind: float(value) for kind, value in re.findall(
        r'^jetmem_kernel_events_total\{.*?kind="(\w+)".*?\} (\S+)$', target.get("/metrics")[1].decode(), re.M)}


def run(report, rng, until, make_target):
    import test_kernel_log
    lines, known = lines_with_a_name(), examples()
    if len(lines) < 30 or len(known) < 300:
        report.violation("names", f"only {len(lines)} lines and {len(known)} examples are found any more")
    with borrowed.test() as test:
        kmsg = test_kernel_log.KmsgStandIn(test)
        with make_target(reader=kmsg.program) as target:
            kmsg.accept()
            kills = 0
            while time.monotonic() < until and target.alive():
                for _ in range(200):
                    kmsg.put(rng.choice(lines).format(rng.choice(known)[:rng.choice(NAME)]), keep=False)
                    report.count("names", "names in lines")
                for _ in range(5):
                    line = rng.choice(lines)
                    at = rng.randrange(len(line))
                    kmsg.put(KILL.format(line[at:at + 15]), keep=False)
                    kills += 1
                deadline = time.monotonic() + READ_WITHIN
                found = events(target)
                while found.get("oom_kill", 0) < kills and time.monotonic() < deadline and target.alive():
                    time.sleep(0.1)
                    found = events(target)
                if not target.alive():
                    return
                if found.get("oom_kill", 0) != kills:
                    target.violation(f"of {kills} kills of tasks with hostile names {found.get('oom_kill', 0):g} are counted")
                for kind, count in found.items():
                    if kind != "oom_kill" and count > 0:
                        target.violation(f"a task's name became an event: {kind}")
            report.count("names", "kills", kills)
