# SPDX-License-Identifier: Apache-2.0
"""SIGHUP, and what jetmemd tells the service manager that started it."""

import os
import re
import signal
import socket
import threading
import time
import unittest

import jetmem_testing as jt
import servers


class ServiceManager:
    """Stands for systemd: the socket of NOTIFY_SOCKET, and what came in."""

    def __init__(self, test):
        self.path = jt.temp_directory(test) / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(0.1)
        self.messages = []  # (when, {field: value})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._receive, daemon=True)
        jt.at_end(test, self.close)
        self._thread.start()

    def _receive(self):
        while not self._stop.is_set():
            try:
                data = self.socket.recv(65536)
            except socket.timeout:
                continue
            except OSError:
                return
            fields = dict(line.split("=", 1) for line in data.decode().splitlines())
            self.messages.append((time.monotonic(), fields))

    def close(self):
        self._stop.set()
        self._thread.join(jt.PATIENCE)
        self.socket.close()

    def environment(self, **more):
        return {"NOTIFY_SOCKET": str(self.path), **more}

    def fields(self, name):
        return [fields[name] for _, fields in list(self.messages) if name in fields]

    def times(self, name):
        return [when for when, fields in list(self.messages) if name in fields]

    def wait_for(self, name, count=1, seconds=jt.PATIENCE):
        jt.wait_for(f"{count} of {name}", lambda: len(self.fields(name)) >= count, seconds)
        return self.fields(name)[count - 1]

    def order(self):
        """The names of all messages in the order they came, without the watchdog's."""
        return [next(iter(fields)) for _, fields in list(self.messages) if "WATCHDOG" not in fields]


class Reload(unittest.TestCase):
    def reloads(self, page, result):
        return page.value("jetmem_config_reloads_total", result=result)

    def test_takes_new_settings_and_keeps_the_old_where_a_file_is_broken(self):
        daemon = jt.Daemon(self, jt.FAST, root=jt.FIXTURES / "orin-nano-8gb")
        page = daemon.wait_until_read()
        self.assertEqual(page.value("jetmem_source_interval_seconds", source="meminfo"), 0.2)
        self.assertEqual(self.reloads(page, "taken"), 0)
        daemon.reload("sources: {meminfo: {interval: 3s}, vmstat: {enabled: false}}")
        page = daemon.wait_for_page("the reload", lambda p: self.reloads(p, "taken") == 1)
        self.assertEqual(page.value("jetmem_source_interval_seconds", source="meminfo"), 3)
        self.assertEqual(page.state("vmstat"), "disabled")
        self.assertEqual(page.families("jetmem_vmstat_"), [])
        # Settings removed from the file are at their defaults again.
        self.assertEqual(page.value("jetmem_source_interval_seconds", source="zoneinfo"), 5)
        daemon.wait_for_log("settings reloaded")
        daemon.wait_for_log("source vmstat: disabled")

        reads = page.value("jetmem_source_reads_total", source="meminfo")
        page = daemon.wait_for_cycles(5)
        self.assertLessEqual(page.value("jetmem_source_reads_total", source="meminfo"), reads + 3)

        daemon.reload(jt.FAST)
        page = daemon.wait_for_page("vmstat again", lambda p: p.state("vmstat") == "ok")
        self.assertTrue(page.families("jetmem_vmstat_"))
        # A broken file is refused, and the old settings are kept.
        daemon.reload("log:\n  level: info\nsources:\n  meminfo:\n    intervall: 3s\n")
        page = daemon.wait_for_page("the refusal", lambda p: self.reloads(p, "refused") == 1)
        self.assertEqual(self.reloads(page, "taken"), 2)
        self.assertEqual(page.value("jetmem_source_interval_seconds", source="meminfo"), 0.2)
        daemon.wait_for_log(rf"error settings: {re.escape(str(daemon.settings_file))}:5:5: .*"
                            r"did you mean 'sources\.meminfo\.interval'")
        daemon.wait_for_log("reload refused")
        # A file that vanished, and one that is none, are refused alike; the daemon lives.
        daemon.settings_file.unlink()
        daemon.reload()
        daemon.wait_for_page("the second refusal", lambda p: self.reloads(p, "refused") == 2)
        os.mkfifo(daemon.settings_file)
        daemon.reload()
        daemon.wait_for_page("the third refusal", lambda p: self.reloads(p, "refused") == 3)
        daemon.settings_file.unlink()
        daemon.reload(jt.FAST)
        page = daemon.wait_for_page("mended", lambda p: self.reloads(p, "taken") == 3)
        self.assertEqual(page.value("jetmem_source_interval_seconds", source="meminfo"), 0.2)
        # A storm of signals.
        states = page.states()
        for _ in range(200):
            daemon.send(signal.SIGHUP)
        page = daemon.wait_for_cycles(6)
        self.assertGreaterEqual(self.reloads(page, "taken"), 4)
        self.assertEqual(self.reloads(page, "refused"), 3)
        self.assertEqual(page.states(), states)
        self.assertEqual(daemon.stop()[0], 0)

    def test_log_level(self):
        # The fixture's kernel log has errors to tell of.
        # Alerts are logged whatever the level.
        daemon = jt.Daemon(self, "log: {level: error}\nrules: {shipped: false}\n"
                           "sources: {kernel_log: {enabled: false}}",
                           listen=f"127.0.0.1:{jt.free_port()}",
                           root=jt.FIXTURES / "orin-nano-8gb", wait=False)
        # SIGHUP before its handler is there would end it.
        jt.wait_for("it samples", lambda: len(os.listdir(f"/proc/{daemon.pid}/task")) == 3)
        time.sleep(0.5)
        self.assertEqual(daemon.log(), "")
        daemon.reload("log: {level: info}")
        daemon.wait_for_log("info settings reloaded")
        self.assertEqual(daemon.stop()[0], 0)


class Notifications(unittest.TestCase):
    def test_life(self):
        manager = ServiceManager(self)
        daemon = jt.Daemon(self, root=jt.FIXTURES / "nano-4gb", environment=manager.environment(), wait=False)
        self.assertEqual(manager.wait_for("READY"), "1")
        self.assertIn("serving http", daemon.log(), "ready means ready")
        daemon.wait_until_serving()
        daemon.wait_until_read()
        jt.wait_for("the status says all states",
                    lambda: manager.fields("STATUS")[-1:] ==
                    ["Sampling: 19 ok, 7 absent (pressure, cma_map, edac, nvml, cgroups, tasks, allocinfo)"])
        self.assertNotIn("WATCHDOG", str(manager.messages))  # nobody asked for it

        before = time.clock_gettime(time.CLOCK_MONOTONIC)
        daemon.reload("sources: {vmstat: {enabled: false}}")
        manager.wait_for("READY", 2)
        after = time.clock_gettime(time.CLOCK_MONOTONIC)
        reloading = [fields for _, fields in manager.messages if "RELOADING" in fields]
        self.assertEqual(len(reloading), 1)
        self.assertEqual(reloading[0]["RELOADING"], "1")
        self.assertTrue(before <= int(reloading[0]["MONOTONIC_USEC"]) / 1e6 <= after)
        order = manager.order()
        self.assertLess(order.index("RELOADING"), len(order) - 1 - order[::-1].index("READY"))
        jt.wait_for("the status follows the settings", lambda: manager.fields("STATUS")[-1] ==
                    "Sampling: 18 ok, 7 absent (pressure, cma_map, edac, nvml, cgroups, tasks, allocinfo), "
                    "1 disabled (vmstat)")

        # A refused reload is over, too: else systemd would wait for it.
        daemon.reload("nonsense: 1")
        manager.wait_for("READY", 3)
        self.assertEqual(len(manager.fields("RELOADING")), 2)

        self.assertEqual(daemon.stop()[0], 0)
        self.assertEqual(manager.wait_for("STOPPING"), "1")
        self.assertEqual(manager.order()[-1], "STOPPING")
        self.assertEqual(len(manager.fields("READY")), 3)

    def test_watchdog_follows_sampling(self):
        manager = ServiceManager(self)
        period = 2.0
        daemon = jt.Daemon(self, jt.FAST, root=jt.FIXTURES / "nano-4gb", environment=manager
                           .environment(WATCHDOG_USEC=str(int(period * 1e6))))
        manager.wait_for("WATCHDOG", 4)
        times = manager.times("WATCHDOG")
        self.assertLess(max(b - a for a, b in zip(times, times[1:])), period)
        # At most about four in a period: each wakes the service manager up.
        self.assertGreater((times[-1] - times[0]) / (len(times) - 1), period / 4 * 0.8)

        daemon.send(signal.SIGSTOP)
        time.sleep(0.3)
        count = len(manager.times("WATCHDOG"))
        time.sleep(period)
        self.assertEqual(len(manager.times("WATCHDOG")), count)
        daemon.send(signal.SIGCONT)
        manager.wait_for("WATCHDOG", count + 2)
        # The rounds that did not take place are counted.
        self.assertGreater(daemon.scrape().value("jetmem_sample_cycles_missed_total"), 5)

    def test_watchdog_is_not_fed_by_anything_else(self):
        # Rounds a minute apart (the processes' figures: 10 s), but many scrapes and reloads.
        manager = ServiceManager(self)
        daemon = jt.Daemon(self, "sources: {" + ", ".join(
            f"{name}: {{interval: 1m}}" for name in jt.BOARD_SOURCES) + "}",
            root=jt.FIXTURES / "nano-4gb", environment=manager.environment(WATCHDOG_USEC="2000000"))
        daemon.wait_until_read()
        rounds = daemon.scrape().value("jetmem_sample_cycles_total")
        count = len(manager.times("WATCHDOG"))
        for _ in range(30):
            daemon.scrape()
            daemon.send(signal.SIGHUP)
            time.sleep(0.05)
        more_rounds = daemon.scrape().value("jetmem_sample_cycles_total") - rounds
        self.assertLessEqual(len(manager.times("WATCHDOG")) - count, more_rounds)

    def test_a_frozen_service_manager_does_not_stop_sampling(self):
        # Nobody reads the socket, and it is full: as when PID 1 hangs.
        path = jt.temp_directory(self) / "notify"
        servers.unread(self, path)
        daemon = jt.Daemon(self, jt.FAST, root=jt.FIXTURES / "nano-4gb",
                           environment={"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "1000000"})
        daemon.wait_for_cycles(11, 10)
        daemon.check_stops(self, "SIGTERM to end with a frozen service manager")


if __name__ == "__main__":
    jt.main()
