# SPDX-License-Identifier: Apache-2.0
"""What the tests of access share: certificates made by openssl, and a daemon behind TLS and
passwords."""

import base64
import http.client
import os
import pathlib
import socket
import ssl

import jetmem_testing as jt

# Of the password "secret", with costs 10 and 4: made once, as making one takes as long as a check.
ALICE = "$2y$10$DJCsSKCmH.oyxVX0WdGQPOS79nZy8q8ZgWZgYHkV03mPqvrQN5Dku"
PASSWORD = "secret"


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout")


def openssl(*arguments, **options):
    done = jt.run(["openssl", *arguments], **options)
    if done.returncode != 0:
        raise AssertionError(f"openssl {arguments}: {done.stderr}")
    return done.stdout


class Authority:
    """A CA in a folder of its own, and what it signs."""

    def __init__(self, test, name="test CA"):
        self.folder = jt.temp_directory(test)
        self.certificate = self.folder / "ca.crt"
        openssl("req", "-x509", *NEW_KEY, "ca.key", "-out", "ca.crt", "-subj", f"/CN={name}", "-days", "30",
                cwd=self.folder)

    def sign(self, folder, name, subject="localhost", sans="DNS:localhost,IP:127.0.0.1",
             valid="", client=False):
        """NAME.crt and NAME.key in the folder. `valid`: "expired", else from now on."""
        folder = pathlib.Path(folder)
        extensions, request, key = self.folder / "extensions", self.folder / f"{name}.csr", folder / f"{name}.key"
        usage = "clientAuth" if client else "serverAuth"
        extensions.write_text(f"subjectAltName={sans}\nextendedKeyUsage={usage}\nbasicConstraints=CA:FALSE\n")
        openssl("req", *NEW_KEY, key, "-out", request, "-subj", f"/CN={subject}")
        command = ["x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.folder / "ca.key",
                   "-CAcreateserial", "-extfile", extensions, "-out", folder / f"{name}.crt"]
        # -1 day: it has expired before it was made.
        openssl(*command, "-days", "-1" if valid == "expired" else "10")
        key.chmod(0o600)
        return folder / f"{name}.crt", key


def basic(user="alice", password=PASSWORD):
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


class SecureDaemon(jt.Daemon):
    """A jetmemd whose port wants TLS (with `authority`) or a password (`user`), or both."""

    def __init__(self, test, web, authority=None, user="alice", settings="", client=None,
                 certificate="server", **options):
        """`web`: the web configuration, in a folder that has server.crt and server.key.
        `client`: (certificate, key) to show."""
        self.web = jt.temp_directory(test)
        self.web_file = self.web / "web.yaml"
        self.authority = authority
        self.user = user
        self.client = client
        if authority is not None:
            authority.sign(self.web, certificate)
        self.web_file.write_text(web)
        # Of another section on top of what the test asks for: maps of files are merged.
        extra = jt.temp_directory(test) / "web-settings.yaml"
        extra.write_text(f"http: {{web_config: {self.web_file}}}\n")
        arguments = ["--config", extra, *options.pop("arguments", ())]
        super().__init__(test, settings, arguments=arguments, **options)

    def context(self):
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        if self.client:
            context.load_cert_chain(*map(str, self.client))
        return context

    def connection(self, seconds=jt.PATIENCE, source=None):
        if self.authority is None:
            return super().connection(seconds, source)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=seconds, context=self.context(),
                                           source_address=source and (source, 0))

    def request(self, method, path, headers=None, seconds=jt.PATIENCE, source=None):
        login = basic(self.user) if self.user else {}
        return super().request(method, path, {**login, **(headers or {})}, seconds, source)

    def replace(self, name, source):
        """Puts a file of the web configuration in place, by rename."""
        jt.replace_file(self.web / name, pathlib.Path(source).read_bytes())


def serial_of(connection):
    """Of the certificate that a connected HTTPSConnection was shown."""
    return connection.sock.getpeercert()["serialNumber"]


def thread_seconds(pid, name):
    """CPU time of the threads of that name."""
    ticks = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().strip() != name:
                continue
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def raw(port, source="127.0.0.1", seconds=jt.PATIENCE):
    client = socket.socket()
    client.settimeout(seconds)
    client.bind((source, 0))
    client.connect(("127.0.0.1", port))
    return client
