# SPDX-License-Identifier: Apache-2.0
"""The kernel's trace of contiguous memory, in the instance that jetmem has of it: who allocates and releases."""

INSTANCE = "/sys/kernel/tracing/instances/jetmem"
# Of one CPU's ring.
ROOM = 256


class Trace:
    def __init__(self, tree, uptime):
        self._tree, self._uptime = tree, uptime
        self._second, self._events = 0.0, []
        self._overrun = 0

    def at(self, second):
        self._second = max(self._second, float(second))

    def alloc(self, area, begin, pages, task, function):
        self._add(task, f"cma_alloc_finish: {self._fields(area, begin, pages)} align=8 errorno=0")
        stack = ("trace_event_raw_event_cma_alloc_finish", "__cma_alloc", "cma_alloc", "dma_alloc_contiguous", function, "vfs_ioctl")
        self._add(task, "<stack trace>\n" + "\n".join(f" => {name}" for name in stack))

    def release(self, area, begin, pages, task):
        self._add(task, f"cma_release: {self._fields(area, begin, pages)}")

    def _fields(self, area, begin, pages):
        return f"name={area.name} pfn=0x{area.base_pfn + begin:x} page=0000000063e5a7a1 count={pages}"

    def _add(self, task, what):
        name, pid = task
        self._second += 0.0001
        self._events.append(f"{name[:15]:>16}-{pid:<7} [000] ..... {self._uptime + self._second:12.6f}: {what}\n")
        if len(self._events) > ROOM:
            self._overrun += ROOM // 4
            del self._events[:ROOM // 4]

    def render(self):
        put = self._tree.set
        put("/proc/uptime", f"{self._uptime + self._second:.2f} 0.00\n")
        put(f"{INSTANCE}/options/pause-on-trace", "0\n")
        put(f"{INSTANCE}/trace_clock", "local global counter uptime perf mono mono_raw [boot]\n")
        put(f"{INSTANCE}/per_cpu/cpu0/stats",
            f"entries: {len(self._events)}\noverrun: {self._overrun}\ncommit overrun: 0\ndropped events: 0\nread events: 0\n")
        put(f"{INSTANCE}/trace", "# tracer: nop\n#\n" + "".join(self._events))
