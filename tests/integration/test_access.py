# SPDX-License-Identifier: Apache-2.0
"""TLS and passwords over real connections: OpenSSL, GnuTLS, curl, Prometheus and the command."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
import unittest

import access_testing as at
import jetmem_testing as jt
import servers

TLS = "tls_server_config: {cert_file: server.crt, key_file: server.key%s}\n"
USERS = f"basic_auth_users:\n  alice: {at.ALICE}\n"
HEALTH = "GET /healthz HTTP/1.0\r\n"
WITH_LOGIN = f"{HEALTH}Authorization: {at.basic()['Authorization']}\r\n\r\n"


def setUpModule():
    """One daemon for all that needs TLS and a password; who changes its configuration puts it back."""
    global AUTHORITY, DAEMON
    AUTHORITY = at.Authority(jt.Module)
    DAEMON = at.SecureDaemon(jt.Module, TLS % "" + USERS, AUTHORITY)


def run(arguments, text="", **options):
    return jt.run(arguments, input=text, stderr=subprocess.STDOUT, **options)


def configure(daemon, web):
    """Until it has been read; a connection that meets the change a moment later is cut off, and looks refused."""
    read = f"web configuration {daemon.web_file}: "
    before = daemon.log().count(read)
    daemon.web_file.write_text(web)
    daemon.reload()
    jt.wait_for("it is read", lambda: daemon.log().count(read) > before)


def status(daemon):
    """What /healthz answers; 0: hung up on."""
    try:
        return daemon.request("GET", "/healthz")[0]
    except (OSError, http.client.HTTPException):
        return 0


def handshake(minimum=ssl.TLSVersion.TLSv1_2, maximum=ssl.TLSVersion.TLSv1_3, ciphers=None):
    """The version that a client of OpenSSL (Python's) gets, or what went wrong."""
    context = DAEMON.context()
    context.minimum_version, context.maximum_version = minimum, maximum
    if ciphers:
        context.set_ciphers(ciphers)
    try:
        with at.raw(DAEMON.port) as plain, context.wrap_socket(plain, server_hostname="localhost") as secure:
            return secure.version()
    except (ssl.SSLError, ConnectionError) as error:
        return f"refused: {error}"


class Handshakes(unittest.TestCase):
    def test_versions(self):
        tls12, tls13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
        self.assertEqual(handshake(), "TLSv1.3")
        self.assertEqual(handshake(maximum=tls12), "TLSv1.2")
        self.assertEqual(handshake(minimum=tls13), "TLSv1.3")
        old = handshake(ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, "ALL:@SECLEVEL=0")
        self.assertIn("refused", old)
        # Without forward secrecy, or without AEAD.
        for ciphers in ("AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"):
            self.assertIn("refused", handshake(maximum=tls12, ciphers=ciphers))

    def test_openssl(self):
        for version in ("-tls1_2", "-tls1_3"):
            said = run(["openssl", "s_client", "-connect", f"127.0.0.1:{DAEMON.port}",
                        "-CAfile", AUTHORITY.certificate, "-verify_return_error", version,
                        "-verify_hostname", "localhost", "-alpn", "h2,http/1.1", "-ign_eof"], WITH_LOGIN).stdout
            self.assertIn("Verification: OK", said)
            self.assertIn("ALPN protocol: http/1.1", said)
            self.assertRegex(said, r"HTTP/1\.[01] 200 OK")

    def test_gnutls(self):
        if not shutil.which("gnutls-cli"):
            self.skipTest("needs gnutls-cli (Debian package gnutls-bin)")
        for version in ("TLS1.2", "TLS1.3"):
            said = run(["gnutls-cli", "--x509cafile", AUTHORITY.certificate, "--port", DAEMON.port,
                        "--priority", f"NORMAL:-VERS-ALL:+VERS-{version}", "localhost"], WITH_LOGIN).stdout
            self.assertIn("Handshake was completed", said)
            self.assertIn(f"({version}", said)
            self.assertRegex(said, r"HTTP/1\.[01] 200 OK")

    def test_curl(self):
        curl = ["curl", "--silent", "--show-error", "--noproxy", "*", "--include"]
        url = f"https://localhost:{DAEMON.port}/metrics"
        good = run([*curl, "--cacert", AUTHORITY.certificate, "--user", "alice:secret", url])
        self.assertIn("HTTP/1.1 200 OK", good.stdout)
        self.assertRegex(good.stdout, r"\njetmem_http_certificate_expiry_timestamp_seconds 1[0-9.e+]+\n")
        wrong = run([*curl, "--cacert", AUTHORITY.certificate, "--user", "alice:wrong", url])
        self.assertIn("HTTP/1.1 401 Unauthorized", wrong.stdout)
        self.assertIn('WWW-Authenticate: Basic realm="jetmem"', wrong.stdout)
        unknown = run([*curl, url])
        self.assertEqual(unknown.returncode, 60, unknown.stdout)

    def test_plain_http_gets_nothing(self):
        def failures():
            return DAEMON.scrape().value("jetmem_http_tls_handshake_failures_total", reason="other")
        before = failures()
        with at.raw(DAEMON.port) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = b""
            with contextlib.suppress(ConnectionError):
                while chunk := client.recv(4096):
                    reply += chunk
        self.assertNotIn(b"jetmem", reply)
        self.assertGreaterEqual(failures(), before + 1)

    def test_half_a_handshake_costs_no_processor(self):
        clients = [at.raw(DAEMON.port, f"127.0.1.{i // 8 + 1}") for i in range(20)]
        for client in clients:
            client.sendall(b"\x16\x03\x01")
            client.send(b"!", socket.MSG_OOB)
        begin = at.thread_seconds(DAEMON.pid, "jetmem-web")
        time.sleep(1)
        used = at.thread_seconds(DAEMON.pid, "jetmem-web") - begin
        jt.measured("processor in a second beside 20 half handshakes", used)
        self.assertLess(used, 0.2)
        self.assertEqual(DAEMON.request("GET", "/healthz")[0], 200)
        for client in clients:
            client.close()

    def test_slow_and_many_requests_over_tls(self):
        secure = DAEMON.context().wrap_socket(at.raw(DAEMON.port), server_hostname="localhost")
        request = (f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
                   f"{at.basic()['Authorization']}\r\n\r\n").encode()
        for i in range(0, len(request), 7):
            secure.sendall(request[i:i + 7])
        secure.sendall(request * 20)
        seen, pages = b"", 0
        while pages < 21:
            chunk = secure.recv(1 << 16)
            self.assertTrue(chunk)
            pages += (seen[-14:] + chunk).count(b"HTTP/1.1 200 OK")
            seen = chunk
        secure.close()


class ClientCertificates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.strangers = at.Authority(cls, "strangers")
        cls.folder = jt.temp_directory(cls)
        cls.good = AUTHORITY.sign(cls.folder, "good", "prometheus", "DNS:prometheus.example", client=True)
        cls.expired = AUTHORITY.sign(cls.folder, "expired", "old", "DNS:prometheus.example",
                                     valid="expired", client=True)
        cls.stranger = cls.strangers.sign(cls.folder, "stranger", "who", "DNS:prometheus.example", client=True)
        cls.server = AUTHORITY.sign(cls.folder, "as-server", "who", "DNS:prometheus.example")
        cls.daemon = at.SecureDaemon(cls, cls.web("RequireAndVerifyClientCert"), AUTHORITY, user=None, client=cls.good)

    @staticmethod
    def web(kind, authority=None):
        ca = f", client_ca_file: {(authority or AUTHORITY).certificate}" if "Verify" in kind else ""
        return TLS % f", client_auth_type: {kind}{ca}"

    def statuses(self, *clients):
        """For those who show these certificates."""
        def shown(client):
            self.daemon.client = client
            return status(self.daemon)
        out = [shown(client) for client in clients]
        self.daemon.client = self.good
        return out

    def configure(self, kind, lets_in, more=""):
        """`lets_in`: nobody's certificate, a good one, a stranger's."""
        configure(self.daemon, self.web(kind) + more)
        self.wait_for_statuses({None: lets_in[0], self.good: lets_in[1], self.stranger: lets_in[2]})

    def wait_for_statuses(self, wanted):
        jt.wait_for(wanted, lambda: self.statuses(*wanted, *wanted) == [*wanted.values()] * 2)

    def setUp(self):
        self.configure("RequireAndVerifyClientCert", [0, 200, 0])

    def test_the_other_kinds(self):
        for kind, lets_in in (("VerifyClientCertIfGiven", [200, 200, 0]), ("RequireAnyClientCert", [0, 200, 200]),
                              ("RequestClientCert", [200, 200, 200])):
            self.configure(kind, lets_in)

    def test_prometheus_with_tls_password_and_certificate(self):
        self.daemon.user = "alice"
        self.addCleanup(setattr, self.daemon, "user", None)
        self.configure("RequireAndVerifyClientCert", [0, 200, 0], USERS)
        (self.folder / "password").write_text(at.PASSWORD)
        server = servers.Prometheus(self, f"""
scrape_configs:
  - job_name: jetmem
    scrape_interval: 1s
    scheme: https
    tls_config: {{ca_file: {AUTHORITY.certificate}, server_name: localhost,
                 cert_file: {self.good[0]}, key_file: {self.good[1]}}}
    basic_auth: {{username: alice, password_file: {self.folder / "password"}}}
    static_configs: [{{targets: ["127.0.0.1:{self.daemon.port}"]}}]
""")
        jt.wait_for("three good scrapes", lambda: [
            1 for _, count in server.query("sum_over_time(up{job='jetmem'}[1m])") if count >= 3])
        self.assertEqual([value for _, value in server.query("jetmem_http_web_config_ok")], [1])
        # One check, however often it is asked; the test's own requests are with the same password.
        self.assertEqual(self.daemon.scrape().value("jetmem_http_password_checks_total", result="valid"), 1)

    def test_required_and_verified(self):
        def refused():
            return self.daemon.scrape().value("jetmem_http_tls_handshake_failures_total", reason="client_certificate")
        daemon, before = self.daemon, refused()
        self.assertEqual(self.statuses(self.good, None, self.expired, self.stranger, self.server), [200, 0, 0, 0, 0])
        self.assertEqual(refused(), before + 4)
        daemon.wait_for_log("127.0.0.1 was refused for its client certificate: it has none")
        # Another CA: a connection that the old one let in ends.
        kept = daemon.connection()
        kept.request("GET", "/healthz")
        kept.getresponse().read()
        configure(daemon, self.web("RequireAndVerifyClientCert", self.strangers))
        self.wait_for_statuses({self.stranger: 200, self.good: 0})
        with self.assertRaises((http.client.HTTPException, ConnectionError, ssl.SSLError)):
            kept.auto_open = 0
            kept.request("GET", "/healthz")
            kept.getresponse()
        kept.close()

    def test_gnutls_and_openssl_clients(self):
        asked = HEALTH + "\r\n"
        openssl = ["openssl", "s_client", "-connect", f"127.0.0.1:{self.daemon.port}", "-CAfile",
                   AUTHORITY.certificate, "-ign_eof"]
        good = run([*openssl, "-cert", self.good[0], "-key", self.good[1]], asked)
        self.assertRegex(good.stdout, r"HTTP/1\.[01] 200 OK")
        bad = run([*openssl, "-cert", self.stranger[0], "-key", self.stranger[1]], asked)
        self.assertNotIn("200 OK", bad.stdout)
        self.assertIn("alert bad certificate", bad.stdout)
        if not shutil.which("gnutls-cli"):
            self.skipTest("needs gnutls-cli (Debian package gnutls-bin)")
        gnutls = ["gnutls-cli", "--x509cafile", AUTHORITY.certificate, "--port", self.daemon.port, "localhost"]
        good = run([*gnutls, "--x509certfile", self.good[0], "--x509keyfile", self.good[1]], asked)
        self.assertRegex(good.stdout, r"HTTP/1\.[01] 200 OK")
        self.assertNotIn("200 OK", run(gnutls, asked).stdout)


class Reload(unittest.TestCase):
    def setUp(self):
        self.folder = jt.temp_directory(self)
        self.addCleanup(self.put_back)

    def put_back(self):
        DAEMON.authority, DAEMON.user = AUTHORITY, "alice"
        configure(DAEMON, TLS % "" + USERS)
        jt.wait_for("it is as it was", lambda: [status(DAEMON) for _ in range(3)] == [200] * 3)

    def connected(self):
        connection = DAEMON.connection()
        try:
            connection.connect()
        except (ssl.SSLEOFError, ConnectionError):
            connection.close()
            return None
        return connection

    def asks(self, connection):
        connection.request("GET", "/healthz", headers=at.basic())
        response = connection.getresponse()
        response.read()
        return response.status

    def serial(self):
        """Of the certificate shown to a new connection; a handshake that meets the change is cut off and
        tried again, as a client does."""
        connection = jt.wait_for("a handshake", self.connected)
        serial = at.serial_of(connection)
        connection.close()
        return serial

    def test_a_new_certificate(self):
        kept = DAEMON.connection()
        self.assertEqual(self.asks(kept), 200)
        first = at.serial_of(kept)
        certificate, key = AUTHORITY.sign(self.folder, "new")
        begin = time.monotonic()
        DAEMON.replace("server.crt", certificate)
        DAEMON.replace("server.key", key)
        # Without being asked to, within seconds.
        jt.wait_for("the new one is shown", lambda: self.serial() != first, 30)
        jt.measured("a new certificate is seen", time.monotonic() - begin)
        # A client with an open connection connects again, as HTTP clients do.
        kept.close()
        self.assertEqual(self.asks(kept), 200)
        self.assertNotEqual(at.serial_of(kept), first)
        kept.close()
        self.assertEqual(DAEMON.scrape().value("jetmem_http_web_config_ok"), 1)

    def test_min_version(self):
        configure(DAEMON, TLS % ", min_version: TLS13" + USERS)
        jt.wait_for("no older one", lambda: all("refused" in handshake(maximum=ssl.TLSVersion.TLSv1_2) for _ in "12"))
        self.assertEqual(handshake(), "TLSv1.3")

    def test_a_broken_one_changes_nothing(self):
        before = DAEMON.scrape().value("jetmem_http_web_config_loads_total", result="failed")
        first = self.serial()
        good = (DAEMON.web / "server.crt").read_bytes()
        DAEMON.replace("server.crt", AUTHORITY.certificate)
        DAEMON.reload()
        DAEMON.wait_for_log(r"server\.key: is not the key of the certificate")
        DAEMON.wait_for_log("the web configuration is refused; the one in force is kept")
        page = DAEMON.wait_for_page("it is reported", lambda p: p.value("jetmem_http_web_config_ok") == 0)
        self.assertGreater(page.value("jetmem_http_web_config_loads_total", result="failed"), before)
        self.assertEqual(self.serial(), first)
        (DAEMON.web / "server.crt").write_bytes(good)
        DAEMON.reload()
        DAEMON.wait_for_page("good again", lambda p: p.value("jetmem_http_web_config_ok") == 1)

    def test_other_users_and_no_tls(self):
        kept = DAEMON.connection()
        self.assertEqual(self.asks(kept), 200)
        configure(DAEMON, TLS % "" + f"basic_auth_users:\n  bob: {at.ALICE}\n")
        # At once, also on connections that are open.
        jt.wait_for("alice is out", lambda: self.asks(kept) == 401)
        kept.close()
        DAEMON.user = "bob"
        self.assertEqual(status(DAEMON), 200)
        # Where TLS is taken away by hand it is gone, on the same port.
        configure(DAEMON, f"basic_auth_users:\n  bob: {at.ALICE}\n")
        DAEMON.authority = None
        jt.wait_for("plain HTTP", lambda: status(DAEMON) == 200)

    def test_a_made_hash_opens(self):
        made = run([jt.JETMEM, "hash-password"], "correct horse\n").stdout
        configure(DAEMON, TLS % "" + f"basic_auth_users:\n  carol: {made}")
        jt.wait_for("carol is let in", lambda: DAEMON.request(
            "GET", "/healthz", at.basic("carol", "correct horse"))[0] == 200)
        self.assertEqual(DAEMON.request("GET", "/healthz", at.basic("carol", "correct"))[0], 401)


class Command(unittest.TestCase):
    """jetmem asks a daemon behind TLS and a password."""

    @classmethod
    def setUpClass(cls):
        DAEMON.wait_until_read()
        cls.url = f"https://localhost:{DAEMON.port}"
        cls.password = jt.temp_directory(cls) / "password"
        cls.password.write_text(at.PASSWORD + "\n")

    def jetmem(self, *arguments, **environment):
        return run([jt.JETMEM, *arguments], environment=environment)

    def test_it_is_let_in(self):
        access = ("--daemon", self.url, "--cacert", AUTHORITY.certificate, "--user", "alice")
        for command in ("status", "doctor", "alerts", "history", "top", "cma"):
            said = self.jetmem(command, *access, "--password-file", self.password)
            self.assertIn(said.returncode, (0, 1, 2, 3), said.stdout)
            self.assertNotIn("no daemon answers", said.stdout)
            # But for the login's options in the commands that are suggested.
            text = said.stdout.replace(str(self.password), "").replace("--password-file", "")
            self.assertNotRegex(text, r"certificate|password")
        said = self.jetmem("status", "--json", *access, JETMEM_PASSWORD=at.PASSWORD)
        self.assertEqual(json.loads(said.stdout)["from"]["at"], self.url)

    def test_what_is_wrong_is_said(self):
        cacert = ("--cacert", AUTHORITY.certificate)
        user = ("--user", "alice", "--password-file", self.password)
        cases = [
            ((self.url, *user), "its certificate is not trusted: "),
            ((self.url, *cacert), "it requires a user and password"),
            ((self.url, *cacert, "--user", "bob", "--password-file", self.password),
             "user or password rejected"),
            ((self.url, *cacert, "--user", "alice"), "--user needs a password"),
            ((self.url, *cacert, "--user", "alice:secret"), "--user takes the name alone"),
            ((self.url, "--cacert", "/none"), "--cacert /none cannot be used"),
            ((self.url.replace("https://", "https://alice:secret@"), *cacert),
             "can be seen by everybody on this machine"),
            ((self.url + "/metrics", *cacert), "has a path; name the daemon alone"),
            ((self.url.replace("https", "http"), *user), "If it speaks TLS, write --daemon https"),
            ((f"127.0.0.1:{DAEMON.port}", *cacert), "belong to TLS; write --daemon https://"),
            ((self.url.replace("localhost", "[::ffff:127.0.0.1]"), *cacert, *user),
             "by a name that its certificate has"),
        ]
        for arguments, message in cases:
            said = self.jetmem("alerts", "--daemon", *arguments)
            self.assertIn(message, said.stdout.replace("\n", " "), arguments)
            self.assertNotEqual(said.returncode, 0)
            self.assertNotIn(at.PASSWORD, said.stdout)
        said = self.jetmem("alerts", *cacert)
        self.assertIn("--cacert requires --daemon", said.stdout)
        said = self.jetmem("alerts", "--daemon", f"https://127.0.0.1:{servers.serve(self, servers.Handler)}")
        self.assertIn("if it speaks plain HTTP, write --daemon http://", said.stdout)

    def test_hash_password(self):
        made = run([jt.JETMEM, "hash-password"], "correct horse\n")
        self.assertEqual(made.returncode, 0, made.stdout)
        self.assertRegex(made.stdout, r"^\$2b\$10\$[./A-Za-z0-9]{53}\n$")
        self.assertNotEqual(made.stdout, run([jt.JETMEM, "hash-password"], "correct horse").stdout)
        self.assertRegex(run([jt.JETMEM, "hash-password", "--cost", "8"], "x").stdout, r"^\$2b\$08")
        for text in ("", "\n", "x" * 73, "a\0b\n"):
            self.assertEqual(run([jt.JETMEM, "hash-password"], text).returncode, 66 if not text.strip() else 65, repr(text))
        self.assertEqual(run([jt.JETMEM, "hash-password", "--cost", "15"], "x").returncode, 64)
        # It is taken.
        web = jt.temp_directory(self) / "web.yaml"
        web.touch(0o640)
        web.write_text(f"basic_auth_users:\n  alice: {made.stdout}")
        settings = web.with_name("jetmem.yaml")
        settings.write_text(f"http: {{web_config: {web}}}\n")
        checked = run([jt.JETMEM, "config", "check", settings])
        self.assertEqual((checked.returncode, checked.stdout), (0, "ok\n"))
        web.chmod(0o644)
        checked = run([jt.JETMEM, "config", "check", settings])
        self.assertEqual(checked.returncode, 0)
        self.assertIn(f"{web}: holds secrets and can be read by every user", checked.stdout)


class Descriptors(unittest.TestCase):
    MANY = jt.FAST + "http: {max_connections: 1024, max_connections_per_client: 1024}\n"

    def daemon(self, soft, hard):
        return jt.Daemon(self, self.MANY, prefix=["prlimit", f"--nofile={soft}:{hard}"])

    def test_descriptors_are_kept_for_other_work(self):
        daemon = self.daemon(600, 600)
        daemon.wait_until_read()
        self.assertRegex(daemon.log(), r"warning http\.max_connections: 326 instead of 1024: .*LimitNOFILE=1298")
        held = jt.silent_clients(self, daemon.port, 400)
        page = daemon.scrape()
        self.assertGreater(page.value("jetmem_http_connections"), 300)
        self.assertEqual(page.value("jetmem_http_accept_failures_total"), 0)
        self.assertEqual(page.value("jetmem_process_max_fds", process="jetmemd"), 600)
        # With all of them taken another reader is started.
        starts = page.value("jetmem_reader_starts_total")
        for pid in daemon.readers():
            os.kill(pid, signal.SIGKILL)
        daemon.wait_for_page("another reader", lambda p: p.value("jetmem_reader_starts_total") > starts and
                             p.state("kernel_log") != "failed")
        jt.wait_for("it runs", daemon.readers)
        del held

    def test_the_soft_limit_is_raised(self):
        daemon = self.daemon(100, 4096)
        self.assertNotIn("http.max_connections:", daemon.log())
        self.assertEqual(daemon.scrape().value("jetmem_process_max_fds", process="jetmemd"), 1298)


if __name__ == "__main__":
    jt.main()
