# SPDX-License-Identifier: Apache-2.0
"""Something else where a source's file was: an error of that source alone.

On a copy of a fixture, files that sources read are replaced, each by another thing at a time; the
daemon on it must lose those sources and nothing else, stay small, and find back by itself.
"""

import os
import random
import re
import shutil
import socket
import typing
import unittest

import jetmem_testing as jt

BOARD = "orin-nano-8gb"
# The file whose loss is the loss of the whole source.
FILES = {
    "meminfo": "proc/meminfo",
    "zoneinfo": "proc/zoneinfo",
    "buddyinfo": "proc/buddyinfo",
    "vmstat": "proc/vmstat",
    "pagetypeinfo": "proc/pagetypeinfo",
}
PREFIX = {
    "meminfo": "jetmem_meminfo_",
    "zoneinfo": "jetmem_zone_",
    "buddyinfo": "jetmem_buddy_free_b",
    "vmstat": "jetmem_vmstat_",
    "pagetypeinfo": "jetmem_pagetype_",
}
MAX_GROWTH = 20 << 20


class Attack(typing.NamedTuple):
    """What stands in the file's place, and what must come of it."""

    name: str
    place: typing.Callable      # (path, the good text, a folder outside of the tree)
    states: list                # the source is in one of these then
    reasons: tuple = ()         # and if failed, for one of these


def _directory(path, _good, _outside):
    path.mkdir()
    (path / "meminfo").write_text("MemTotal: 1 kB\n")


def _socket(path, _good, _outside):
    # Bound by its short name: a socket's path has a bound.
    server = socket.socket(socket.AF_UNIX)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        server.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)
        server.close()


def _link_out(path, good, outside):
    # Good text, but not of this tree.
    target = outside / "good-text-elsewhere"
    target.write_bytes(good)
    path.symlink_to(os.path.relpath(target, path.parent))


def _sparse_gigabyte(path, _good, _outside):
    with open(path, "wb") as file:
        file.truncate(1 << 30)


def writes(content):
    """Of a function from the good bytes to those that stand there."""
    return lambda path, good, _outside: path.write_bytes(content(good))


def links(target):
    return lambda path, _good, _outside: path.symlink_to(target or path.name)


BAD = ("malformed", "too_large")
ATTACKS = (
    Attack("directory", _directory, ["failed"], ["not_regular"]),
    Attack("fifo", lambda path, _good, _outside: os.mkfifo(path), ["failed"], ["not_regular"]),
    Attack("socket", _socket, ["failed"], ["not_regular"]),
    Attack("symlink_loop", links(None), ["failed"], ["io"]),
    Attack("sparse_gigabyte", _sparse_gigabyte, ["failed"], BAD),
    Attack("megabyte_of_noise", writes(lambda _: random.Random(1).randbytes(1 << 20)), ["failed"], BAD),
    Attack("noise", writes(lambda _: random.Random(2).randbytes(10_000)), ["failed"], BAD),
    Attack("one_long_line", writes(lambda good: good.split(b"\n")[0] + b" " * 200_000 + b"9" * 20_000),
           ["failed"], BAD),
    Attack("empty", writes(lambda _: b""), ["failed"], BAD),
    # What a text mode transfer or a full disk leaves: an error, or as much as is still true.
    Attack("crlf", writes(lambda good: good.replace(b"\n", b"\r\n")), ["failed", "ok"], BAD),
    Attack("cut_off", writes(lambda good: good[:len(good) // 2]), ["failed", "ok"], BAD),
)
# Not there, as far as this tree goes.
ABSENCES = (
    Attack("link_to_passwd", links("/etc/passwd"), ["absent"]),
    Attack("link_out", _link_out, ["absent"]),
    Attack("link_to_fd", links("/proc/self/fd/0"), ["absent", "failed"], ["io"]),
    Attack("missing", lambda path, good, outside: None, ["absent"]),
)


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def own_samples(page, source):
    return {key: value for key, value in page.samples.items() if key[0].startswith(PREFIX[source])}


class UnderAttack(unittest.TestCase):
    def setUp(self):
        self.root = jt.copy_of_fixture(self, BOARD)
        self.outside = jt.temp_directory(self)

    def place(self, attack, source):
        """At once: were the file gone for a moment, it would be absent, and asked for again a minute later."""
        path = self.root / FILES[source]
        staged = path.parent / "staged" / path.name
        staged.parent.mkdir()
        attack.place(staged, (jt.FIXTURES / BOARD / FILES[source]).read_bytes(), self.outside)
        jt.exchange(staged, path)
        shutil.rmtree(staged.parent)

    def put_back(self, source):
        path = self.root / FILES[source]
        good = path.with_name(path.name + ".new")
        shutil.copyfile(jt.FIXTURES / BOARD / FILES[source], good)
        jt.exchange(good, path)
        remove(good)

    def check_others(self, before, page, sources):
        """All sources that do not read these files are as before."""
        shared = {*sources, "cma"} if "meminfo" in sources else set(sources)
        for name in set(page.sources()) - shared:
            self.assertEqual(page.state(name), before.state(name), name)
            self.assertEqual(page.value("jetmem_source_stale", source=name), 0, name)

    def check_values(self, before, page, source):
        """Whatever was still read is what the good file says."""
        good = own_samples(before, source)
        for key, value in own_samples(page, source).items():
            self.assertEqual(value, good.get(key), key)

    def check_attacks(self, daemon, before, attacks):
        """attacks: {source: what stands in its place}"""
        page = daemon.scrape()
        reads = {source: page.value("jetmem_source_reads_total", source=source) for source in attacks}
        errors = {(source, reason): page.errors(source, reason)
                  for source, attack in attacks.items() for reason in attack.reasons}
        for source, attack in attacks.items():
            self.place(attack, source)

        def settled(page):
            # Not one value is left of what failed, 0 least of all, once it is stale.
            return all(page.state(source) in attack.states and
                       page.value("jetmem_source_reads_total", source=source) >= reads[source] + 2 and
                       (page.state(source) == "ok" or page.value("jetmem_source_stale", source=source) == 1)
                       for source, attack in attacks.items())
        page = daemon.wait_for_page(f"under attack: {attacks}", settled)
        self.check_others(before, page, attacks)
        for source, attack in attacks.items():
            with self.subTest(source=source, attack=attack.name):
                if page.state(source) == "failed":
                    self.assertTrue([r for r in attack.reasons if page.errors(source, r) > errors[source, r]],
                                    page.series("jetmem_source_errors_total", source=source))
                    self.assertEqual(own_samples(page, source), {})
                else:
                    self.check_values(before, page, source)
            self.put_back(source)
        self.assertEqual(daemon.request("GET", "/healthz")[0], 200)
        page = daemon.wait_for_page(f"it recovers from {attacks}", lambda p: all(
            p.state(source) == "ok" and p.value("jetmem_source_stale", source=source) == 0 and
            own_samples(p, source) == own_samples(before, source) for source in attacks))
        self.check_others(before, page, attacks)

    def test_each_source_under_each_attack(self):
        sources = ("meminfo", "zoneinfo", "buddyinfo", "vmstat")
        daemon = jt.Daemon(self, jt.FAST, root=self.root)
        before = daemon.wait_until_read()
        self.assertEqual(jt.unexpected_states(before, BOARD), {})
        for source in sources:
            self.assertTrue(own_samples(before, source))
        rss = jt.resident_bytes(daemon.pid)
        worst = 0
        turns = (*ATTACKS, None)
        for turn in range(len(turns)):
            # Each by another kind at a time, so that none is taken for the other's; once each is left alone.
            attacks = {source: turns[(turn + 3 * number) % len(turns)] for number, source in enumerate(sources)}
            self.check_attacks(daemon, before, {source: attack for source, attack in attacks.items() if attack})
            worst = max(worst, jt.resident_bytes(daemon.pid) - rss)
        print(f"\nmeasured: RSS grew by at most {worst >> 10} KiB under {len(ATTACKS)} attacks on "
              f"{len(sources)} sources", file=jt.sys.stderr)
        self.assertLess(worst, MAX_GROWTH)
        # One line per change, up to the bound for a source that keeps changing.
        for source in sources:
            self.assertLessEqual(len(re.findall(rf"(info|warning) source {source}: ", daemon.log())), 7, daemon.log())
        self.assertEqual(daemon.stop()[0], 0)

    def test_pagetypeinfo(self):
        # The daemon asks for it only once a minute, so here the command does: the same reader.
        path = self.root / FILES["pagetypeinfo"]
        good = path.read_bytes()

        def page():
            shown = jt.run([jt.JETMEM, "metrics", "--root", self.root, "--only", "pagetypeinfo,buddyinfo"])
            self.assertEqual(shown.returncode, 0, shown.stderr)
            return jt.Page(shown.stdout), shown.stderr
        before, _ = page()
        for attack in ATTACKS + ABSENCES:
            with self.subTest(attack=attack.name):
                remove(path)
                attack.place(path, good, self.outside)
                now, said = page()
                self.assertIn(now.state("pagetypeinfo"), attack.states, said)
                self.assertEqual(now.state("buddyinfo"), "ok")
                if now.state("pagetypeinfo") == "ok":
                    self.check_values(before, now, "pagetypeinfo")
                else:
                    self.assertEqual(own_samples(now, "pagetypeinfo"), {})
                if now.state("pagetypeinfo") == "failed":
                    self.assertIn("jetmem metrics: pagetypeinfo: failed: ", said)
        remove(path)
        path.write_bytes(good)
        self.assertEqual(own_samples(page()[0], "pagetypeinfo"), own_samples(before, "pagetypeinfo"))

    def test_a_number_that_was_cut_off(self):
        # What a full disk leaves of a copied file: the last number may have lost digits. Then there is no value, never
        # a wrong one. Of procfs' files: their parsers' tests.
        for source, name in (("cma", "sys/kernel/debug/cma/cma-linux,cma/used"),
                             ("thermal", "sys/class/thermal/thermal_zone0/temp")):
            with self.subTest(source=source):
                def samples(of=source):
                    return jt.Page(jt.run([jt.JETMEM, "metrics", "--root", self.root, "--only", of]).stdout).samples
                path, before = self.root / name, samples()
                good = path.read_bytes()
                path.write_bytes(good.rstrip()[:-1])
                self.assertEqual({key[0]: value for key, value in samples().items()
                                  if not key[0].startswith("jetmem_source_") and before.get(key) != value}, {})
                path.write_bytes(good)

    def test_one_file_of_many(self):
        # A zone, an area, a resource less is an absent value of a source that is fine.
        daemon = jt.Daemon(self, jt.FAST, root=self.root)
        before = daemon.wait_until_read()
        lost = (("thermal", "sys/class/thermal/thermal_zone0/temp", {"zone": "cpu-thermal", "index": "0"},
                 "jetmem_thermal_zone_celsius"),
                ("cma", "sys/kernel/debug/cma/cma-linux,cma/maxchunk", {"area": "linux,cma"},
                 "jetmem_cma_largest_free_run_bytes"),
                ("pressure", "proc/pressure/io", {"resource": "io", "kind": "some", "window": "10s"},
                 "jetmem_pressure_stall_ratio"))

        def absent(page, source):
            return sum(value for _, value in page.series("jetmem_source_absent_values", source=source))
        for _, _, labels, metric in lost:
            self.assertIsNotNone(before.value(metric, **labels))
        for attack in ATTACKS:
            if attack.name in ("crlf", "cut_off", "one_long_line"):
                continue  # may be a good number
            with self.subTest(attack=attack.name):
                for _, name, _, _ in lost:
                    remove(self.root / name)
                    attack.place(self.root / name, (jt.FIXTURES / BOARD / name).read_bytes(), self.outside)
                page = daemon.wait_for_page("they are lost", lambda p: all(
                    p.value(metric, **labels) is None for _, _, labels, metric in lost))
                self.check_others(before, page, ())
                for source, name, _, _ in lost:
                    self.assertGreater(absent(page, source), absent(before, source))
                    remove(self.root / name)
                    jt.replace_file(self.root / name, (jt.FIXTURES / BOARD / name).read_bytes())
                daemon.wait_for_page("they are back", lambda p: all(
                    p.value(metric, **labels) == before.value(metric, **labels) for _, _, labels, metric in lost))

    def test_a_file_of_no_permission(self):
        # Root may read everything, so this daemon is nobody.
        options = {}
        if os.geteuid() == 0:
            try:
                jt.run([jt.JETMEMD, "--version"], user=jt.NOBODY, group=jt.NOBODY, extra_groups=[])
            except PermissionError:
                self.skipTest(f"needs a {jt.JETMEMD} that the user nobody can run, too")
            options = {"user": jt.NOBODY}
        daemon = jt.Daemon(self, jt.FAST, root=self.root, **options)
        before = daemon.wait_until_read()
        self.assertEqual(jt.unexpected_states(before, BOARD), {})
        for source in ("vmstat", "zoneinfo"):
            (self.root / FILES[source]).chmod(0)
            page = daemon.wait_for_page(f"{source} is denied",
                                        lambda p, s=source: p.state(s) == "denied")
            self.assertEqual(own_samples(page, source), {})
            daemon.wait_for_log(rf"warning source {source}: denied: .*Permission denied")
        self.assertEqual(sorted(jt.unexpected_states(page, BOARD)), ["vmstat", "zoneinfo"])
        self.assertEqual(daemon.request("GET", "/readyz")[0], 200)

    def test_not_ready_without_any_cheap_source(self):
        daemon = jt.Daemon(self, jt.FAST, root=self.root)
        daemon.wait_until_read()
        for name in ("meminfo", "zoneinfo", "buddyinfo", "vmstat", "pressure"):
            self.assertEqual(daemon.request("GET", "/readyz")[0], 200)
            remove(self.root / "proc" / name)
        jt.wait_for("not ready", lambda: daemon.request("GET", "/readyz")[0] == 503)
        # It lives all the same, and says what it sees.
        self.assertEqual(daemon.request("GET", "/healthz")[0], 200)
        # The page is made anew at the next sampling, readiness is reported at once.
        daemon.wait_for_page("all are absent", lambda p: {p.state(source) for source in jt.CHEAP} == {"absent"})

    def test_the_tree_vanishes(self):
        daemon = jt.Daemon(self, jt.FAST, root=self.root)
        daemon.wait_until_read()
        shutil.rmtree(self.root)
        page = daemon.wait_for_page("nothing is left", lambda p: not {
            key[0] for key in p.samples} & {"jetmem_meminfo_MemTotal_bytes",
                                            "jetmem_thermal_zone_celsius"})
        self.assertNotIn("ok", [page.state(source) for source in jt.CHEAP])
        daemon.check_stops(self, "SIGTERM to end after the tree vanished")


class WhatWasAbsentComesBack(unittest.TestCase):
    """What is absent is looked for once a minute: three seconds of this daemon's."""

    def test_absent_then_back(self):
        root, outside = jt.copy_of_fixture(self, BOARD), jt.temp_directory(self)
        daemon = jt.Daemon(self, root=root, arguments=("--speed", 20))
        before = daemon.wait_until_read()
        absences = dict(zip(("vmstat", "zoneinfo", "buddyinfo", "pagetypeinfo"), ABSENCES))
        for source, attack in absences.items():
            path = root / FILES[source]
            good = path.read_bytes()
            remove(path)
            attack.place(path, good, outside)
        page = daemon.wait_for_page("absent", lambda p: all(
            p.state(source) in attack.states for source, attack in absences.items()))
        self.assertEqual(set(jt.unexpected_states(page, BOARD)), set(absences))
        for source in absences:
            if page.state(source) == "absent":
                self.assertEqual(own_samples(page, source), {})
            jt.replace_file(root / FILES[source], (jt.FIXTURES / BOARD / FILES[source]).read_bytes())
        now = daemon.wait_for_page("back", lambda p: not jt.unexpected_states(p, BOARD))
        for source in absences:
            self.assertEqual(own_samples(now, source), own_samples(before, source))


if __name__ == "__main__":
    jt.main()
