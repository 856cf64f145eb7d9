# SPDX-License-Identifier: Apache-2.0
"""A site's own messages: from a line of the kernel's log to an alert, reloads, broken files; and guesses."""

import json
import os
import pathlib
import tarfile

import jetmem_testing as jt
from test_kernel_log import Feeding

MESSAGES = """
messages:
  - id: acme-frame-timeout
    line: "acme_grabber {dev:dev}: frame {frame:nat} timed out after {timeout_ms:nat} ms"
    say: "grabber {dev} received no frame for {timeout_ms} ms"
    cause: "the sensor's cable is loose"
    remedy: "check the connector"
    examples:
      - line: "acme_grabber 2-001a: frame 1 timed out after 2500 ms"
        gives: {dev: 2-001a, frame: 1, timeout_ms: 2500}
  - id: acme-no-buffer
    kind: dma_alloc_failure
    line: "{@dev}no DMA buffer of {size:nat} bytes"
    examples:
      - line: "acme_grabber 2-001a: no DMA buffer of 4096 bytes"
        gives: {dev: 2-001a, size: 4096}
"""
RULES = """
rules:
  - alert: GrabberLosesFrames
    severity: warning
    when:
      - metric: jetmem_kernel_recent_message_events
        labels: {message: acme-frame-timeout}
        at_least: 3
    summary: "The grabber lost frames {{ value }} times"
"""
LINE = "acme_grabber 2-001a: frame {} timed out after 2500 ms"


class SiteMessages(Feeding):
    def setUp(self):
        super().setUp()
        folder = jt.temp_directory(self)
        self.messages = folder / "messages.d"
        self.rules = folder / "rules.d"
        self.messages.mkdir()
        self.rules.mkdir()
        (self.rules / "site.yaml").write_text(RULES)
        self.settings = (f"messages: {{directory: '{self.messages}'}}\n"
                         f"rules: {{interval: 1s, shipped: false, directory: '{self.rules}'}}\n")

    def put_messages(self, text, name="50-acme.yaml"):
        """Whole or not at all: the daemon reads at any time."""
        new = self.messages / ("." + name)
        new.write_text(text)
        new.replace(self.messages / name)

    def recent(self, page, message):
        kinds = {"acme-no-buffer": "dma_alloc_failure"}
        return page.value("jetmem_kernel_recent_message_events", message=message,
                          kind=kinds.get(message, "custom"))

    def test_from_a_line_to_an_alert(self):
        self.put_messages(MESSAGES)
        daemon = self.daemon(self.settings)
        page = daemon.scrape()
        self.assertEqual(page.value("jetmem_messages"), 2)
        self.assertEqual(page.value("jetmem_message_config_errors"), 0)
        self.assertEqual(self.recent(page, "acme-frame-timeout"), 0)
        for i in range(3):
            self.kmsg.put(LINE.format(i))
        page = daemon.wait_for_page("the alert", lambda page: page.value(
            "jetmem_alert_state", alert="GrabberLosesFrames", severity="warning") == 2)
        self.assertEqual(self.recent(page, "acme-frame-timeout"), 3)
        self.assertEqual(page.value("jetmem_kernel_message_events_total", message="acme-frame-timeout",
                                    kind="custom", origin="system"), 3)
        self.assertEqual(self.events(page, "custom"), 3)
        self.assertEqual(page.value("jetmem_kernel_recent_events", kind="custom"), 3)
        daemon.wait_for_log("GrabberLosesFrames fires")
        self.assertIn("grabber 2-001a received no frame for 2500 ms; the sensor's cable is loose", daemon.log())
        # With a kind of jetmem's it is counted as one of these.
        self.kmsg.put("acme_grabber 2-001a: no DMA buffer of 4096 bytes")
        page = daemon.wait_for_page("the refusal", lambda page: self.recent(page, "acme-no-buffer") == 1)
        self.assertEqual(page.value("jetmem_dma_recent_refusals", device="2-001a"), 1)
        # And counts outlive a restart.
        daemon.stop()
        self.kmsg.close()
        self.assertEqual(self.recent(self.daemon(self.settings).scrape(), "acme-frame-timeout"), 3)

    def test_a_reload_takes_what_is_new_and_lets_go_of_what_is_gone(self):
        daemon = self.daemon(self.settings)
        self.assertEqual(daemon.scrape().value("jetmem_messages"), 0)
        self.kmsg.put(LINE.format(1))
        daemon.wait_for_page("what nobody knows", lambda page: page.value("jetmem_kernel_log_records_total") == 1)
        self.put_messages(MESSAGES)
        daemon.reload()
        daemon.wait_for_page("two messages", lambda page: page.value("jetmem_messages") == 2)
        self.kmsg.put(LINE.format(2))
        daemon.wait_for_page("one event", lambda page: self.recent(page, "acme-frame-timeout") == 1)
        # While an event is open, whose first lines are of before.
        for i in range(20):
            self.kmsg.put("arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=0x1000, "
                          "fsynr=0x2f0011, cbfrsynra=0x836, cb=3")
            self.kmsg.put(LINE.format(i))
            self.put_messages(MESSAGES + f"# {i}\n")
            daemon.reload()
        daemon.wait_for_page("all of them", lambda page: self.recent(page, "acme-frame-timeout") == 21)
        (self.messages / "50-acme.yaml").unlink()
        daemon.reload()
        page = daemon.wait_for_page("no message", lambda page: page.value("jetmem_messages") == 0)
        self.assertIsNone(self.recent(page, "acme-frame-timeout"))
        self.assertEqual(daemon.stop()[0], 0)

    def test_a_broken_file_leaves_the_others_in_force(self):
        self.put_messages(MESSAGES)
        self.put_messages("messages:\n  - id: broken\n    kind: camera_timeot\n    line: \"broken: {n:nat\"\n",
                          "60-broken.yaml")
        daemon = self.daemon(self.settings)
        page = daemon.scrape()
        self.assertEqual(page.value("jetmem_messages"), 2)
        self.assertEqual(page.value("jetmem_message_config_errors"), 3)
        daemon.wait_for_log(r"error messages: .*60-broken\.yaml:3:11: .*did you mean 'camera_timeout'")
        self.kmsg.put(LINE.format(1))
        daemon.wait_for_page("the event", lambda page: self.recent(page, "acme-frame-timeout") == 1)
        (self.messages / "60-broken.yaml").unlink()
        os.mkfifo(self.messages / "70-fifo.yaml")
        daemon.reload()
        daemon.wait_for_page("a file that is none", lambda page: page.value("jetmem_message_config_errors") == 1)
        (self.messages / "70-fifo.yaml").unlink()
        daemon.reload()
        page = daemon.wait_for_page("no error", lambda page: page.value("jetmem_message_config_errors") == 0)
        self.assertEqual(self.recent(page, "acme-frame-timeout"), 1)

    def test_commands_know_them(self):
        self.put_messages(MESSAGES)
        settings = jt.temp_directory(self) / "jetmem.yaml"
        settings.write_text(self.settings)
        tree = jt.temp_directory(self)
        (tree / "dev").mkdir()
        (tree / "dev/kmsg").write_text("3,1,12500000,-;" + LINE.format(1) + "\n")

        def said(*words, **options):
            return jt.run([jt.JETMEM, *words, "--config", settings], **options).stdout
        event = json.loads(said("decode", "kernel-log", "--json", input="[   12.5] " + LINE.format(1) + "\n"))
        self.assertEqual((event["kind"], event["message"], event["timeout_ms"]), ("custom", "acme-frame-timeout", 2500))
        self.assertIn("Cause: the sensor's cable is loose\nRemedy: check the connector\n",
                      said("messages", "explain", "acme-frame-timeout"))
        event = json.loads(said("--root", tree, "events", "--json"))
        self.assertEqual(event["fields"]["message"], "acme-frame-timeout")
        self.assertIn("The sensor's cable is loose", said("--root", tree, "doctor"))

    def test_a_bundle_has_them(self):
        self.put_messages(MESSAGES)
        self.put_messages("# " + 1000 * (125 * "x" + "\n# "), "10-large.yaml")
        for i in range(7):
            self.put_messages(1000 * ("#" + 125 * "x" + "\n"), f"6{i}-large.yaml")
        self.put_messages(1000 * ("#" + 125 * "x" + "\n"), "70-omitted.yaml")
        folder = jt.temp_directory(self)
        (folder / "jetmem.yaml").write_text(self.settings)

        def captured(*words):
            jt.run([jt.JETMEM, *words, "-o", folder / "b.tar"], check=True)
            with tarfile.open(folder / "b.tar") as tar:
                tar.extractall(folder / "bundle")
                return {name.split("/", 1)[1] for name in tar.getnames()}
        names = captured("capture", "--no-history", "--config", folder / "jetmem.yaml")
        self.assertLessEqual({"jetmem/config/messages/50-acme.yaml", "jetmem/config/rules/site.yaml"}, names)
        self.assertNotIn("jetmem/config/messages/70-omitted.yaml", names)
        tree, = (folder / "bundle").iterdir()
        self.assertIn("jetmem/config/messages/70-omitted.yaml", (tree / "jetmem/manifest.json").read_text())
        (tree / "dev").mkdir(exist_ok=True)
        # A moment ago: doctor looks at the last day, and this machine may run for longer.
        now = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        (tree / "dev/kmsg").write_text(f"3,1,{int((now - 5) * 1e6)},-;" + LINE.format(1) + "\n")

        def said(*words):
            return jt.run([jt.JETMEM, "--root", tree, *words]).stdout
        for command in (["events", "--json"], ["decode", "kernel-log", "--json"]):
            self.assertIn('"acme-frame-timeout"', said(*command), command)
        self.assertIn("The sensor's cable is loose", said("doctor"))
        # Not a file elsewhere, to which a bundle of somebody else's may point.
        own = tree / "jetmem/config/messages/50-acme.yaml"
        own.unlink()
        own.symlink_to(self.messages / "50-acme.yaml")
        self.assertEqual(said("events", "--json"), "")
        # And a bundle of a bundle.
        own.unlink()
        own.write_text(MESSAGES)
        self.assertIn("jetmem/config/messages/50-acme.yaml", captured("--root", tree, "capture", "--no-history"))


class Guesses(Feeding):
    GUESS = "foo_codec 3-1: out of memory in queue setup"

    def recorded(self, daemon, category):
        return json.loads(daemon.request("GET", f"/api/v1/events?category={category}")[2])["events"]

    def test_are_counted_and_recorded_and_nothing_else(self):
        history = jt.temp_directory(self)
        daemon = self.daemon(f"history: {{directory: '{history}'}}\nrules: {{interval: 1s}}\n")
        for _ in range(3):
            self.kmsg.put(self.GUESS)
        page = daemon.wait_for_page("the guesses", lambda page: sum(
            value for _, value in page.series("jetmem_kernel_guesses_total")) == 3)
        page = daemon.wait_for_cycles(2)
        # Tally's AGuessIsInNoOtherCount has the others.
        self.assertEqual({value for _, value in page.series("jetmem_kernel_events_total")}, {0})
        daemon.wait_for_log("not a message that jetmem knows")
        self.assertNotIn(" fires", daemon.log())
        events = self.recorded(daemon, "guess")
        self.assertEqual([event["count"] for event in events], [3])
        self.assertEqual(events[0]["severity"], "info")
        self.assertFalse(events[0]["fields"]["known"])
        self.assertIn("not a message that jetmem knows", events[0]["summary"])
        self.assertIn(self.GUESS, events[0]["summary"])
        self.assertEqual(self.recorded(daemon, "kernel"), [])


if __name__ == "__main__":
    jt.main()
