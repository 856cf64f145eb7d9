# SPDX-License-Identifier: Apache-2.0
"""Small buffers without a client leak, at a camera's rate and at ten times that, until nvmap's table of them is far
too large to be read: the alert comes as soon, and no process loses its GPU memory."""

import time
import unittest

import jetmem_testing as jt

BOARD = "orin-nano-8gb"
SPEED = 240
STEP = 20  # seconds of the machine
# Of trends that need half an hour of values, and of the rule's own time.
ALERT_WITHIN = 45 * 60
KIB = 4
NVMAP = "sys/kernel/debug/nvmap/iovmm"
SETTINGS = "probe: {socket: \"\"}\nsources: {probe: {enabled: false}}\n"


class Leak:
    """On a copy of a tree, `rate` handles a second of the machine."""

    def __init__(self, test, rate):
        self.root, self.rate = jt.copy_of_fixture(test, BOARD), rate
        self.clients = self.root / NVMAP / "clients"
        rows = self.clients.read_text().splitlines()
        self.rows, self.total = rows[:-1], int(rows[-1].split()[-1][:-1])
        self.names = [row.split()[1] for row in self.rows[1:]]
        self.count, self.began = 0, time.monotonic()

    def now(self):
        return (time.monotonic() - self.began) * SPEED

    def go_on(self):
        count = int(self.now() * self.rate)
        row = "%8x %10dK %9x %6d %6d %6d %08x\n"
        with open(self.root / NVMAP / "orphan_handles", "ab") as orphans:
            orphans.write(b"".join((row % (0, KIB, 0xd00, 1, 0, 0, 0x50000000 + i)).encode()
                                   for i in range(self.count, count)))
        self.count = count
        total = "%-18s %18s %8s %10dK" % ("total", "", "", self.total + KIB * count)
        jt.replace_file(self.clients, "\n".join([*self.rows, total, ""]).encode())


class TestLeak(unittest.TestCase):
    def alerts(self, rate):
        leak = Leak(self, rate)
        daemon = jt.Daemon(self, SETTINGS, root=leak.root, arguments=("--speed", SPEED))
        daemon.wait_until_read()
        before = daemon.scrape()
        leak.began = time.monotonic()
        fired = None
        while leak.now() < ALERT_WITHIN and fired is None:
            time.sleep(STEP / SPEED)
            leak.go_on()
            page = daemon.scrape()
            self.assertEqual(page.value("jetmem_source_stale", source="nvmap"), 0)
            for name in leak.names:
                self.assertEqual(page.value("jetmem_nvmap_process_bytes", heap="iovmm", process=name),
                                 before.value("jetmem_nvmap_process_bytes", heap="iovmm", process=name), name)
            gpu = {key: value for key, value in page.samples.items() if key[0] == "jetmem_process_group_gpu_bytes"}
            self.assertEqual(gpu, {key: value for key, value in before.samples.items() if key in gpu})
            self.assertTrue(gpu)
            if page.value("jetmem_alert_state", alert="JetmemNvmapOrphansGrowing", severity="warning") == 2:
                fired = leak.now()
        self.assertIsNotNone(fired, f"{leak.count} handles after {leak.now():.0f} s")

        def leaked(page):
            orphans = [p.value("jetmem_nvmap_orphan_bytes", heap="iovmm") for p in (before, page)]
            return orphans[1] - orphans[0]

        # What had leaked by the alert is there with the next reading, and never more than leaked.
        by_then = KIB * 1024 * leak.count
        page = daemon.wait_for_page("the leak", lambda page: leaked(page) >= by_then)
        self.assertLessEqual(leaked(page), KIB * 1024 * leak.count)
        self.assertIsNone(page.value("jetmem_nvmap_orphan_handles", heap="iovmm"), "some rows of the table are not read")
        jt.measured(f"the alert of {rate} x {KIB} KiB per second, {fired / 60:.1f} min of the machine", fired / SPEED)

    def test_each_frame(self):
        self.alerts(30)

    def test_each_call(self):
        self.alerts(300)


if __name__ == "__main__":
    jt.main()
