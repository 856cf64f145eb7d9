# SPDX-License-Identifier: Apache-2.0
"""jetmem-probe itself: what it prints, whatever the machine, its heaps and its callers do.

What makes device nodes needs root. fake_dma_buf.c stands for the kernel behind them.
"""

import fcntl
import json
import os
import pathlib
import resource
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest

import jetmem_testing as jt

PROBE = os.environ.get("JETMEM_PROBE", "")
FAKE = os.environ.get("JETMEM_FAKE_DMA_BUF", "")
CUDA_KINDS = ["pinned", "managed", "device", "registered", "pool", "dmabuf_export", "dmabuf_import",
              "nvbufsurface", "eglstream"]
HAS_NVIDIA = any(os.path.exists(p) for p in ("/dev/nvidiactl", "/dev/nvgpu", "/dev/nvmap"))
SYNC = ["sync 3", "sync 7"]  # begin and end, always for reading and writing


def setUpModule():
    for path in (PROBE, FAKE):
        if not os.path.exists(path):
            raise AssertionError(f"ctest sets JETMEM_PROBE, JETMEM_FAKE_DMA_BUF: no file {path!r}")


def is_sanitized():
    return b"__asan_init" in pathlib.Path(PROBE).read_bytes()


def start(*arguments, **options):
    return subprocess.Popen([PROBE, *map(str, arguments)],
                            **{"preexec_fn": jt.die_with_parent, "stdin": subprocess.DEVNULL, **options})


class Probe(unittest.TestCase):
    def probe(self, *arguments, before=(), **options):
        """The result of one run: one line, and exit status 0."""
        done = jt.run([*before, PROBE, *arguments], **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\A[ -~]+\n\Z")
        result = json.loads(done.stdout)
        self.assertEqual(result["schema"], "jetmem-probe/1")
        return result

    def dmabuf(self, *arguments, **options):
        """Of each target, what became of it."""
        probes = self.probe("--kinds", "dmabuf", *arguments, **options)["probes"]
        by_target = {p["target"]: p for p in probes}
        self.assertEqual(len(by_target), len(probes), probes)
        return by_target


class OnThisMachine(Probe):
    def test_every_kind_is_reported(self):
        before = time.clock_gettime(time.CLOCK_BOOTTIME)
        result = self.probe("--frame", 1 << 20)
        after = time.clock_gettime(time.CLOCK_BOOTTIME)
        began = result["started"]["boot_microseconds"] / 1e6
        self.assertTrue(before - 0.01 <= began <= began + result["seconds"] <= after + 0.01)
        of_kind = {}
        for probe in result["probes"]:
            of_kind.setdefault(probe["kind"], []).append(probe)
            self.assertEqual("reason" in probe, probe["state"] != "ok", probe)
            self.assertNotEqual(probe.get("reason"), "", probe)
        self.assertEqual(list(of_kind), ["host", "dmabuf", *CUDA_KINDS])
        host, = of_kind["host"]
        self.assertEqual(host["state"], "ok")
        self.assertEqual([r["bytes"] for r in host["rungs"]], [65536, 262144, 1048576])
        for rung in host["rungs"]:
            self.assertEqual(rung["mismatches"], 0)
            self.assertEqual([s["step"] for s in rung["steps"]],
                             ["allocate", "first_touch", "cpu_write", "cpu_verify", "free"])
        if not HAS_NVIDIA:
            self.assertEqual({p["state"] for kind in CUDA_KINDS for p in of_kind[kind]}, {"unsupported"})
            self.assertEqual(result["gpu"]["state"], "unsupported")
            self.assertNotEqual(result["gpu"]["reason"], "")
        heaps = {p["target"]: p for p in of_kind["dmabuf"]}
        if not os.path.isdir("/dev/dma_heap"):
            self.assertEqual(heaps[""]["state"], "unsupported")
            self.assertIn("CONFIG_DMABUF_HEAPS", heaps[""]["reason"])
        else:
            self.assertEqual({e.name for e in os.scandir("/dev/dma_heap") if not e.is_symlink()},
                             set(heaps) - {"", "udmabuf"})
        if not os.path.exists("/dev/udmabuf"):
            self.assertEqual(heaps["udmabuf"]["state"], "unsupported")
            self.assertIn("CONFIG_UDMABUF", heaps["udmabuf"]["reason"])

    def test_host_memory_is_not_bisected(self):
        host, = self.probe("--kinds", "host", "--bisect", 1 << 30)["probes"]
        self.assertEqual(host["state"], "unsupported")
        self.assertIn("OOM killer", host["reason"])

    def test_ten_runs_leave_nothing_behind(self):
        for _ in range(10):
            self.probe("--kinds", "host,dmabuf", "--frame", 65536)
        left = [path for folder in ("/dev/shm", "/tmp") for path in pathlib.Path(folder).glob("*jetmem-probe*")]
        self.assertEqual(left, [])


class Asked(Probe):
    def test_a_wrong_option(self):
        done = jt.run([PROBE, "--x\x1b[2J\n"])
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertRegex(done.stderr, r"\Ajetmem-probe: [ -~]+\n\Z")

    def test_progress_tells_where_it_is_and_the_result_piece_by_piece(self):
        done = jt.run([PROBE, "--progress"])
        lines = done.stdout.splitlines()
        result = json.loads(lines[-1])
        self.assertEqual(lines[0], f"jetmem-probe/1 pid {result['pid']}")
        steps = ["allocate", "first_touch", "cpu_write", "cpu_verify", "free"]
        self.assertEqual([line for line in lines if line.startswith(("at conditions", "at host"))],
                         ["at conditions - before 0", "at host - start 0"] +
                         # Each size of the ladder, after a warm-up with the first.
                         [f"at host - {step} {size}" for size in (1 << 16, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 12 << 20)
                          for step in steps] +
                         ["at conditions - after 0"])
        pieces = [line.split(" ", 1) for line in lines[1:-1] if not line.startswith("at ")]
        self.assertEqual([word for word, _ in pieces if word != "done"], ["begun", "gpu"])
        self.assertEqual(pieces[0][0], "begun")
        begun = json.loads(pieces[0][1])
        self.assertEqual(begun.pop("before"), result["conditions"]["before"])
        self.assertEqual(begun, {name: result[name] for name in (
            "schema", "version", "pid", "started", "frame_bytes")})
        self.assertEqual(json.loads(dict(pieces)["gpu"]), result["gpu"])
        self.assertEqual([json.loads(text) for word, text in pieces if word == "done"],
                         result["probes"])
        self.assertLess(len(done.stdout), 512 * 1024 / 4, "far from what is taken for a flood")
        # Each before the next is begun, of which it may not return.
        words = [" ".join(line.split(" ")[:2]) for line in lines]
        first = [i for i, line in enumerate(lines) if line.startswith('done {"kind":"host"')]
        self.assertLess(first, [words.index("at dmabuf")])
        self.assertLess(lines.index("at pinned - start 0"), words.index("at conditions", 3))

    def ask(self, *parts, pause=0.0):
        """Over a socket, as systemd hands it over: stdin and stdout are one."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = start("--request", stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
            theirs.close()
            ours.settimeout(jt.PATIENCE)
            answer = b""
            try:
                for part in parts:
                    ours.sendall(part)
                    time.sleep(pause)
                while data := ours.recv(1 << 16):
                    answer += data
            except (BrokenPipeError, ConnectionResetError):
                pass
            error = process.communicate(timeout=jt.PATIENCE)[1]
        return process.returncode, answer.decode(), error.decode()

    def test_a_request_is_a_line_of_options(self):
        status, answer, error = self.ask(b"--kinds ho", b"st --frame 65536\nignored", pause=0.05)
        self.assertEqual((status, error), (0, ""))
        result = json.loads(answer)
        self.assertEqual(result["frame_bytes"], 65536)
        self.assertEqual([p["kind"] for p in result["probes"]], ["host"])

    def test_a_request_that_is_none(self):
        status, answer, error = self.ask(b"--heaps /tmp\n")
        self.assertEqual((status, answer), (64, ""))
        self.assertRegex(error, r"\Ajetmem-probe: [ -~]+\n\Z")
        self.assertEqual(self.ask(b"x" * 100_000)[0], 64)

    def test_a_request_that_never_ends_is_given_up(self):
        began = time.monotonic()
        status, _, error = self.ask(*[b" "] * 16, pause=0.5)
        self.assertEqual(status, 64)
        self.assertIn("no request", error)
        self.assertLess(time.monotonic() - began, 8 + jt.SOON)


class Hostile(Probe):
    def test_a_result_that_cannot_be_written_is_no_success(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
        with open("/dev/full", "w") as full, tempfile.TemporaryFile() as out:
            for options in ({"stdout": full}, {"stdout": out, "preexec_fn": small}):
                for progress in ([], ["--progress"]):
                    done = jt.run([PROBE, "--kinds", "host", *progress], **options)
                    self.assertEqual(done.returncode, 74)
                    self.assertIn("could not be written", done.stderr)

    def test_a_file_that_may_not_grow_is_an_error(self):
        found = self.dmabuf("--udmabuf", "/dev/null", "--frame", "65536",
                            before=["sh", "-c", 'ulimit -f 1; exec "$@"', "sh"])
        self.assertEqual((found["udmabuf"]["state"], found["udmabuf"]["error"]), ("failed", "EFBIG"))

    def test_closed_descriptors(self):
        for closed in (">&-", "<&- >&-", "<&- >&- 2>&-"):
            done = jt.run(["sh", "-c", f'exec "$1" --kinds host,dmabuf {closed}', "sh", PROBE])
            self.assertEqual(done.returncode, 74, closed)
        done = jt.run(["sh", "-c", 'exec "$1" --kinds host <&- 2>&-', "sh", PROBE])
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["probes"][0]["state"], "ok")

    def test_a_reader_that_goes_away_ends_it(self):
        process = start("--kinds", "host", "--progress", stdout=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.wait(jt.PATIENCE), -signal.SIGPIPE)

    @unittest.skipIf(is_sanitized() if os.path.exists(PROBE) else False,
                     "the sanitizer itself needs address space")
    def test_starved_of_address_space_it_says_so(self):
        starve = ["sh", "-c", 'ulimit -v 40000; exec "$@"', "sh"]
        host = self.probe("--kinds", "host", "--frame", 64 << 20, before=starve)["probes"][0]
        self.assertEqual(host["state"], "failed")
        self.assertEqual((host["failed_step"], host["error"]), ("allocate", "ENOMEM"))
        self.assertEqual(host["failed_bytes"], 64 << 20)
        self.assertEqual(host["rungs"][-2]["mismatches"], 0)

    def blocked(self, *arguments, **options):
        """A probe that is stopped after it set its bounds: nobody reads what it prints."""
        read, write = os.pipe()
        jt.at_end(self, os.close, read)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        os.write(write, b"x" * 4096)
        process = start("--progress", *arguments, stdout=write, **options)
        os.close(write)
        jt.at_end(self, process.wait)
        jt.at_end(self, process.kill)
        # It waits in the pipe once it has something to say.
        jt.wait_for("it to wait", lambda: "State:\tS" in
                    pathlib.Path(f"/proc/{process.pid}/status").read_text())
        return process

    def test_its_bounds(self):
        process = self.blocked("--deadline", 50)
        proc = pathlib.Path(f"/proc/{process.pid}")
        self.assertEqual((proc / "oom_score_adj").read_text(), "1000\n")
        limits = (proc / "limits").read_text()
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        self.assertRegex(limits, r"Max cpu time +50 +51 ")
        self.assertRegex(limits, r"Max address space +unlimited +unlimited ")
        self.assertIn("NoNewPrivs:\t1\n", (proc / "status").read_text())

    def test_the_deadline_ends_it_whatever_it_inherited(self):
        def deaf():
            jt.die_with_parent()
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        process = self.blocked("--deadline", "1", preexec_fn=deaf)
        self.assertEqual(process.wait(jt.PATIENCE), -signal.SIGALRM)


class Heaps(Probe):
    """A folder that stands for /dev/dma_heap."""

    def setUp(self):
        self.folder = jt.temp_directory(self) / "heaps"
        self.folder.mkdir()
        self.log = self.folder.parent / "log"

    def make(self, *names, mode=0o600):
        for name in names:
            try:
                os.mknod(os.fsencode(self.folder) + b"/" + os.fsencode(name), mode | stat.S_IFCHR,
                         os.makedev(1, 3))
            except PermissionError:
                self.skipTest("may not make device nodes")

    def heaps(self, *arguments, behaviour=None, before=(), **options):
        if behaviour:
            before = [*before, "env", f"LD_PRELOAD={FAKE}", f"FAKE_DMA_BUF={behaviour}", f"FAKE_DMA_BUF_LOG={self.log}",
                      "ASAN_OPTIONS=verify_asan_link_order=0"]
        return self.dmabuf("--heaps", self.folder, *arguments, before=before, **options)

    def asked(self):
        return self.log.read_text().splitlines()


class FoldersWithOtherThings(Heaps):
    def test_a_folder_that_is_closed(self):
        self.folder.chmod(0)
        found = self.heaps(**{"user": jt.NOBODY} if os.geteuid() == 0 else {})[""]
        self.assertEqual(found["state"], "denied")
        self.assertIn("allowed", found["reason"])

    def test_udmabuf_that_is_something_else(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(self.folder / "socket"))  # says another thing to whoever opens it
        for path in (fifo, self.folder, self.folder / "socket"):
            found = self.heaps("--udmabuf", path)["udmabuf"]
            self.assertEqual(found["state"], "unsupported")
            self.assertIn("is no character device", found["reason"])

    def test_devices_that_are_no_heaps(self):
        self.make("system", "a\nb", "with space", "caf\u00e9", "quote\"'\\", "udmabuf")
        found = self.heaps("--udmabuf", "/dev/null", "--any-heap")
        self.assertEqual(set(found), {"", "udmabuf", "system", "quote\"'\\"})
        self.assertEqual(found["system"]["state"], "unsupported")
        self.assertEqual(found["system"]["reason"], "a device that is no DMA heap")
        # The file in memory was made, and /dev/null makes no buffer of it.
        self.assertEqual(found["udmabuf"]["state"], "unsupported")
        self.assertEqual(found["udmabuf"]["warm_up"]["steps"][0]["calls"][-1],
                         {"call": "UDMABUF_CREATE", "result": "ENOTTY"})
        self.assertIn("with space", found[""]["reason"])

    @unittest.skipIf(os.geteuid() != 0, "only root can be nobody")
    def test_a_heap_that_may_not_be_opened(self):
        self.make("system", mode=0o600)
        self.make("system-uncached", mode=0o660)
        os.chown(self.folder / "system-uncached", 0, 44)
        found = self.heaps(user=jt.NOBODY, group=jt.NOBODY, extra_groups=[])
        self.assertEqual(found["system"]["state"], "denied")
        self.assertIn("udev rule", found["system"]["reason"])
        self.assertEqual(found["system-uncached"]["state"], "denied")
        self.assertIn("its group 44: whoever runs the probe must be in that group",
                      found["system-uncached"]["reason"])

    @unittest.skipIf(os.geteuid() != 0, "only root can be nobody")
    def test_a_node_without_a_driver(self):
        os.mknod(self.folder / "system", 0o600 | stat.S_IFCHR, os.makedev(249, 7777))
        self.assertEqual(self.heaps()["system"]["state"], "unsupported")


class KernelsBehindThem(Heaps):
    """With a stand-in for the kernel."""

    def setUp(self):
        super().setUp()
        self.make("system")

    def test_every_access_is_bracketed(self):
        found = self.heaps("--frame", 65536, "--udmabuf", "/dev/null", behaviour="ok")
        self.assertEqual({t: p["state"] for t, p in found.items()},
                         {"system": "ok", "udmabuf": "ok"})
        for probe in found.values():  # the pages were there already
            self.assertEqual([s["step"] for s in probe["rungs"][-1]["steps"]
                              if "bytes_per_second" in s], ["cpu_write", "cpu_verify"])
        one = SYNC * 3
        self.assertEqual(self.asked(),
                         (["allocate 65536"] + one) * 2 + (["create 65536"] + one) * 2)
        rung = found["system"]["rungs"][0]
        self.assertEqual([s["step"] for s in rung["steps"]],
                         ["allocate", "map", "first_touch", "cpu_write", "cpu_verify", "unmap",
                          "free"])
        self.assertEqual(rung["mismatches"], 0)

    def test_what_it_does_is_told(self):
        found = {}
        for behaviour, wanted in (("interrupted", {"state": "ok"}),
                                  # Interruptions are not waited out for ever.
                                  ("never", {"state": "failed", "failed_step": "first_touch", "error": "EAGAIN"}),
                                  ("corrupt", {"state": "mismatch", "failed_step": "cpu_verify"}),
                                  ("half_full", {"state": "failed", "failed_step": "allocate", "failed_bytes": 4 << 20,
                                                 "error": "ENOMEM"}),
                                  ("no_buffer", {"state": "failed", "error": "EBADF"})):
            with self.subTest(behaviour):
                found[behaviour] = self.heaps(behaviour=behaviour)["system"]
                self.assertEqual(found[behaviour] | wanted, found[behaviour])
        self.assertEqual([s["step"] for s in found["never"]["warm_up"]["steps"]][-2:], ["unmap", "free"])
        self.assertEqual(found["corrupt"]["warm_up"]["mismatches"], 1)
        self.assertIn("1 of 8192 words", found["corrupt"]["reason"])

    def test_no_buffer_becomes_stdin_or_stderr(self):
        closing = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh"]
        found = self.heaps("--frame", 65536, behaviour="ok", before=closing)
        self.assertEqual(found["system"]["state"], "ok")

    def test_a_contiguous_heap_is_spared(self):
        """Which are, and by which sizes: tests/probes/program/dmabuf."""
        self.make("linux,cma", "camera@0", "system-secure")
        found = self.heaps("--largest-run", f"linux,cma={(48 << 20) - 1}", behaviour="ok")
        self.assertEqual(found["linux,cma"]["state"], "skipped")
        self.assertIn("four frames (48.0 MiB)", found["linux,cma"]["reason"])
        self.assertIn("not known", found["camera@0"]["reason"])
        self.log.unlink()
        found = self.heaps("--largest-run", f"linux,cma={48 << 20}", "--largest-run", f"vpr={1 << 30}", behaviour="ok")
        self.assertEqual(found["linux,cma"]["state"], "ok")
        self.assertEqual(found["camera@0"]["state"], "skipped")
        # One frame of it, once.
        self.assertEqual(self.asked().count(f"allocate {12 << 20}"), 2)  # and the system's
        self.assertNotIn("warm_up", found["linux,cma"])
        self.assertEqual([r["bytes"] for r in found["linux,cma"]["rungs"]], [12 << 20])
        found = self.heaps("--any-heap", behaviour="ok")
        self.assertEqual(found["camera@0"]["state"], "ok")
        self.assertEqual(found["system-secure"]["state"], "unsupported", "protected memory is left alone")

    def test_bisection_takes_and_gives_back(self):
        self.make("cma")
        found = self.heaps("--frame", 65536, "--bisect", 64 << 20, "--any-heap",
                           behaviour="half_full")
        # Its memory is everybody's: the OOM killer would say where it ends.
        self.assertEqual(found["system"]["state"], "unsupported")
        found = found["cma"]
        self.assertEqual(found["state"], "ok")
        bisection = found["bisection"]
        self.assertEqual([bisection[each] for each in ("limit_bytes", "largest_bytes", "error")],
                         [64 << 20, 1 << 20, "ENOMEM"])
        self.assertEqual(bisection["tries"], len(self.asked()))
        self.assertTrue(all(line.startswith("allocate ") for line in self.asked()))


if __name__ == "__main__":
    jt.main()
