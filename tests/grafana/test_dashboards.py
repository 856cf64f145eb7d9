#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboards as committed: fresh, true to what jetmem declares (docs/metrics.md, rules/shipped, docs/runbooks), and
where there is nothing to show, or nothing good, without colours and words that say more than is known."""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import boards
from unplotted_metrics import NOT_DRAWN

REPOSITORY, FOLDER = boards.REPOSITORY, boards.FOLDER
GENERATOR = FOLDER / "generate.py"
sys.path.insert(0, str(REPOSITORY / "tests" / "docs"))

import check_runbooks  # noqa: E402  (reads the same references, for the runbooks)

GRID = 24
# What Grafana itself knows.
GLOBALS = {"__rate_interval", "__range", "__interval", "__value", "__data", "__field", "__url_time_range", "__all"}
OF_PROMETHEUS = {"up": set(), "ALERTS": {"alertname", "alertstate", "severity"}}
TARGET_LABELS = {"job", "instance", "site"}
# What an editor and a review can take in.
LONGEST_EXPRESSION = 400
OPEN_ROWS = 24
FUNCTIONS_OF_COUNTERS = r"\b(?:rate|irate|increase)\((\w+)"
METRICS = re.compile(r"^\| `(jetmem_\w+)` \|", re.M)
LOSS = (
    r"lost|losses|dropped|errors|failures|failed|timeouts|refused|denied|omitted|orphan_processes|wedged|stuck|quarantined"
    r"|log_suppressed|missed|config_errors|unknown_tokens|clock_step"
)


def strip_texts(expression):
    return re.sub(r'"[^"]*"', '""', expression)


class Fresh(unittest.TestCase):
    def generate(self, *arguments, program=GENERATOR, flags=("-B",)):
        with tempfile.TemporaryDirectory() as out:
            done = boards.run([sys.executable, *flags, str(program), "--out", out, *arguments])
            return done, {file.name: file.read_text(encoding="utf-8") for file in pathlib.Path(out).iterdir()}

    def made(self, *arguments, **more):
        done, files = self.generate(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return files

    def test_files_are_what_the_generator_makes(self):
        made = self.made()
        committed = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.json")}
        self.assertEqual(set(made), set(committed))
        for name, text in made.items():
            self.assertTrue(text == committed[name], f"{name} is stale: run scripts/update-golden")

    def test_a_site_can_set_its_own(self):
        url = "https://wiki.example.net/jetmem/NAME.md"
        for name, text in self.made("--runbooks", url, "--scheme", "https", "--datasource", "central").items():
            board = json.loads(text)
            variables = {each["name"]: each.get("current", {}).get("value") for each in board["templating"]["list"]}
            self.assertEqual([variables[each] for each in ("runbooks", "scheme", "datasource")],
                             ["https://wiki.example.net/jetmem/", "https", "central"], name)
            for link in ("cma-exhausted", "${__value.text}", "README"):
                self.assertIn(f"${{runbooks}}{link}.md", text)

    def test_a_site_groups_its_devices_by_another_label(self):
        for name, text in self.made("--site-label", "cluster").items():
            for there in ("label_values(jetmem_build_info{job=", ', cluster)"', 'cluster=~\\"$site\\"'):
                self.assertIn(there, text, name)
            self.assertNotRegex(text, r"site=~|by \(site", name)

    def test_a_mistake_is_reported(self):
        once = ".* wanted a URL with NAME in it once"
        for option, value, said in (("--runbooks", "https://wiki.example.net/jetmem/", once),
                                    ("--runbooks", "https://NAME.example.net/NAME", once),
                                    ("--site-label", "job", "job: wanted the name of a label")):
            done, _ = self.generate(option, value)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, f"^{option} {said}")

    def changed(self, file, old, new):
        """The generator with its references, of which this one is another."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="jetmem-grafana-"))
        self.addCleanup(shutil.rmtree, folder)
        for part in ("dashboards/grafana", "rules/shipped", "rules/export"):
            shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("*.json", "__pycache__"))
        (folder / "docs").mkdir()
        shutil.copy(REPOSITORY / "docs" / "metrics.md", folder / "docs")
        text = (folder / file).read_text(encoding="utf-8")
        self.assertIn(old, text)
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")
        return folder / "dashboards/grafana/generate.py"

    def test_thresholds_are_the_rules(self):
        program = self.changed("rules/shipped/cma.yaml", "value: 95%", "value: 97.5%")
        made = self.made(program=program, flags=())
        for name in ("jetmem-device.json", "jetmem-fleet.json"):
            self.assertIn('"value": 0.975', made[name], name)
            self.assertNotIn('"value": 0.95\n', made[name], name)
        self.assertEqual(list(program.parents[2].rglob("__pycache__")), [], "nothing is written beside the program")

    def test_what_its_references_lack_is_reported(self):
        for file, old, new, words in (
            ("docs/metrics.md", "`jetmem_cma_used_ratio`", "`jetmem_cma_taken_ratio`", "no metric jetmem_cma_used_ratio in docs/metrics.md"),
            ("docs/metrics.md", "| `resource`, `kind`, `window` |", "| `resource`, `kind` |", "jetmem_pressure_stall_ratio has no label window"),
            ("rules/shipped/memory.yaml", "kind: full, window: 60s", "kind: full, window: 300s",
             "the threshold of JetmemMemoryStall is for jetmem_pressure_stall_ratio"),
            ("rules/shipped/probe.yaml", "alert: JetmemProbeSlow", "alert: JetmemProbeTardy", "there is no rule JetmemProbeSlow in rules/shipped"),
            ("rules/shipped/cma.yaml", "    value: 95%\n", "    value: many\n", r"cma\.yaml: line \d+: found 'many', expected a number"),
            ("rules/shipped/cma.yaml", "    value: 95%\n", "    amount: 95%\n", r"cma\.yaml: line \d+: found 'amount: 95%', expected a threshold's"),
        ):
            with self.subTest(words):
                done, _ = self.generate(program=self.changed(file, old, new))
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                self.assertRegex(done.stderr, words)


def shown(board):
    """All panels and rows, where they are when every row is open."""
    below = 0
    for panel in board["panels"]:
        place = panel["gridPos"]
        yield {**panel, "gridPos": {**place, "y": place["y"] + below}}
        for inner in panel.get("panels", []):
            yield {**inner, "gridPos": {**inner["gridPos"], "y": inner["gridPos"]["y"] + below}}
        if panel.get("panels"):
            below += max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in panel["panels"]) - place["y"] - 1


class Boards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.boards = boards.load()
        cls.metrics = check_runbooks.Metrics((REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8"))
        cls.rules = check_runbooks.Rules(sorted((REPOSITORY / "rules" / "shipped").glob("*.yaml")))
        cls.records = {name: each for name, each in boards.catalog().metrics.items() if each.kind == "record"}
        cls.metrics.exact.update({name: set(each.labels) for name, each in cls.records.items()})

    def all_panels(self):
        for uid, board in self.boards.items():
            for panel in boards.panels(board):
                yield f"{uid}: {panel['title']}", panel

    def all_queries(self):
        for board in self.boards.values():
            yield from boards.queries(board)

    def test_they_are_there_and_numbers_and_titles_are_used_once(self):
        self.assertEqual(set(self.boards), {"jetmem-device", "jetmem-fleet", "jetmem-incident"})
        for uid, board in self.boards.items():
            self.assertTrue((FOLDER / f"{uid}.json").is_file())
            self.assertIsNone(board["id"])
            panels = list(boards.panels(board))
            self.assertGreater(len(panels), 20, uid)
            numbers = [panel["id"] for row in board["panels"] for panel in (row, *row.get("panels", []))]
            for each in (numbers, [panel["title"] for panel in panels],
                         *([target["refId"] for target in panel["targets"]] for panel in panels)):
                self.assertEqual(len(each), len(set(each)), (uid, each))

    def test_no_two_are_in_one_place(self):
        for uid, board in self.boards.items():
            taken = {}
            for panel in shown(board):
                place = panel["gridPos"]
                self.assertTrue(0 <= place["x"] and place["x"] + place["w"] <= GRID and place["h"] > 0, panel["title"])
                for x in range(place["x"], place["x"] + place["w"]):
                    for y in range(place["y"], place["y"] + place["h"]):
                        self.assertNotIn((x, y), taken, f"{uid}: {panel['title']} lies on {taken.get((x, y))}")
                        taken[x, y] = panel["title"]

    def test_only_the_overview_is_open(self):
        for uid in ("jetmem-device", "jetmem-incident"):
            panels = self.boards[uid]["panels"]
            rows = [panel for panel in panels if panel["type"] == "row"]
            self.assertEqual([each["title"] for each in rows if not each["collapsed"]], ["Overview"], uid)
            self.assertEqual(next(each["title"] for each in panels if each["type"] != "row"), "Verdict", uid)
            self.assertTrue(all(each["panels"] for each in rows[1:]), uid)
            lowest = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels if panel["type"] != "row")
            self.assertLessEqual(lowest, OPEN_ROWS, uid)
            # A folded row takes one.
            self.assertEqual([each["gridPos"]["y"] for each in rows[1:]], list(range(lowest, lowest + len(rows) - 1)), uid)

    def test_no_expression_is_long(self):
        """What is long is recorded; only what depends on the time shown cannot be."""
        for query in self.all_queries():
            if "$__range" not in query.expression:
                self.assertLessEqual(len(query.expression), LONGEST_EXPRESSION, query.where)
        self.assertLessEqual(max(len(q.expression) for q in boards.queries(self.boards["jetmem-device"])), LONGEST_EXPRESSION)

    def test_every_record_is_drawn_and_every_drawn_one_recorded(self):
        drawn = {name for query in self.all_queries() for name in boards.NAME.findall(strip_texts(query.expression)) if ":" in name}
        self.assertEqual(drawn, set(self.records))
        exported = (REPOSITORY / "dashboards/prometheus/jetmem.rules.yml").read_text(encoding="utf-8")
        self.assertTrue(exported.endswith(boards.RECORDS.read_text(encoding="utf-8")))

    def test_each_says_what_it_is_and_what_nothing_means(self):
        for where, panel in self.all_panels():
            defaults = panel["fieldConfig"]["defaults"]
            self.assertTrue(defaults.get("unit"), where)
            self.assertGreater(len(defaults.get("noValue", "")), 5, where)
            text = defaults["noValue"]
            self.assertIn(text, panel["description"], where)
            # An empty panel states nothing that nobody read.
            self.assertTrue(text.startswith("not ") or ", or " in text, f"{where}: {text}")
            if "see Unreadable sources" in text:
                there = self.boards[where.split(":")[0]]
                self.assertIn("Unreadable sources", [each["title"] for each in boards.panels(there)], where)
            self.assertGreater(len(panel["description"].split("\n")[0]), 15, where)
            # What could not be read must not become a 0, nor bridge a gap.
            self.assertIn(defaults.get("custom", {}).get("spanNulls", False), (False,), where)
            self.assertNotIn("or vector(0)", json.dumps(panel), where)

    def test_every_metric_is_declared(self):
        found = set()
        for query in self.all_queries():
            for name, labels in re.findall(boards.NAME.pattern + r"\{([^}]*)\}", query.expression):
                found.add(name)
                used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", strip_texts(labels))) - TARGET_LABELS
                if name in OF_PROMETHEUS:
                    self.assertLessEqual(used, OF_PROMETHEUS[name], query.where)
                    continue
                self.assertIsNone(self.metrics.problem_of(name), query.where)
                self.assertLessEqual(used, self.metrics.exact.get(name, set()), query.where)
            # None without what the variables choose, but where a variable asks for its own values.
            bare = re.findall(boards.NAME.pattern + r"(?!\{)", strip_texts(query.expression))
            if query.kind != "values":
                self.assertEqual(bare, [], query.where)
            for name in bare:
                self.assertIsNone(self.metrics.problem_of(name), query.where)
        self.assertGreater(len(found), 100)

    def test_every_label_is_one_of_its_metrics(self):
        for query in self.all_queries():
            text = query.expression
            names = boards.NAME.findall(strip_texts(text))
            known = set(TARGET_LABELS) | set(re.findall(r'label_replace\(.*?"(\w+)", "[^"]*", "\w*"', text))
            for name in names:
                known |= OF_PROMETHEUS.get(name, self.metrics.exact.get(name, set()))
            # Groups of label_replace nest, so that the pattern above sees the innermost: take each.
            known |= set(re.findall(r', "(\w+)", "[^"]*", "\w*", "[^"]*"\)', text))
            used = set()
            for listed in re.findall(r"\b(?:by|on|without|ignoring|group_left|group_right) \(([^)]*)\)", text):
                used |= {label.strip() for label in listed.split(",") if label.strip()}
            used |= set(re.findall(r"\{\{(\w+)\}\}", query.legend))
            self.assertLessEqual(used, known, query.where)

    def test_rates_are_of_counters(self):
        for query in self.all_queries():
            for name in re.findall(FUNCTIONS_OF_COUNTERS, query.expression):
                self.assertRegex(name, r"_total$|_seconds_(bucket|count|sum)$", query.where)

    def test_every_variable_is_defined(self):
        for uid, board in self.boards.items():
            variables = {variable["name"]: variable for variable in board["templating"]["list"]}
            defined = set(variables)
            self.assertEqual(defined, {"datasource", "job", "site", "instance", "scheme", "runbooks"}, uid)
            self.assertEqual(variables["datasource"]["current"],
                             {"selected": True, "text": "default", "value": "default"}, uid)
            # What stands for all must not stand for each job that the Prometheus has.
            self.assertNotIn("allValue", variables["job"], uid)
            self.assertEqual(variables["job"]["query"]["query"], "label_values(jetmem_build_info, job)", uid)
            used = set(re.findall(r"\$\{?([A-Za-z_]\w*)", json.dumps(board)))
            self.assertLessEqual(used, defined | GLOBALS, uid)
            for query in boards.queries(board):
                query.expanded(**{name: "x" for name in defined | GLOBALS})

    def test_every_data_source_is_the_variable(self):
        for where, panel in self.all_panels():
            for source in [panel["datasource"], *(target["datasource"] for target in panel["targets"])]:
                self.assertEqual(source, {"type": "prometheus", "uid": "${datasource}"}, where)

    def test_runbooks_are_there(self):
        """As each device serves them: by the name of the page, without .md."""
        pages = {page.stem for page in (REPOSITORY / "docs" / "runbooks").glob("*.md")}
        for uid, board in self.boards.items():
            linked = set(re.findall(r"\$\{runbooks\}([\w-]+)\"", json.dumps(board)))
            self.assertGreater(len(linked), 5, uid)
            self.assertLessEqual(linked, pages, uid)
            self.assertEqual([each["url"] for each in board["links"] if each["title"] == "Runbooks"], ["${runbooks}"])
        names = {name: rule["runbook"] for name, rule in self.rules.rules.items()}
        columns = 0
        for where, panel in self.all_panels():
            for override in panel["fieldConfig"]["overrides"]:
                if override["matcher"]["options"] == "runbook":
                    columns += 1
                    properties = {each["id"]: each["value"] for each in override["properties"]}
                    reported = {name: to["text"] for name, to in properties["mappings"][0]["options"].items()}
                    self.assertEqual(reported, names, where)
                    self.assertEqual(properties["links"][0]["url"], "${runbooks}${__value.text}", where)
        self.assertGreaterEqual(columns, 3)

    def test_links_lead_to_each_other(self):
        for uid, board in self.boards.items():
            text = json.dumps(board)
            self.assertLessEqual(set(re.findall(r"/d/([\w-]+)", text)), set(self.boards), uid)
            self.assertIn("${scheme}://", text, uid)
        fleet = json.dumps(self.boards["jetmem-fleet"])
        for wanted in (
            "/d/jetmem-device?var-job=${__data.fields.job}&var-instance=${__data.fields.instance}",
            "${scheme}://${__data.fields.instance}/",
        ):
            self.assertIn(wanted, fleet)

    def test_annotations_are_of_both_judges(self):
        for uid in ("jetmem-device", "jetmem-incident"):
            asked = " ".join(each.get("expr", "") for each in self.boards[uid]["annotations"]["list"])
            self.assertIn("jetmem_alert_state{", asked, uid)
            self.assertIn("ALERTS{", asked, uid)

    def test_thresholds_are_in_order(self):
        for where, panel in self.all_panels():
            fields = [panel["fieldConfig"]["defaults"]["thresholds"]]
            for override in panel["fieldConfig"]["overrides"]:
                fields += [each["value"] for each in override["properties"] if each["id"] == "thresholds"]
            for each in fields:
                self.assertIsNone(each["steps"][0]["value"], where)
                values = [step["value"] for step in each["steps"][1:]]
                self.assertEqual(values, sorted(values), where)

    def test_a_fleet_is_cheap(self):
        panels = [panel for panel in boards.panels(self.boards["jetmem-fleet"])
                  if any(target["range"] for target in panel["targets"])]
        self.assertLess(sum(target["range"] for panel in panels for target in panel["targets"]), 8)
        for panel in panels:
            self.assertLessEqual(panel["maxDataPoints"], 120, panel["title"])

    def test_documentation_names_the_files(self):
        text = (REPOSITORY / "docs" / "grafana.md").read_text(encoding="utf-8")
        for file in [*FOLDER.glob("*.json"), *FOLDER.glob("provisioning/*/*.yaml"), GENERATOR]:
            self.assertIn(str(file.relative_to(REPOSITORY)), text)
        provider = (FOLDER / "provisioning/dashboards/jetmem.yaml").read_text(encoding="utf-8")
        folder = re.search(r"^      path: (\S+)$", provider, re.M).group(1)
        self.assertIn(folder, text)
        source = (FOLDER / "provisioning/datasources/jetmem.yaml").read_text(encoding="utf-8")
        self.assertIn(f"--datasource {re.search(r'^    uid: (.+)$', source, re.M).group(1)}", text)

    # ------------------------------------------------------------- nothing says more than is known

    def test_a_value_that_is_absent_says_so_and_has_no_colour(self):
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
                every = config["overrides"][0]
                self.assertEqual((every["matcher"]["id"], every["matcher"]["options"]), ("byRegexp", ".*"), where)
                self.assertEqual(every["properties"][0], {"id": "noValue", "value": "-"}, where)
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

    def test_smmu_faults_are_coloured_in_order(self):
        wanted = ["green", "orange", "red"]
        for uid, title in (("jetmem-device", "SMMU faults per minute"), ("jetmem-fleet", "Devices by verdict, worst first")):
            (panel,) = [each for each in boards.panels(self.boards[uid]) if each["title"] == title]
            steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
            for override in panel["fieldConfig"]["overrides"]:
                if override["matcher"]["options"] == "SMMU faults/min":
                    steps, = (each["value"]["steps"] for each in override["properties"] if each["id"] == "thresholds")
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
