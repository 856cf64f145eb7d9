# SPDX-License-Identifier: Apache-2.0
"""The kernel log: a record, a storm, and how soon the journal has a fault."""

import ctypes
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import time

from measure.accounting import cpu_us, memory_mib, wakeups
from measure.jetmemd import Jetmemd
from measure.scraper import Client, percentile

STAND_IN = pathlib.Path(__file__).parents[2] / "integration/fake_kmsg.py"
SO_SNDBUFFORCE = 32


def fault(number, device):
    return (f"3,{number},{int(time.monotonic() * 1e6)},-;arm-smmu {device}.iommu: Unhandled context "
            f"fault: fsr=0x402, iova=0x{number * 4096:x}, fsynr=0x6f0013, cbfrsynra=0x835, cb=2\n").encode()


class FedDaemon:
    """A jetmemd whose /dev/kmsg is a socket of the same semantics, which takes records as fast as they come
    (the device itself takes some ten injected lines in five seconds)."""

    def __init__(self, build, directory, settings="", **given):
        feed, reader = os.path.join(directory, "feed"), os.path.join(directory, "reader")
        with open(reader, "w") as f:
            f.write(f"#!/bin/sh\nexec {sys.executable} {STAND_IN} {feed}\n")
        os.chmod(reader, 0o755)
        self.feed, self.jetmemd, self.ring = feed, None, None
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(feed)
                listener.listen()
                self.jetmemd = Jetmemd(build, directory, f'reader: {{program: "{reader}", socket: ""}}\n' + settings, **given)
                listener.settimeout(10)
                self.ring, _ = listener.accept()
                try:
                    self.ring.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)
                except PermissionError:  # not root: it waits more often
                    self.ring.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 20)
                filled, _ = listener.accept()
            filled.send(b"!")
            filled.close()
        except BaseException:
            self.stop()
            raise

    def wait_until_counted(self, faults):
        client = Client(self.jetmemd.address)
        counted = f'kind="smmu_context_fault",origin="system"}} {faults}\n'.encode()
        for _ in range(600):
            client.scrape()
            if faults == 0 or counted in client.body:
                return client.close()
            time.sleep(0.05)
        raise RuntimeError(f"{faults} faults were not counted within 30 s")

    def stop(self):
        if self.ring:
            self.ring.close()
        if self.jetmemd:
            self.jetmemd.stop()
        os.unlink(self.feed)


def kernel_log(table, build, directory):
    table.section("Kernel log: CPU a record, against a C loop that finds its number and its end")
    out = subprocess.run([os.path.join(build, "tests/bench/bench_kernel_log")], check=True, text=True,
                         capture_output=True).stdout
    for line in out.splitlines():
        name, floor, jetmem = line.split("\t")
        if name.startswith("allocations"):
            table.row(name, float(jetmem), target=0, digits=0)
        else:
            table.row(name, float(jetmem), "ns", None if floor == "-" else float(floor), 1000, digits=0)
    storm(table, build, directory)


def storm(table, build, directory, records=100_000):
    fed = FedDaemon(build, directory)
    try:
        for i in range(1000):
            fed.ring.send(fault(i, 12000000 + i % 3))
        time.sleep(2)
        pid = fed.jetmemd.pid
        def used():
            return cpu_us([pid]), wakeups([pid]), memory_mib(pid)["Anon"]
        before, begin = used(), time.monotonic()
        for i in range(1000, 1000 + records):
            fed.ring.send(fault(i, 12000000 + i % 3))
        fed.wait_until_counted(records + 1000)
        seconds = time.monotonic() - begin
        cpu, wakes, rss = (a - b for a, b in zip(used(), before))
        table.row(f"jetmemd, {records} fault records: CPU a record", cpu / records * 1000, "ns", digits=0)
        table.row("  on the wall, feeding included", seconds, "s", digits=2)
        table.row("  wake-ups a second, scrapes included", wakes / seconds, digits=0)
        table.row("  growth of its RssAnon", rss, "MiB", target=1, digits=2)
    finally:
        fed.stop()


def latency(table, build, directory, faults=1000):
    """From a record in the kernel's log to its entry at journald's socket, and from the start to a first page."""
    table.section("How soon")
    if os.geteuid() != 0:
        table.not_run("fault to journal", "takes root: journald's socket is stood in for in a mount namespace")
    else:
        out = subprocess.run([sys.executable, "-B", "-m", "measure.kernel_log", build, directory, str(faults)],
                             cwd=pathlib.Path(__file__).parents[1], capture_output=True, text=True)
        if out.returncode != 0:
            raise RuntimeError("fault to journal: " + out.stderr[-300:])
        times = [float(each) for each in out.stdout.split()]
        if len(times) != faults:
            raise RuntimeError(f"{len(times)} entries for {faults} faults")
        table.row(f"{faults} faults, record to journal: p50", percentile(times, 50), "ms", digits=2)
        table.row(f"{faults} faults, record to journal: p99", percentile(times, 99), "ms", target=100, digits=2)
        table.row(f"{faults} faults, record to journal: the slowest", max(times), "ms", digits=2)
    firsts = [first_sample(build, directory) for _ in range(20)]
    table.row("start to a first page with values: p50 of 20", percentile(firsts, 50), "ms")
    table.row("start to a first page with values: the slowest of 20", max(firsts), "ms", target=200)


def first_sample(build, directory):
    begin = time.monotonic()
    jetmemd = Jetmemd(build, directory, settle=0)
    try:
        while time.monotonic() < begin + 10:
            client = Client(jetmemd.address)
            client.scrape(keep=False)
            if re.search(rb"^jetmem_meminfo_MemAvailable_bytes \d", client.body, re.M):
                return (time.monotonic() - begin) * 1000
            time.sleep(0.002)
        raise RuntimeError("no values within 10 s of the start")
    finally:
        jetmemd.stop()


def faults_to_journal(build, directory, faults):
    """The journal takes 30 entries a minute from the kernel's events, the rest as digests: so, thirty for
    each daemon, each of another SMMU, at moments of chance."""
    libc = ctypes.CDLL(None, use_errno=True)
    CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) or \
            libc.mount(b"tmpfs", b"/run", b"tmpfs", 0, b"size=16m"):
        raise OSError(ctypes.get_errno(), "no mount namespace")
    os.makedirs("/run/systemd/journal")
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind("/run/systemd/journal/socket")
    journal.settimeout(10)
    chance = random.Random(7)
    left = faults
    while left > 0:
        fed = FedDaemon(build, directory, journal=True)
        try:
            for i in range(min(30, left)):
                device = f"{0x12000000 + i:x}"
                time.sleep(chance.uniform(0.005, 0.06))
                begin = time.monotonic()
                fed.ring.send(fault(i, device))
                while device.encode() + b".iommu" not in journal.recv(1 << 18):
                    pass
                print((time.monotonic() - begin) * 1000)
            left -= min(30, left)
        finally:
            fed.stop()


if __name__ == "__main__":
    faults_to_journal(sys.argv[1], sys.argv[2], int(sys.argv[3]))
