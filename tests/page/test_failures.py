# SPDX-License-Identifier: Apache-2.0
"""The page while the device does not answer: it says so, marks what is old, and comes back by itself."""

import os
import signal
import time
import unittest

import page_testing as pt
from page_testing import jt

# What the browser itself says of a connection that was refused or cut. Where the cut comes, while connecting, in a kept
# connection, in the headers or in the body, decides the word; all of them are one and the same here.
EXPECTED = ("net::ERR_CONNECTION_", "net::ERR_SOCKET_NOT_CONNECTED", "net::ERR_EMPTY_RESPONSE",
            "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_CONTENT_LENGTH_MISMATCH", "net::ERR_ABORTED",
            "net::ERR_TIMED_OUT", "status of 503")


class Trouble(unittest.TestCase):
    """One daemon and its page for what it survives; another hangs meanwhile, as that takes long to be seen."""

    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        cls.start(jt.free_port(), {"STATE_DIRECTORY": str(jt.temp_directory(cls))})
        cls.tab = pt.open_page(cls, cls.daemon)
        cls.hangs, environment = jt.hang(cls, "/proc/meminfo")
        hanging = jt.Daemon(cls, jt.FAST, environment=environment)
        hanging.wait_until_read()
        cls.hanging_tab = pt.open_tab(cls, hanging, {})
        cls.hangs.touch()

    @classmethod
    def start(cls, port, environment):
        cls.port, cls.environment = port, environment
        cls.daemon = jt.Daemon(cls, jt.FAST, listen=f"127.0.0.1:{port}", environment=environment)
        cls.daemon.wait_until_read()

    def setUp(self):
        pt.live(self.tab)

    def device(self, tab, state, seconds=jt.PATIENCE):
        return tab.wait(f"the device is {state}", f"document.body.dataset.device === '{state}'", seconds)

    def test_killed_and_started_again(self):
        tab = self.tab
        sections, nodes = pt.present(tab), tab.js("document.querySelectorAll('main *').length")
        tab.js("window.jetmemSame = true")
        memory = tab.text("#memory")

        self.daemon.kill()
        begin = time.monotonic()
        self.device(tab, "silent")
        jt.measured("until the page says that nobody answers", time.monotonic() - begin)
        self.assertRegex(tab.text("#top"), r"(?i)no answer since .*\d\d:\d\d")
        self.assertTrue(tab.js("document.querySelector('#top [role=status]').innerText.match(/no answer/i)"))
        # What was known stays, and is marked: no section is emptied, none is doubled.
        self.assertEqual(pt.present(tab), sections)
        self.assertEqual(len(tab.text("#memory")) > 20, len(memory) > 20)
        self.assertTrue(self.is_marked_old(tab), "nothing but the header shows that all this is old")

        begin = time.monotonic()
        self.start(self.port, self.environment)
        pt.live(tab)
        jt.measured("until the page is live again", time.monotonic() - begin)
        pt.complete(tab)
        self.assertTrue(tab.js("window.jetmemSame"), "the page was loaded anew")
        self.assertEqual(pt.present(tab), sections)
        jt.wait_for("the verdict of the new daemon",
                    lambda: pt.ask(self.daemon, "status")["reason"] in tab.text("#verdict"))
        jt.wait_for("nothing is marked as old", lambda: not self.is_marked_old(tab))
        asked = len(tab.requests)
        jt.wait_for("the page goes on", lambda: len(tab.requests) > asked + 5)
        self.assertLess(tab.js("document.querySelectorAll('main *').length"), nodes * 1.5 + 200)
        self.assertEqual(tab.trouble(EXPECTED), [])

    @staticmethod
    def is_marked_old(tab):
        """Something of the sections looks another way than while the device is live."""
        return tab.js("""(() => {
          const look = () => [...document.querySelectorAll('main, main section, main section .body')]
            .map((e) => { const s = getComputedStyle(e);
                          return [s.opacity, s.filter, s.color, s.borderColor, s.backgroundColor].join(); }).join(';');
          const is = document.body.dataset.device;
          const now = look();
          document.body.dataset.device = 'live';
          const live = look();
          document.body.dataset.device = is;
          return now !== live;
        })()""")

    def test_stopped(self):
        """A process that answers nothing at all; the kernel still takes connections for it."""
        os.kill(self.daemon.pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            self.device(self.tab, "silent")
            jt.measured("until a stopped daemon is shown as silent", time.monotonic() - begin)
            self.assertIn("within 8 s", self.tab.text("#top"))
        finally:
            os.kill(self.daemon.pid, signal.SIGCONT)
        pt.live(self.tab)
        self.assertEqual(self.tab.trouble(EXPECTED), [])

    def test_stalled(self):
        """A daemon whose loop hangs answers that it cannot tell; then it samples again."""
        tab = self.hanging_tab
        self.device(tab, "stalled", 120)
        self.assertRegex(tab.text("#top"), r"(?i)stalled.*sampling has stopped")
        self.assertTrue(self.is_marked_old(tab))
        # It does not flicker between the answers that still come and those that do not.
        for _ in range(10):
            time.sleep(0.2)
            self.assertEqual(tab.js("document.body.dataset.device"), "stalled")
        self.hangs.unlink()
        pt.live(tab)
        self.assertEqual(tab.trouble(EXPECTED), [])

    def test_nobody_looks(self):
        """A hidden tab asks for nothing."""
        tab = self.tab
        tab.js("""Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});
                  Object.defineProperty(document, 'visibilityState', {get: () => 'hidden', configurable: true});
                  document.dispatchEvent(new Event('visibilitychange'));""")
        self.addCleanup(tab.js, "delete document.hidden; delete document.visibilityState;"
                                "document.dispatchEvent(new Event('visibilitychange'))")
        # What was being drawn may end.
        jt.wait_for("two seconds of silence", lambda: time.monotonic() - tab.requests[-1][1] > 2)
        before = len(tab.requests)
        time.sleep(6)
        self.assertEqual([url for url, _ in tab.requests[before:]], [])
        self.doCleanups()
        jt.wait_for("asked again", lambda: len(tab.requests) > before)


if __name__ == "__main__":
    jt.main()
