# SPDX-License-Identifier: Apache-2.0
"""The centre's doors, and what it takes: who may push and ask, samples of a device that was long away, what an
agent keeps over its own restart while the centre is down. Also VictoriaMetrics in its place and behind it.
"""

import base64
import contextlib
import http.client
import json
import ssl
import time
import unittest

import jetmem_testing as jt

import fleet
import required_series as needed
import remote_write
import servers

DAY = 86400


def up(device):
    return {"__name__": "up", "job": "jetmem", "instance": device}


class Doors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fleet.need("prometheus", "openssl", "nginx")
        cls.certificates = fleet.Certificates(cls)
        cls.centre = fleet.Centre(cls, cls.certificates, rules=False).start()
        cls.door = fleet.FrontDoor(cls, cls.certificates, cls.centre.port).start()

    def test_without_a_password_nobody_is_let_in(self):
        for who in ((), ("jetmem-device", "guessed"), ("nobody", "a device's password")):
            self.assertEqual(self.centre.request("GET", "/api/v1/query?query=up", user=who)[0], 401)
            self.assertEqual(self.centre.request("POST", "/api/v1/write", b"", user=who)[0], 401)
        for who in (fleet.Centre.DEVICE, fleet.Centre.SELF):
            self.assertEqual(self.centre.request("GET", "/api/v1/query?query=up", user=who)[0], 200)

    def test_without_tls_nobody_is_let_in(self):
        plain = fleet.Server(self, ["none"], self.centre.port, self.centre.directory)
        self.assertEqual(plain.request("GET", "/")[0], 400)
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            old = self.certificates.trusting()
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, version
            aged = fleet.Server(self, ["none"], self.centre.port, self.centre.directory, tls=old)
            with self.assertRaises(OSError):
                aged.request("GET", "/")

    def test_through_the_front_door_devices_push_and_nothing_else(self):
        self.assertEqual(remote_write.push(self.door, [(up("by-the-door"), [(time.time(), 1)])]), (204, b""))
        self.assertEqual([v for _, v in self.centre.query('up{instance="by-the-door"}')], [1])
        for method, path, status in (("GET", "/api/v1/query?query=up", 404), ("GET", "/api/v1/write", 403),
                                     ("POST", "/api/v1/query", 404), ("POST", "/api/v1/admin/tsdb/snapshot", 404),
                                     ("POST", "/-/quit", 404), ("GET", "/metrics", 404), ("GET", "/upload", 403),
                                     ("POST", "/api/v1/write/../query", 404), ("GET", "//api/v1/query", 404)):
            self.assertEqual(self.door.request(method, path)[0], status, (method, path))
        # The password still counts, and so does the certificate.
        self.assertEqual(self.door.request("POST", "/api/v1/write", b"", user=("jetmem-device", "x"))[0], 401)
        stranger = fleet.Server(self, ["none"], self.door.port, self.door.directory, tls=self.certificates.trusting(),
                                user=fleet.Centre.DEVICE)
        self.assertEqual(stranger.request("POST", "/api/v1/write", b"")[0], 400)
        other = fleet.Certificates(self)
        forged = self.certificates.trusting()
        forged.load_cert_chain(*other.issue("device-of-the-test"))
        stranger.tls = forged
        self.assertEqual(stranger.request("POST", "/api/v1/write", b"")[0], 400)

    def test_what_a_device_can_make_the_centre_unpack_is_bounded(self):
        self.assertEqual(self.door.request("POST", "/api/v1/write", bytes(11 << 20))[0], 413)
        with contextlib.ExitStack() as held:
            for _ in range(4):  # each with a body that does not come
                connection = held.enter_context(contextlib.closing(http.client.HTTPSConnection(
                    "127.0.0.1", self.door.port, timeout=jt.PATIENCE, context=self.door.tls)))
                connection.putrequest("POST", "/api/v1/write")
                connection.putheader("Content-Length", "1000")
                connection.endheaders()
            sample = [(up("one-more"), [(time.time(), 1)])]
            # With 5xx, which an agent tries again.
            jt.wait_for("one more is refused", lambda: remote_write.push(self.door, sample)[0] == 503)
        jt.wait_for("and taken when there is room", lambda: remote_write.push(self.door, sample)[0] == 204)

    def test_a_revoked_certificate_is_refused(self):
        stolen = self.certificates.issue("device-stolen")
        door = fleet.FrontDoor(self, self.certificates, self.centre.port, revoked=self.certificates.revoked(stolen[0])).start()
        self.assertEqual(remote_write.push(door, [(up("by-another-door"), [(time.time(), 1)])])[0], 204)
        door.tls = self.certificates.trusting()
        door.tls.load_cert_chain(*stolen)
        self.assertEqual(remote_write.push(door, [(up("stolen"), [(time.time(), 1)])])[0], 400)

    def test_what_is_late_is_taken(self):
        """While others went on: a device that was away for hours, and one that was for weeks."""
        now = time.time()
        self.assertEqual(remote_write.push(self.centre, [(up("punctual"), [(now, 1)])])[0], 204)
        for device, late in (("hours", 0.2 * DAY), ("weeks", 29 * DAY)):
            samples = [(now - late + 15 * n, n % 2) for n in range(100)]
            self.assertEqual(remote_write.push(self.centre, [(up(device), samples)]), (204, b""), device)
            (_, stored), = self.centre.samples(f'up{{instance="{device}"}}', "1h", now - late + 1500).items()
            self.assertEqual([(round(at * 1000), float(value)) for at, value in stored],
                             [(round(at * 1000), value) for at, value in samples], device)

    def test_the_same_twice_is_once(self):
        """What was stored but not acknowledged before a crash comes again."""
        samples = [(up("again"), [(time.time() - 10 + n, n) for n in range(5)])]
        for _ in range(2):
            self.assertEqual(remote_write.push(self.centre, samples)[0], 204)
        (_, stored), = self.centre.samples('up{instance="again"}', "1m", time.time()).items()
        self.assertEqual([float(value) for _, value in stored], [0, 1, 2, 3, 4])


class Restart(unittest.TestCase):
    def test_vmagent_keeps_what_it_could_not_send_over_its_own_restart(self):
        """Through the front door. (The Prometheus agent does not: docs/fleet.md.)"""
        fleet.need("prometheus", "openssl", "nginx", "vmagent")
        certificates = fleet.Certificates(self)
        centre = fleet.Centre(self, certificates, rules=False).start()
        door = fleet.FrontDoor(self, certificates, centre.port).start()
        daemon = jt.Daemon(self, root=jt.FIXTURES / "xavier-nx")
        centre.url = door.url
        certificate, key = door.device_certificate
        agent = fleet.VmAgent(self, "restarted", daemon.port, centre)
        agent.argv += [f"-remoteWrite.tlsCertFile={certificate}", f"-remoteWrite.tlsKeyFile={key}"]
        agent.start()
        jt.wait_for("it pushes", lambda: centre.query('up{job="jetmem",instance="restarted"}'))
        killed = time.time()
        centre.kill()
        time.sleep(5)
        stopped = time.time()
        agent.stop()
        agent.start()
        centre.start()
        back = time.time()

        # What was on its way when the agent stopped comes after what it scraped later.
        def is_whole():
            samples = list(centre.samples('up{job="jetmem"}', "5m", time.time()).values())
            found = [at for at, _ in samples[0]] if samples else []
            unsent = [killed, *(at for at in found if killed < at < stopped), stopped]
            return found and found[-1] > back and max(b - a for a, b in zip(unsent, unsent[1:])) < 6
        jt.wait_for("it has caught up, and nothing is missing", is_whole, 90)


class Answering:
    """An HTTPS server with a password and one page, made anew for each who asks."""

    def __init__(self, test, certificates, name, page, password=None):
        class Password(servers.Handler):
            def do_GET(self):
                wanted = password and "Basic " + base64.b64encode(f"prometheus:{password}".encode()).decode()
                kind, body = page() if self.headers.get("Authorization") == wanted else ("text/plain", b"")
                self.answer(200 if body else 401, body, kind)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificates.issue(name, "IP:127.0.0.1"))
        self.port = servers.serve(test, Password, context)


class Reached(unittest.TestCase):
    def test_devices_that_can_be_reached_are_asked_under_their_names(self):
        """reach.yml: from a file and from an inventory, over TLS, with a password."""
        fleet.need("prometheus", "openssl")
        certificates = fleet.Certificates(self)
        daemons = [jt.Daemon(self, root=jt.FIXTURES / board) for board in ("nano-4gb", "thor")]
        # A compromised one, whose page is not stored.
        flood = "".join(f'jetmem_memory_available_ratio{{l="{n}"}} 1\n' for n in range(10_001)).encode()
        # Another, which speaks for the first.
        claim = b'jetmem_memory_available_ratio{instance="line0-camera1",job="jetmem"} 4711\n'
        pages = [*(lambda daemon=daemon: daemon.request("GET", "/metrics")[2] for daemon in daemons),
                 lambda: flood, lambda: claim]
        devices = [Answering(self, certificates, "jetmem-device",
                             lambda page=page: ("text/plain; version=0.0.4", page()), "of all devices")
                   for page in pages]
        listed = [json.dumps(json.loads(fleet.replaced((fleet.FLEET / "centre/devices.json").read_text(), {
            "192.0.2.17:10743": f"127.0.0.1:{device.port}", "192.0.2.18:10743": f"127.0.0.1:{device.port}",
            "line3": f"line{number}"}))[:1])  # one of the two of each
            for number, device in enumerate(devices)]
        inventory = Answering(self, certificates, "inventory.example.org",
                              lambda: ("application/json", listed[1].encode()))
        centre = fleet.Centre(self, certificates, rules=False)
        folder = centre.directory / "devices"
        folder.mkdir()
        (folder / "hall-2.json").write_text(listed[0])
        for number in (2, 3):
            (folder / f"compromised-{number}.json").write_text(listed[number])
        (centre.directory / "devices.password").write_text("of all devices")
        reach = fleet.replaced((fleet.FLEET / "centre/reach.yml").read_text().split("scrape_configs:\n")[1], {
            "/etc/prometheus/jetmem/devices/": f"{folder}/",
            "/etc/prometheus/jetmem/devices.password": centre.directory / "devices.password",
            "/etc/prometheus/jetmem/ca.pem": certificates.ca,
            "https://inventory.example.org/jetmem": f"https://127.0.0.1:{inventory.port}/jetmem"})
        settings = centre.directory / "prometheus.yml"
        settings.write_text(settings.read_text().replace("scrape_configs:\n", "scrape_configs:\n" + reach)
                            .replace("scrape_interval: 15s", "scrape_interval: 4s\n  scrape_timeout: 4s"))
        centre.start()

        def asked():
            return {labels["instance"]: (labels["site"], value) for labels, value in centre.query('up{job="jetmem"}')}
        wanted = {"line0-camera1": ("hall-2", 1), "line1-camera1": ("hall-2", 1), "line2-camera1": ("hall-2", 0),
                  "line3-camera1": ("hall-2", 1)}
        jt.wait_for("all are asked", lambda: asked() == wanted, 60)
        self.assertEqual(centre.query('jetmem_memory_available_ratio{instance="line2-camera1"}'), [])
        self.assertEqual([labels["instance"] for labels, _ in centre.query("jetmem_memory_available_ratio == 4711")], ["line3-camera1"])
        (version, _), = {(labels["version"], value) for labels, value in centre.query("jetmem_build_info")}
        self.assertTrue(version)


class VictoriaMetrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fleet.need("victoria-metrics", "openssl", "prometheus", "vmagent")
        # What was pushed just now, too.
        cls.server = fleet.VictoriaMetrics(cls, fleet.Certificates(cls), ["-search.latencyOffset=0s"]).start()

    def test_it_takes_what_devices_push(self):
        server = self.server
        daemon = jt.Daemon(self, root=jt.FIXTURES / "orin")
        for kind, name in ((fleet.PrometheusAgent, "by-prometheus"), (fleet.VmAgent, "by-vmagent")):
            kind(self, name, daemon.port, server).start()

        def pushed():
            found = {labels["instance"]: value for labels, value in server.query(
                'count by (instance) ({__name__=~"jetmem_.*",job="jetmem"})')}
            # Some series need two readings: a page that was pushed early lacks them.
            wanted = sum(name in kept for name, _ in daemon.scrape().samples)
            return len(found) == 2 and set(found.values()) == {wanted}
        kept = needed.kept(fleet.FLEET / "device/agent.yml")
        jt.wait_for("both push all that is kept", pushed, 30)
        page = daemon.scrape()
        # The rules' expressions, asked of it.
        for labels, value in server.query('jetmem_memory_available_ratio'):
            # It keeps some twelve digits.
            self.assertAlmostEqual(value, page.value("jetmem_memory_available_ratio"), 10, labels)

    def test_it_takes_what_is_late_and_leaves_out_what_no_clock_can_have_meant(self):
        server, now = self.server, time.time()
        wanted = [(up("now"), [(now, 1)]), (up("late"), [(now - 40 * DAY, 1)]), (up("ahead"), [(now + 3650 * DAY, 1)]),
                  (up("1970"), [(17, 1)])]
        self.assertEqual(remote_write.push(server, wanted)[0], 204)
        jt.wait_for("what is right is stored", lambda: {labels["instance"] for labels, _ in server.query(
            'count_over_time(up{instance!~"by-.*"}[50d])')} == {"now", "late"})
        # And afterwards as before.
        self.assertEqual(remote_write.push(server, [(up("after"), [(now, 1)])])[0], 204)
        jt.wait_for("what comes after", lambda: server.query('up{instance="after"}'))

    def test_it_keeps_the_centres_records(self):
        server = self.server
        centre = fleet.Centre(self, fleet.Certificates(self), rule_changes={r"interval: \d+[sm]": "interval: 1s"})
        settings = centre.directory / "prometheus.yml"
        records = (fleet.FLEET / "grow/keep-records.yml").read_text()
        settings.write_text(settings.read_text() + fleet.replaced(records, {
            "127.0.0.1:8428": f"127.0.0.1:{server.port}"}))
        centre.start()
        for _ in range(3):
            remote_write.push(centre, [(up("a"), [(time.time(), 1)]), (
                {"__name__": "jetmem_memory_available_ratio", "job": "jetmem", "instance": "a"}, [(time.time(), 0.25)])])
            time.sleep(1)

        def kept():
            return [value for _, value in server.query('instance:jetmem_memory_available_ratio:min5m{instance="a"}')]
        jt.wait_for("the record arrives", lambda: kept() == [0.25], 30)
        names = {labels["__name__"] for labels, _ in server.query('{__name__=~".+",instance!~"by-.*|now|late|after"}')}
        self.assertEqual({name for name in names if not name.startswith(("instance:jetmem_", "job:jetmem_", "ALERTS"))}, set())
        self.assertIn("job:jetmem_devices:count", names)


if __name__ == "__main__":
    jt.main()
