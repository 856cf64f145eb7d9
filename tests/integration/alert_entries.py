# SPDX-License-Identifier: Apache-2.0
"""What an alert's entry in the journal has to say, by the rules' files; for tests of the whole daemon."""

import pathlib
import re

import jetmem_testing as jt

REPOSITORY = jt.FIXTURES.parent.parent
PRIORITIES = {"info": "6", "warning": "4", "critical": "2"}
SECONDS = {"s": 1, "m": 60, "h": 3600}


def shipped_rules():
    """{rule: {"severity", "runbook", "for" in seconds}} of rules/shipped, whose files are plain."""
    rules = {}
    for file in sorted((REPOSITORY / "rules" / "shipped").glob("*.yaml")):
        for block in file.read_text().split("\n  - alert: ")[1:]:
            fields = dict(re.findall(r"^    (severity|runbook|for): (\S+)$", block, re.M))
            number, unit = re.fullmatch(r"(\d+)(\w)", fields.get("for", "0s")).groups()
            rules[block.split("\n", 1)[0]] = {**fields, "for": int(number) * SECONDS[unit]}
    return rules


RULE_FILES = shipped_rules()


def firing_by_entries(entries):
    """Rules with a firing alert after these entries, which are bytes or text."""
    state = {}
    for entry in entries:
        if "JETMEM_ALERT" in entry:
            labels = tuple(sorted((k, str(v)) for k, v in entry.items() if k.startswith("JETMEM_LABEL_")))
            state[str(entry["JETMEM_ALERT"]), labels] = entry["JETMEM_ALERT_STATE"]
    return {rule for (rule, _), last in state.items() if last == "firing"}


def firing_on(page):
    return {labels["alert"] for labels, value in page.series("jetmem_alert_state") if value == 2}


def check_complete(test, entry):
    """The journal's entry of an alert that fires has all that whoever is paged needs."""
    rule = RULE_FILES[entry["JETMEM_ALERT"]]
    test.assertRegex(entry["MESSAGE_ID"], r"^[0-9a-f]{32}$")
    test.assertEqual(entry["JETMEM_SEVERITY"], rule["severity"])
    test.assertEqual(entry["PRIORITY"], PRIORITIES[rule["severity"]])
    test.assertEqual(pathlib.PurePath(entry["JETMEM_RUNBOOK"]).name, rule["runbook"] + ".md")
    test.assertTrue((REPOSITORY / "docs" / "runbooks" / f"{rule['runbook']}.md").is_file(), entry["JETMEM_RUNBOOK"])
    test.assertTrue(entry["MESSAGE"].startswith(f"{entry['JETMEM_ALERT']} fires ({rule['severity']}): "), entry["MESSAGE"])
    for field in ("JETMEM_SUMMARY", "JETMEM_CAUSE", "JETMEM_REMEDY"):
        test.assertRegex(entry[field], r"^[^{}]{20,}$", field)
    test.assertIn(entry["JETMEM_SUMMARY"], entry["MESSAGE"])
    float(entry["JETMEM_VALUE"])
    test.assertEqual(entry["_TRANSPORT"], "journal")
