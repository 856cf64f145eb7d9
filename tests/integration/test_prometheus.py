# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes real daemons, and answers what they read.

One daemon on this machine and one on each fixture; Debian's `prometheus` on loopback in a folder
of its own. Also `promtool check metrics` on every page.
"""

import pathlib
import re
import time
import unittest

import jetmem_testing as jt
import servers

CONFIG = """
global:
  scrape_interval: 1s
  scrape_timeout: 900ms
scrape_configs:
  - job_name: jetmem
    static_configs:
%s
  - job_name: prometheus
    static_configs:
      - targets: ["127.0.0.1:OWN_PORT"]
"""


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        servers.need("prometheus")
        cls.doomed_root = jt.copy_of_fixture(cls, "x86-pc")
        cls.daemons = {"live": jt.Daemon(cls), "doomed": jt.Daemon(cls, jt.FAST,
                                                                  root=cls.doomed_root)}
        for board in jt.BOARDS:
            cls.daemons[board] = jt.Daemon(cls, root=jt.FIXTURES / board)
        for daemon in cls.daemons.values():
            daemon.wait_until_read()
        cls.prometheus = servers.Prometheus(cls, CONFIG % "".join(
            f'      - targets: ["127.0.0.1:{daemon.port}"]\n        labels: {{board: "{board}"}}\n'
            for board, daemon in cls.daemons.items()))
        jt.wait_for("each target was scraped four times",
                    lambda: len([1 for _, count in cls.prometheus.query(
                        'count_over_time(up{job="jetmem"}[1m])') if count >= 4]) ==
                    len(cls.daemons), 60)

    def test_every_target_is_up(self):
        up = {labels["board"]: value for labels, value in
              self.prometheus.query('min_over_time(up{job="jetmem"}[5m])')}
        self.assertEqual(up, {board: 1 for board in self.daemons})

    def test_values_are_those_of_the_board(self):
        for board in jt.BOARDS:
            found = {}
            for labels, value in self.prometheus.query(f'{{job="jetmem", board="{board}"}}'):
                own = {label.removeprefix("exported_"): value for label, value in labels.items()
                       if label not in ("__name__", "job", "board", "instance")}
                found[labels["__name__"], frozenset(own.items())] = value
            jt.check_golden(self, board, found)

    def test_every_series_arrives(self):
        for board in jt.BOARDS:
            samples = len(self.daemons[board].scrape().samples)
            for query in (f'count({{job="jetmem", board="{board}", __name__=~"(jetmem|process)_.*"}})',
                          f'scrape_samples_scraped{{board="{board}"}}'):
                self.assertEqual([value for _, value in self.prometheus.query(query)], [samples], board)

    def test_no_label_is_renamed(self):
        # A label that Prometheus gives each target (job, instance) and a sample has too becomes
        # exported_job or exported_instance there, and queries written from the page find nothing.
        renamed = {labels["__name__"] for label in ("exported_instance", "exported_job")
                   for labels, _ in self.prometheus.query(f'{{{label}!=""}}')
                   if labels["__name__"].startswith("jetmem_")}
        self.assertEqual(renamed, set())

    def test_no_sample_is_refused(self):
        # prometheus says in its own metrics what it did not like in a scrape.
        text = self.prometheus.get("/metrics").decode()
        for kind in ("sample_duplicate_timestamp", "sample_out_of_order", "sample_out_of_bounds"):
            self.assertRegex(text, rf"(?m)^prometheus_target_scrapes_{kind}_total 0$")
        for target in self.prometheus.api("targets")["activeTargets"]:
            self.assertEqual((target["health"], target["lastError"]), ("up", ""), target)
        self.assertNotIn("level=error", self.prometheus.log_file.read_text())
        self.assertNotIn("msg=\"Error on ingesting", self.prometheus.log_file.read_text())

    def test_metadata(self):
        page = self.daemons["orin-nano-8gb"].scrape()
        metadata = self.prometheus.api("metadata")
        # Prometheus asks for OpenMetrics, where a counter's family has no suffix.
        for name, kind in page.type.items():
            family = name.removesuffix("_total")
            self.assertIn(family, metadata)
            entries = {(entry["type"], entry["help"]) for entry in metadata[family]}
            self.assertEqual(entries, {(kind, page.help[name])}, name)

    def test_counters_count(self):
        # The slope over all scrapes: between just two, a second apart, a busy machine may read twice.
        def rate():
            return [v for _, v in self.prometheus.query(
                'deriv(jetmem_sample_cycles_total{board="live"}[5m])')]
        found = jt.wait_for("a rate", rate)
        self.assertTrue(0.5 < found[0] < 2, found)
        # Each daemon alone, and all ask for themselves: none restarted under the scrapes.
        self.assertEqual({v for _, v in self.prometheus.query(
            'resets(jetmem_sample_cycles_total[5m])')}, {0})

    def test_what_is_stale_vanishes(self):
        series = '{board="doomed", __name__=~"jetmem_vmstat_.*"}'
        self.assertGreater(len(self.prometheus.query(series)), 10)
        path = self.doomed_root / "proc/vmstat"
        jt.replace_file(path, b"garbage\n")
        begin = time.monotonic()
        # Long before the five minutes for which Prometheus would remember.
        jt.wait_for("its series are gone", lambda: self.prometheus.query(series) == [], 30)
        jt.measured("file broken to series gone in Prometheus", time.monotonic() - begin)
        self.assertEqual([v for _, v in self.prometheus.query(
            'jetmem_source_state{board="doomed", source="vmstat", state="failed"}')], [1])
        self.assertEqual([v for _, v in self.prometheus.query(
            'jetmem_source_stale{board="doomed", source="vmstat"}')], [1])
        self.assertGreater(len(self.prometheus.query(
            '{board="doomed", __name__=~"jetmem_meminfo_.*"}')), 40)
        jt.replace_file(path, (jt.FIXTURES / "x86-pc/proc/vmstat").read_bytes())
        jt.wait_for("its series are back", lambda: len(self.prometheus.query(series)) > 10, 30)


class Promtool(unittest.TestCase):
    """`promtool check metrics`: exit status 1 for text it cannot parse, 3 for what it finds amiss."""

    # Fields of /proc/meminfo keep the kernel's spelling, as in node_exporter: see Decisions in
    # docs/architecture.md.
    KERNEL_SPELLING = re.compile(
        r"jetmem_meminfo_\w+ metric names should be written in 'snake_case' not 'camelCase'")

    @classmethod
    def setUpClass(cls):
        servers.need("promtool")

    def check(self, text):
        shown = jt.run(["promtool", "check", "metrics"], input=text, stderr=jt.subprocess.STDOUT)
        return shown.returncode, shown.stdout.splitlines()

    def pages(self):
        """Of the boards: those that tests/cli/golden_test.cc holds `jetmem metrics --root` to."""
        yield "the live daemon", jt.Daemon(self).wait_until_read().text
        yield "jetmem metrics", jt.run([jt.JETMEM, "metrics"]).stdout
        for page in sorted((pathlib.Path(__file__).parents[1] / "golden").glob("*.prom")):
            yield page.name, page.read_text()

    def test_nothing_but_the_kernels_spelling_is_amiss(self):
        for what, text in self.pages():
            with self.subTest(what):
                status, lines = self.check(text)
                self.assertIn(status, (0, 3), lines)
                self.assertEqual([line for line in lines
                                  if not self.KERNEL_SPELLING.fullmatch(line)], [])


if __name__ == "__main__":
    jt.main()
