#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mixin, evaluated by jsonnet: the rules and dashboards as committed, and what _config changes of them.

Exits 77 without jsonnet and promtool.
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import boards

MIXIN = boards.REPOSITORY / "dashboards" / "mixin"
PROMETHEUS = boards.REPOSITORY / "dashboards" / "prometheus"


FIELDS = ("prometheusAlerts", "prometheusRules", "grafanaDashboards")


def evaluated(config="{}"):
    """Its fields, by one run: the dashboards take seconds to read."""
    fields = ", ".join(f"{field}: mixin.{field}" for field in FIELDS)
    program = f'local mixin = (import "mixin.libsonnet") + {{ _config+:: {config} }}; {{ {fields} }}'
    done = boards.run(["jsonnet", "-e", program], cwd=MIXIN)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def rules_of(groups):
    return [rule for group in groups for rule in group["rules"]]


class Mixin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mixin = evaluated()
        cls.alerts, cls.records = (cls.mixin[field]["groups"] for field in FIELDS[:2])

    def accepted(self, groups):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "rules.yml")
            file.write_text(json.dumps({"groups": groups}), encoding="utf-8")  # JSON is YAML
            done = boards.run(["promtool", "check", "rules", file])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_accepts_alerts_and_records(self):
        self.accepted(self.alerts)
        self.accepted(self.records)

    def test_all_rules_are_there_once(self):
        text = "".join((PROMETHEUS / f"{name}.rules.yml").read_text(encoding="utf-8") for name in ("jetmem", "dead-man"))
        alerts, records = rules_of(self.alerts), rules_of(self.records)
        self.assertEqual([each["alert"] for each in alerts], re.findall(r"- alert: (\w+)", text))
        self.assertEqual([each["record"] for each in records], re.findall(r"- record: (\S+)", text))
        for each in alerts:
            self.assertLessEqual({"summary", "description", "runbook_url"}, set(each["annotations"]), each["alert"])
            self.assertIn(each["labels"]["severity"], ("critical", "warning", "info", "none"))

    def test_dashboards_are_those_committed(self):
        self.assertEqual(self.mixin["grafanaDashboards"], {f"{uid}.json": board for uid, board in boards.load().items()})

    def test_a_site_sets_its_own(self):
        config = (
            '{ jetmemJob: "boards", runbookURLPattern: "https://wiki.example.org/%s.html", textfile: true, '
            'datasource: "central", deviceScheme: "https", grafanaTags: ["edge"] }'
        )
        mixin = evaluated(config)
        groups = mixin["prometheusAlerts"]["groups"]
        self.accepted(groups)
        alerts = {each["alert"]: each for each in rules_of(groups)}
        self.assertIn("JetmemTextfileStale", alerts)
        self.assertEqual(alerts["JetmemDeviceDown"]["expr"], 'up{job="boards"} == 0')
        for name, each in alerts.items():
            self.assertRegex(each["annotations"]["runbook_url"], r"^https://wiki\.example\.org/[\w-]+\.html$", name)
        self.assertNotIn('job="jetmem"', json.dumps(mixin["prometheusRules"]).replace('\\"', '"'))
        for name, board in mixin["grafanaDashboards"].items():
            chosen = {each["name"]: each.get("current", {}).get("value") for each in board["templating"]["list"]}
            self.assertEqual((chosen["datasource"], chosen["scheme"]), ("central", "https"), name)
            self.assertEqual(board["tags"], ["edge"])


if __name__ == "__main__":
    for program, package in (("jsonnet", "jsonnet"), ("promtool", "prometheus")):
        if not shutil.which(program):
            print(f"SKIPPED: needs the program {program} (Debian package {package})")
            sys.exit(77)
    unittest.main(verbosity=2)
