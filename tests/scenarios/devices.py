# SPDX-License-Identifier: Apache-2.0
"""What is not memory: temperatures, throttling, clocks, processes and their buffers, swap devices.

Each is played where the fixture has its files, and left alone where it has not.
"""

import re

NVMAP = "/sys/kernel/debug/nvmap"
CLIENTS = f"{NVMAP}/iovmm/clients"


class Devices:
    def __init__(self, tree, machine):
        self._tree, self._machine = tree, machine
        self.zones = {tree.text(p).strip(): p.rsplit("/", 1)[0] + "/temp" for p in tree.glob("/sys/class/thermal/thermal_zone*/type")}
        self.cooling = {tree.text(p).strip(): p.rsplit("/", 1)[0] + "/cur_state" for p in tree.glob("/sys/class/thermal/cooling_device*/type")}
        self.gpu_clocks = [p for pattern in ("/sys/class/devfreq/*gpu*/cur_freq", "/sys/devices/**/devfreq/*gpu*/cur_freq", "/sys/class/devfreq/*/cur_freq")
                           for p in tree.glob(pattern) if re.search(r"gpu|ga10b|gv11b|gp10b", p.rsplit("/", 2)[1])]
        self._base_temp = {zone: int(tree.text(p)) for zone, p in self.zones.items() if tree.text(p)}
        self._base_files = {}
        self._base_available = machine.files.mem["MemAvailable"]
        self._swapped = {}
        self._swap_used = machine.swap_total - machine.swap_free

    # ------------------------------------------------------------------------------- temperatures

    def heat(self, **celsius):
        """Zones whose name begins so get that temperature, a noisy sensor's reading of it. A zone
        that is powered off stays so."""
        for zone, path in self.zones.items():
            for name, value in celsius.items():
                if zone.lower().startswith(name) and self._tree.text(path):
                    noise = self._machine.rng.randrange(-120, 121)
                    self._tree.set(path, f"{int(value * 1000) + noise}\n")

    def hottest(self):
        """What tj-thermal shows."""
        tj = self.zones.get("tj-thermal")
        if tj and self._tree.text(tj):
            others = [int(self._tree.text(p)) for zone, p in self.zones.items() if zone != "tj-thermal" and self._tree.text(p)]
            self._tree.set(tj, f"{max(others)}\n")

    def base_celsius(self, zone):
        return self._base_temp[zone] / 1000

    def throttle(self, device, state):
        """A cooling device goes to this state; the alerts say so in the log."""
        path = self.cooling.get(device)
        if path is None:
            return
        before = int(self._tree.text(path))
        if before != state:
            self._tree.set(path, f"{state}\n")
            if device.endswith("-alert"):
                self._machine.log.print(4, f"{device} cooling state: {before} -> {state}")

    def cut_gpu_clock(self, steps):
        """The GPU may run no faster than so many steps below the clock it has in the fixture: its
        cooling device's state counts from the top of the table, and the limit is max_freq."""
        for path in self.gpu_clocks:
            folder = path.rsplit("/", 1)[0]
            base = self._base_files.setdefault(path, int(self._tree.text(path)))
            table = [int(n) for n in (self._tree.text(f"{folder}/available_frequencies") or "").split()]
            if base in table:
                at = max(0, table.index(base) - steps)
                limit, state = table[at], len(table) - 1 - at if steps else 0
            else:
                limit, state = int(base * (1 - 0.14 * steps)) // 1000 * 1000, steps
            self._tree.set(path, f"{limit}\n")
            highest = f"{folder}/max_freq"
            if self._tree.text(highest):
                own = self._base_files.setdefault(highest, int(self._tree.text(highest)))
                self._tree.set(highest, f"{min(own, limit) if steps else own}\n")
            self.throttle(f"devfreq-{folder.rsplit('/', 1)[1]}", state)

    def gpu_mhz(self):
        return [int(self._tree.text(path)) // 1_000_000 for path in self.gpu_clocks]

    # ---------------------------------------------------------------------------------- processes

    def gpu_buffers(self, pid):
        """What a process has of nvmap, in KiB; 0 where the table or the process is missing."""
        m = re.search(rf"^.*\s{pid}\s+(\d+)K$", self._tree.text(CLIENTS) or "", re.M)
        return int(m[1]) if m else 0

    def set_gpu_buffers(self, pid, kib):
        """A row of the clients table; None takes the row away. The totals, in which are buffers of
        no client too, change by as much."""
        text = self._tree.text(CLIENTS)
        if text is None:
            return
        lines, delta = [], 0
        for line in text.splitlines():
            m = re.fullmatch(r"(.*\s(\d+))(\s+)(\d+)(K)", line)
            if m and not line.startswith("total"):
                if int(m[2]) == pid:
                    delta += (kib or 0) - int(m[4])
                    if kib is None:
                        continue
                    line = _resized(line, m[4], kib)
            elif m := re.fullmatch(r"total\s+(\d+)K", line):
                line = _resized(line, m[1], int(m[1]) + delta)
            lines.append(line)
        self._tree.set(CLIENTS, "\n".join(lines) + "\n")
        path = f"{NVMAP}/stats/total_memory"
        if self._tree.text(path) is not None:
            self._tree.set(path, f"{int(self._tree.text(path)) + delta * 1024}\n")

    def fill_carve_out(self, heap, left):
        """All of a heap with memory of its own but so many bytes, to its first client."""
        folder = f"{NVMAP}/{heap}"
        if self._tree.text(f"{folder}/free_size") is None:
            return
        self._tree.set(f"{folder}/free_size", f"0x{left:016x}\n")
        kib = (int(self._tree.text(f"{folder}/size"), 16) - left) // 1024
        lines = self._tree.text(f"{folder}/clients").splitlines()
        for i in (1, -1):
            lines[i] = re.sub(r" *\d+K$", lambda m: f"{kib}K".rjust(len(m[0])), lines[i])
        self._tree.set(f"{folder}/clients", "\n".join(lines) + "\n")

    def add_orphan(self, kib):
        """A buffer that no client has any more, but a DMA-BUF or a mapping holds."""
        path = f"{NVMAP}/iovmm/orphan_handles"
        for file, change in ((path, self._with_orphan), (CLIENTS, _with_total), (f"{NVMAP}/stats/total_memory", _with_bytes)):
            if self._tree.text(file) is not None:
                self._tree.set(file, change(self._tree.text(file), kib))

    def _with_orphan(self, text, kib):
        kernel_address = self._machine.rng.getrandbits(32)
        return text + f"{0:8}   {kib:8}K {0xd000b03:8x} {1:6} {0:6} {1:6} {kernel_address:8x}\n"

    def resident(self, pid):
        """Resident pages of a process; None where the fixture has not got it."""
        text = self._tree.text(f"/proc/{pid}/statm")
        return int(text.split()[1]) if text else None

    def statm(self, pid):
        """(mapped, anonymous, of files) in pages; None where the fixture has not got it."""
        text = self._tree.text(f"/proc/{pid}/statm")
        if not text:
            return None
        size, resident, shared = map(int, text.split()[:3])
        return size, resident - shared, shared

    def memory_cgroup(self, pid):
        """Its cgroup: of the memory controller, or the only one of version 2."""
        text = self._tree.text(f"/proc/{pid}/cgroup") or ""
        m = re.search(r"^\d+:(?:\w+,)*memory(?:,\w+)*:(.*)$", text, re.M) or re.search(r"^0::(.*)$", text, re.M)
        return m[1] if m else "/"

    def set_resident(self, pid, pages, swapped=0):
        before = self.resident(pid)
        if before is None:
            return
        size, _, *rest = self._tree.text(f"/proc/{pid}/statm").split()
        # What is swapped out is still mapped.
        size = int(size) + max(0, pages - before + swapped - self._swapped.get(pid, 0))
        self._swapped[pid] = swapped
        self._tree.set(f"/proc/{pid}/statm", " ".join([str(size), str(pages), *rest]) + "\n")

    def end(self, pid):
        """The process is gone, and with it what it had of the GPU."""
        self.set_gpu_buffers(pid, None)
        if self._tree.glob(f"/proc/{pid}"):
            self._tree.remove(f"/proc/{pid}")

    # --------------------------------------------------------------------------------------- swap

    def render(self):
        self._render_free_size()
        used = self._machine.swap_total - self._machine.swap_free
        if used == self._swap_used:
            return
        share = used / max(1, self._swap_used)
        swaps = self._tree.text("/proc/swaps")
        if swaps:
            rows = [m for m in re.finditer(r"^(\S+\s+\w+\s+)(\d+)(\s+)(\d+)(\s+-?\d+)$", swaps, re.M)]
            total, left = sum(int(m[2]) for m in rows), self._machine.kb(used)
            out = swaps.splitlines()[:1]
            for i, m in enumerate(rows):
                mine = min(int(m[2]), left if i == len(rows) - 1 else self._machine.kb(used) * int(m[2]) // total // 4 * 4)
                left -= mine
                out.append(f"{m[1]}{m[2]}{m[3]}{mine}{m[5]}")
            self._tree.set("/proc/swaps", "\n".join(out) + "\n")
        for path in self._tree.glob("/sys/block/zram*/mm_stat"):
            base = self._base_files.setdefault(path, [int(n) for n in self._tree.text(path).split()])
            now = [int(n * share) // 4096 * 4096 for n in base[:3]] + base[3:]
            now[4] = max(now[4], now[2], int(self._tree.text(path).split()[4]))
            self._tree.set(path, " ".join(f"{n:8d}" for n in now) + "\n")


    def _render_free_size(self):
        """What nvmap could still hand out falls with what is available."""
        path = f"{NVMAP}/iovmm/free_size"
        text = self._tree.text(path)
        if not text:
            return
        m = re.fullmatch(r"(\D*)(\d+)(\D*)", text)
        base = self._base_files.setdefault(path, int(m[2]))
        available = self._machine.files.fields(self._machine)["MemAvailable"]
        self._tree.set(path, f"{m[1]}{base * available // self._base_available}{m[3]}")


def _with_total(text, kib):
    *lines, last = text.splitlines()
    m = re.fullmatch(r"total\s+(\d+)K", last)
    return "\n".join([*lines, _resized(last, m[1], int(m[1]) + kib) if m else last]) + "\n"


def _with_bytes(text, kib):
    return f"{int(text) + kib * 1024}\n"


def _resized(line, old, new):
    """The size at the line's end, which stays right-aligned where there is room."""
    head = line[:line.rindex(old + "K")]
    width = len(line) - 1 - len(head.rstrip())
    return head.rstrip() + f"{new:>{max(width, len(str(new)) + 1)}}K"
