# SPDX-License-Identifier: Apache-2.0
"""Who jetmem is compared with, as Debian packs them, set to the same sources and to once a second."""

import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

from measure.accounting import cpu_us, family, terminate
from measure.scraper import Client, free_port, wait_for_port


class Rival:
    """A daemon in the foreground."""
    name = program = ""

    def start(self, arguments, **options):
        program = shutil.which(self.program, path=os.environ["PATH"] + ":/usr/sbin")
        if program is None:
            raise RuntimeError(f"{self.program} is not installed: scripts/bootstrap --bench")
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        **options)

    def each_second(self):
        pass

    def pids(self):
        return family(self.process.pid)

    def stop(self):
        terminate(self.process)


class NodeExporter(Rival):
    """Reads when it is scraped, so somebody scrapes it once a second."""
    name, program = "node_exporter, scraped once a second", "prometheus-node-exporter"
    COLLECTORS = ["meminfo", "buddyinfo", "vmstat", "zoneinfo", "pressure", "thermal_zone"]

    def __init__(self, *_):
        self.address = ("127.0.0.1", free_port())
        self.start(["--collector.disable-defaults", "--web.disable-exporter-metrics",
                    "--web.listen-address=%s:%d" % self.address] + [f"--collector.{c}" for c in self.COLLECTORS])
        wait_for_port(self)
        self.client = Client(self.address)

    def each_second(self):
        self.client.scrape()


class Netdata(Rival):
    """Its proc plugin alone, of it meminfo, vmstat, pressure and pagetypeinfo (it does not read zoneinfo)."""
    name, program = "netdata", "netdata"
    SOURCES = ["/proc/meminfo", "/proc/vmstat", "/proc/pressure", "/proc/pagetypeinfo"]
    OTHERS = ["/proc/net/dev", "/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/sys/fs/file-nr",
              "/proc/sys/kernel/random/entropy_avail", "/run/reboot_required", "/proc/interrupts", "/proc/softirqs",
              "/sys/kernel/mm/ksm", "/sys/block/zram", "/sys/devices/system/edac/mc", "/sys/devices/pci/aer",
              "/sys/devices/system/node", "/proc/net/wireless", "/proc/net/sockstat", "/proc/net/sockstat6",
              "/proc/net/netstat", "/proc/net/snmp", "/proc/net/snmp6", "/proc/net/sctp/snmp", "/proc/net/softnet_stat",
              "/proc/net/ip_vs/stats", "/sys/class/infiniband", "/proc/net/stat/conntrack", "/proc/net/stat/synproxy",
              "/proc/diskstats", "/proc/mdstat", "/proc/net/rpc/nfsd", "/proc/net/rpc/nfs",
              "/proc/spl/kstat/zfs/arcstats", "/proc/spl/kstat/zfs/pool/state", "/sys/fs/btrfs", "ipc",
              "/sys/class/power_supply"]
    PLUGINS_OFF = ["idlejitter", "cgroups", "tc", "diskspace", "timex", "statsd", "slabinfo", "apps", "perf", "python.d",
                   "charts.d", "node.d", "go.d", "ebpf", "fping", "ioping", "freeipmi", "cups", "xenstat", "nfacct",
                   "check for new plugins", "enable running new plugins", "loops", "netdata monitoring extended"]

    def __init__(self, _, directory):
        folder = tempfile.mkdtemp(prefix="netdata-", dir=directory)
        self.address = ("127.0.0.1", free_port())
        for each in ("cache", "lib", "log", "etc"):
            os.makedirs(os.path.join(folder, each))
        with open(os.path.join(folder, "netdata.conf"), "w") as f:
            f.write(f"[global]\nrun as user = root\n[directories]\nconfig = {folder}/etc\ncache = {folder}/cache\n"
                    f"lib = {folder}/lib\nlog = {folder}/log\nhome = {folder}\n"
                    "[db]\nupdate every = 1\n[ml]\nenabled = no\n[registry]\nenabled = no\n"
                    f"[web]\nbind to = 127.0.0.1\ndefault port = {self.address[1]}\n"
                    "[plugins]\nproc = yes\n" + "".join(f"{p} = no\n" for p in self.PLUGINS_OFF) +
                    "[plugin:proc]\n" + "".join(f"{s} = yes\n" for s in self.SOURCES) +
                    "".join(f"{s} = no\n" for s in self.OTHERS))
        self.start(["-D", "-c", os.path.join(folder, "netdata.conf")],
                   env=dict(os.environ, DISABLE_TELEMETRY="1", DO_NOT_TRACK="1"))
        wait_for_port(self)


class Collectd(Rival):
    """memory, vmem, swap and buddyinfo (there is none for pressure or zoneinfo), kept by its csv plugin."""
    name, program = "collectd", "collectd"

    def __init__(self, _, directory):
        folder = tempfile.mkdtemp(prefix="collectd-", dir=directory)
        config = os.path.join(folder, "collectd.conf")
        with open(config, "w") as f:
            f.write(f'Hostname "bench"\nFQDNLookup false\nBaseDir "{folder}"\nPIDFile "{folder}/pid"\n'
                    'PluginDir "/usr/lib/collectd"\nTypesDB "/usr/share/collectd/types.db"\nInterval 1\n'
                    'LoadPlugin memory\nLoadPlugin vmem\nLoadPlugin swap\nLoadPlugin buddyinfo\nLoadPlugin csv\n'
                    f'<Plugin vmem>\nVerbose true\n</Plugin>\n<Plugin csv>\nDataDir "{folder}/csv"\n</Plugin>\n')
        self.start(["-f", "-C", config])
        time.sleep(1)
        if self.process.poll() is not None:
            raise RuntimeError("collectd did not start")


class Earlyoom(Rival):
    """Looks at /proc/meminfo alone, the less often the more is free; told to kill nothing."""
    name, program = "earlyoom (one file)", "earlyoom"

    def __init__(self, *_):
        self.start(["--dryrun", "-r", "0", "-m", "1", "-s", "1"])


class SameBytes(Rival):
    """Answers as `server` did, with bytes that are ready: what is left is the kernel's work."""
    name = "a C loop that sends the same bytes"

    def __init__(self, build, directory, server, gzipped):
        client = Client(server.address, gzipped)
        client.scrape(keep=False)
        answer = os.path.join(directory, "answer")
        with open(answer, "wb") as f:
            f.write(client.body)
        self.address = ("127.0.0.1", free_port())
        self.process = subprocess.Popen([os.path.join(build, "tests/bench/bench_floor_server"), str(self.address[1]),
                                         answer])
        wait_for_port(self)


class PrometheusServer(Rival):
    """On a folder with a configuration and perhaps data."""
    name = program = "prometheus"

    def __init__(self, directory, config):
        with open(os.path.join(directory, "prometheus.yml"), "w") as f:
            f.write(config)
        self.address = ("127.0.0.1", free_port())
        self.start([f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
                    "--web.listen-address=%s:%d" % self.address], cwd=directory)
        for _ in range(400):
            if self.process.poll() is not None:
                raise RuntimeError("prometheus did not start")
            try:
                self.figures()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("prometheus did not answer")

    def figures(self):
        """{name: value} of its own metrics; of one with labels, any."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open("http://%s:%d/metrics" % self.address, timeout=30) as answer:
            text = answer.read().decode()
        return {name: float(value) for name, value in
                re.findall(r"^(\w+)(?:\{.*\})? (\S+)$", text, re.M)}

    def cpu_us(self):
        return cpu_us([self.process.pid])
