#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the dashboards as committed show when there is nothing to show, or nothing good: no colour and no words that say
more than is known, other jobs omitted, and each loss of jetmem's own drawn."""

import re
import unittest

import boards
from unplotted_metrics import NOT_DRAWN

METRICS = re.compile(r"^\| `(jetmem_\w+)` \|", re.M)
LOSS = (
    r"lost|losses|dropped|errors|failures|failed|timeouts|refused|denied|omitted|orphan_processes|wedged|stuck|quarantined"
    r"|log_suppressed|missed|config_errors|unknown_tokens|clock_step"
)


class Truth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.boards = boards.load()

    def all_panels(self):
        for uid, board in self.boards.items():
            for panel in boards.panels(board):
                yield f"{uid}: {panel['title']}", panel

    def test_a_value_that_is_absent_has_no_colour(self):
        """Neither that of an alert nor green, which are those of the lowest step."""

        def is_reported(mappings, text, where):
            special = [each["options"] for each in mappings if each["type"] == "special"]
            self.assertEqual([each["match"] for each in special], ["null+nan"], where)
            self.assertEqual((special[0]["result"]["text"], special[0]["result"]["color"]), (text, "text"), where)

        reported = 0
        for where, panel in self.all_panels():
            config = panel["fieldConfig"]
            if panel["type"] in ("stat", "bargauge"):
                is_reported(config["defaults"]["mappings"], config["defaults"]["noValue"], where)
                reported += 1
            if panel["type"] == "table":
                for at, override in enumerate(config["overrides"]):
                    mappings = [each["value"] for each in override["properties"] if each["id"] == "mappings"]
                    # The first is for every column; a column's own mappings take the place of those.
                    self.assertEqual(len(mappings), 1 if at == 0 else len(mappings), where)
                    for each in mappings:
                        is_reported(each, "-", where)
                        reported += 1
        self.assertGreater(reported, 100)

    def test_timelines_have_the_colours_of_their_words(self):
        """Where colours go by thresholds, Grafana merges values between the same two without a look at the words."""
        seen = 0
        for where, panel in self.all_panels():
            if panel["type"] != "state-timeline":
                continue
            defaults = panel["fieldConfig"]["defaults"]
            self.assertTrue(panel["options"]["mergeValues"] and defaults["mappings"], where)
            self.assertNotEqual(defaults["color"]["mode"], "thresholds", where)
            steps = defaults["thresholds"]["steps"]
            words = {float(value): to["color"] for value, to in defaults["mappings"][0]["options"].items()}
            for value, shade in words.items():
                reached = [step["color"] for step in steps if step["value"] is None or step["value"] <= value]
                self.assertEqual(reached[-1], shade, f"{where}: {value}")
            self.assertGreaterEqual(len(steps), len(words), where)
            seen += 1
        self.assertGreater(seen, 5)

    def test_an_empty_panel_states_nothing_that_nobody_read(self):
        for where, panel in self.all_panels():
            text = panel["fieldConfig"]["defaults"]["noValue"]
            self.assertTrue(text.startswith("not ") or ", or " in text, f"{where}: {text}")
            if "see Unreadable sources" in text:
                there = self.boards[where.split(":")[0]]
                self.assertIn("Unreadable sources", [each["title"] for each in boards.panels(there)], where)

    def test_a_data_source_is_chosen(self):
        for uid, board in self.boards.items():
            (variable,) = [each for each in board["templating"]["list"] if each["type"] == "datasource"]
            self.assertEqual(variable["current"], {"selected": True, "text": "default", "value": "default"}, uid)

    def test_all_jobs_are_those_of_jetmem(self):
        """What stands for all must not stand for each job that the Prometheus has."""
        for uid, board in self.boards.items():
            (job,) = [each for each in board["templating"]["list"] if each["name"] == "job"]
            self.assertNotIn("allValue", job, uid)
            self.assertEqual(job["query"]["query"], "label_values(jetmem_build_info, job)", uid)

    def test_smmu_faults_are_coloured_in_order(self):
        wanted = ["green", "orange", "red"]
        for uid, title in (("jetmem-device", "SMMU faults per minute"), ("jetmem-fleet", "Devices by verdict, worst first")):
            (panel,) = [each for each in boards.panels(self.boards[uid]) if each["title"] == title]
            steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
            for override in panel["fieldConfig"]["overrides"]:
                if override["matcher"]["options"] == "SMMU faults/min":
                    steps = next(
                        each["value"]["steps"] for each in override["properties"] if each["id"] == "thresholds"
                    )
            self.assertEqual([step["color"].replace("transparent", "green") for step in steps], wanted, uid)

    def test_what_jetmem_lost_is_drawn(self):
        """Each metric that by its name tells of a loss or failure of jetmem's own is on Device, or has a reason."""
        drawn = " ".join(query.expression for query in boards.queries(self.boards["jetmem-device"]))
        drawn = set(boards.NAME.findall(drawn))
        for name, metric in boards.catalog().metrics.items():
            if metric.kind == "record" and name in drawn:
                drawn |= metric.read
        names = METRICS.findall((boards.REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8"))
        names = {name for name in names if re.search(LOSS, name)}
        self.assertGreater(len(names), 25)
        self.assertEqual(sorted(names - drawn - set(NOT_DRAWN)), [], "are neither drawn nor in unplotted_metrics.py")
        self.assertEqual(sorted(set(NOT_DRAWN) & drawn), [], "are in unplotted_metrics.py and drawn")
        self.assertEqual(sorted(set(NOT_DRAWN) - names), [], "are in unplotted_metrics.py and gone")


if __name__ == "__main__":
    unittest.main(verbosity=2)
