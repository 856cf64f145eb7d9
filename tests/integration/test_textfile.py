# SPDX-License-Identifier: Apache-2.0
"""`jetmem metrics --daemon --output FILE` with a real node_exporter: it serves what /metrics says, and
nothing once that is no longer so. And the rules of dashboards/prometheus/textfile.rules.yml.
"""

import os
import pathlib
import re
import shutil
import stat
import unittest

import jetmem_testing as jt
import promtool_rules as pr
import servers

RULES = pathlib.Path(__file__).parents[2] / "dashboards/prometheus"


def setUpModule():
    global MOUNTS
    MOUNTS = jt.why_no_mounts()


class NodeExporter(servers.Server):
    def __init__(self, test, directory):
        program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
        if not program:
            raise unittest.SkipTest("needs node_exporter (Debian package prometheus-node-exporter)")
        port = jt.free_port()
        super().__init__(test, [program, "--collector.disable-defaults", "--collector.textfile",
                                f"--collector.textfile.directory={directory}", f"--web.listen-address=127.0.0.1:{port}"],
                         port, jt.temp_directory(test), ready="/metrics")
        self.start()

    def samples(self):
        """{(name, labels): value} of all that it serves."""
        lines = self.get("/metrics").decode().splitlines()
        # Go's own histograms and summaries are no business of ours.
        own = [line for line in lines if re.match(r"(# \w+ )?(jetmem|node_textfile)_", line)]
        return jt.Page("\n".join(own) + "\n").samples


class Command(unittest.TestCase):
    def setUp(self):
        self.directory = jt.temp_directory(self) / "textfiles"
        self.directory.mkdir()
        self.file = self.directory / "jetmem.prom"

    def start(self):
        """A jetmemd without a port, as under systemd."""
        runtime = jt.temp_directory(self)
        device = jt.Daemon(
            self, "http: {listen: []}\nhistory: {enabled: false}\ncapture: {enabled: false}\n",
            environment={"RUNTIME_DIRECTORY": str(runtime)}, wait=False)
        self.address = f"unix:{runtime}/api.socket"
        jt.wait_for("it answers", lambda: self.write().returncode == 0)
        return device

    def write(self, *arguments):
        return jt.run([jt.JETMEM, "metrics", "--daemon", self.address, "-o", self.file, *arguments])

    def fails(self, reason, status):
        """Whatever the reason, no old file stays."""
        shown = self.write()
        self.assertEqual((shown.returncode, shown.stdout), (status, ""))
        self.assertRegex(shown.stderr, reason)
        self.assertFalse(os.path.lexists(self.file))
        self.assertFalse(os.path.lexists(f"{self.file}.part"))

    def test_all_that_metrics_says_comes_through(self):
        (self.directory / "other.prom").write_text("# TYPE other gauge\nother 1\n")
        exporter = NodeExporter(self, self.directory)
        device = self.start()
        asked = [jt.JETMEM, "metrics", "--daemon", self.address]
        jt.wait_for("a page of several sources", lambda: len(jt.Page(jt.run(asked).stdout).samples) > 300)
        self.assertEqual(jt.Page(jt.run(asked).stdout).value("jetmem_sampling_stalled"), 0)
        # What a killed command left, or somebody planted.
        precious = self.directory.parent / "precious"
        precious.write_text("precious")
        (self.directory / "jetmem.prom.part").symlink_to(precious)
        shown = self.write()
        self.assertEqual((shown.returncode, shown.stdout, shown.stderr), (0, "", ""))
        self.assertEqual(precious.read_text(), "precious")
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o644)
        page = jt.Page(self.file.read_text())
        self.assertEqual(page.families("process_"), [], "node_exporter has its own")
        self.assertGreaterEqual(page.value("jetmem_http_requests_total", path="/metrics", code="200"), 1)
        samples = exporter.samples()
        self.assertEqual(samples["node_textfile_scrape_error", frozenset()], 0)
        served = {key: value for key, value in samples.items() if key[0].startswith("jetmem_")}
        self.assertEqual(served, page.samples)
        self.assertEqual(device.stop()[0], 0)
        self.fails("is jetmemd running", 69)
        self.assertEqual([path.name for path in self.directory.iterdir()], ["other.prom"])

    @unittest.skipIf(os.geteuid() != 0, "needs root: it mounts a file system")
    def test_a_full_directory(self):
        if MOUNTS:
            self.skipTest(MOUNTS)
        self.start()
        jt.mount("textfiles", self.directory, "tmpfs", options="size=1m,mode=0755")
        jt.at_end(self, jt.umount, self.directory)
        self.assertEqual(self.write().returncode, 0)
        ballast = jt.fill(self.directory)
        self.fails("No space left on device", 74)
        # The old file made room.
        ballast.unlink()
        self.assertEqual(self.write().returncode, 0)

    def test_wrong_command_lines(self):
        for arguments in (["--local"], ["--only", "meminfo"], ["--root", jt.FIXTURES / "orin"]):
            self.file.write_text("old")
            shown = jt.run([jt.JETMEM, "metrics", "--daemon", "127.0.0.1:9", "-o", self.file, *arguments])
            self.assertEqual((shown.returncode, self.file.read_text()), (64, "old"), arguments)


UP, WRITTEN = 'up{job="node",instance="%s"}', 'node_textfile_mtime_seconds{job="node",instance="%s",file="/x/jetmem.prom"}'
BY_NODE = 'count by (alertname, instance) (ALERTS{alertstate="firing"})'
MISSING = {'{alertname="JetmemTextfileMissing",instance="a"}': 1}
TEXTFILE_RULES_TEST = [
    pr.case("a file that is written is quiet, as is a node without one",
            {**pr.each(UP, "1x80", "a", "b"), WRITTEN % "a": "1000+15x80",
             'node_textfile_mtime_seconds{job="node",instance="b",file="/x/apt.prom"}': "1000x80"},
            ("2m", BY_NODE, {}), ("15m", BY_NODE, {})),
    pr.case("the timer was stopped, on a device whose clock was never set",
            {UP % "a": "1x80", WRITTEN % "a": "1000+15x20 1300x60"},
            ("8m", BY_NODE, {}), ("10m", BY_NODE, {'{alertname="JetmemTextfileStale",instance="a"}': 1})),
    pr.case("jetmemd was stopped; another node is down altogether",
            {UP % "a": "1x80", UP % "b": "1x20 0x60", **pr.each(WRITTEN, "1000+15x20 stale", "a", "b")}, ("15m", BY_NODE, MISSING)),
    pr.case("two days later it is still missing",
            {# One that gets a label, and another directory.
             **pr.each(UP, "1x3000", "a", "b"), **pr.each(WRITTEN, "1000+60x20 stale", "a", "b"),
             'node_textfile_mtime_seconds{job="node",instance="b",site="hall-2",file="/y/jetmem.prom"}': "_x20 2200+60x3000"},
            ("48h", BY_NODE, MISSING), interval="1m"),  # and evaluated as often: it looks at its own past
]

PROMETHEUS = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: node
    static_configs:
      - targets: ["127.0.0.1:%d"]
"""


class Rules(unittest.TestCase):
    def setUp(self):
        servers.need("prometheus", "promtool")

    def test_shipped_rules_of_the_text_file(self):
        pr.judge(self, RULES / "textfile.rules.yml", TEXTFILE_RULES_TEST[:-1])
        pr.judge(self, RULES / "textfile.rules.yml", TEXTFILE_RULES_TEST[-1:], "1m")

    def test_the_exported_ones_fire_for_the_node_exporters_job(self):
        """Of a made-up device in trouble, whose file lies in the directory."""
        textfiles = jt.temp_directory(self)
        text = jt.run([jt.JETMEM, "metrics", "--root", jt.FIXTURES / "orin-nano-8gb"]).stdout
        for change in ((r"^(jetmem_cma_used_ratio\{.*\}) .*$", r"\1 0.97"),
                       # One that joins two metrics on job and instance.
                       (r"^(jetmem_memory_pressure_level) .*$", r"\1 3"),
                       (r"^(jetmem_zone_watermark_distance_bytes\{.*unmovable.*min.*\}) .*$",
                        r"\1 -4096")):
            text, count = re.subn(*change, text, flags=re.M)
            self.assertGreaterEqual(count, 1, change)
        (textfiles / "jetmem.prom").write_text(text)
        exporter = NodeExporter(self, textfiles)
        rules = (RULES / "jetmem.rules.yml").read_text()
        server = servers.Prometheus(self, PROMETHEUS % exporter.port, {
            "rules.yml": re.sub(r"for: \w+", "for: 1s", rules.replace("interval: 15s", "interval: 1s"))})

        def firing():
            return {labels["alertname"]: labels for labels, _ in server.query('ALERTS{alertstate="firing"}')}
        names = ("JetmemCmaExhausted", "JetmemBelowWatermark")
        jt.wait_for("the rules fire", lambda: set(names) <= set(firing()))
        for name in names:
            alert = firing()[name]
            self.assertEqual((alert["job"], alert["instance"]), ("node", f"127.0.0.1:{exporter.port}"))


if __name__ == "__main__":
    jt.main()
