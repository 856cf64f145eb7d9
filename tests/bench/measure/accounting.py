# SPDX-License-Identifier: Apache-2.0
"""What a process used, as the kernel counts it: CPU, wake-ups, memory, bytes written."""

import glob
import os
import re
import subprocess

TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
LISTEN = "0A"  # of /proc/net/tcp


def read(path):
    with open(path, "rb") as f:
        return f.read().decode(errors="replace")


def children(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            stat = read(path)
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(stat.split()[0]))
    return found


def family(pid):
    """The process and all below it."""
    found = [pid]
    for each in found:
        found += children(each)
    return found


def threads(pids):
    for pid in pids:
        for tid in os.listdir(f"/proc/{pid}/task"):
            yield f"/proc/{pid}/task/{tid}"


def cpu_us(pids):
    """Of those that live to the nanosecond, and by the tick what their children used that have ended."""
    ended = sum(sum(int(ticks) for ticks in read(f"/proc/{pid}/stat").rpartition(")")[2].split()[13:15])
                for pid in pids)
    return sum(int(read(t + "/schedstat").split()[0]) for t in threads(pids)) / 1000 + ended * TICK_US


def wakeups(pids):
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", read(t + "/status"), re.M)[1])
               for t in threads(pids))


def written_bytes(pids):
    """Given to a block device; what goes to a tmpfs is not."""
    return sum(int(re.search(r"^write_bytes: (\d+)", read(f"/proc/{pid}/io"), re.M)[1]) for pid in pids)


def memory_mib(pid):
    """Rss and Pss with what is shared; Anon is RssAnon: what would not be there without the process."""
    rollup, status = read(f"/proc/{pid}/smaps_rollup"), read(f"/proc/{pid}/status")
    found = {k: int(re.search(rf"^{k}:\s*(\d+)", rollup, re.M)[1]) / 1024 for k in ("Rss", "Pss")}
    return found | {"Anon": int(re.search(r"^RssAnon:\s*(\d+)", status, re.M)[1]) / 1024}


def clients(port):
    """What /proc/PID/fd calls the connections that a server on this port has."""
    rows = [line.split() for table in ("tcp", "tcp6") for line in read(f"/proc/net/{table}").splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if int(row[1].rpartition(":")[2], 16) == port and row[3] != LISTEN}


def descriptors(pid, port):
    """How many are open, without those of clients, who come and go."""
    before, names = clients(port), []
    for each in os.listdir(f"/proc/{pid}/fd"):
        try:
            names.append(os.readlink(f"/proc/{pid}/fd/{each}"))
        except FileNotFoundError:  # closed meanwhile
            pass
    return len([name for name in names if name not in before | clients(port)])


def terminate(process):
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
