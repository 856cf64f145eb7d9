# SPDX-License-Identifier: Apache-2.0
"""The played machine: pages are moved between its lists, and every file is rendered from these.

So meminfo, buddyinfo, pagetypeinfo, zoneinfo, vmstat and debugfs always agree with one another. All
amounts are in pages unless a name says otherwise. Rendering a machine that nothing happened to gives
the fixture's own text.
"""

import json
import math
import random

import cma
import cma_trace
import free_lists
from devices import Devices
from kernel_log import KernelLog
from memory_files import MemoryFiles
from meters import Meters
from pressure import Pressure
from tegrastats import Tegrastats

LRU = ("inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable")
# What the page cache cannot be reclaimed below: the code that runs.
FILE_FLOOR = 30_000
# Bytes that zram needs for each byte swapped out.
ZRAM_RATIO = 1 / 3


class OutOfMemory(Exception):
    """Nothing more can be reclaimed; `missing` pages were not to be had."""

    def __init__(self, missing):
        super().__init__(f"{missing} pages")
        self.missing = missing


class Machine:
    def __init__(self, tree, seed=1):
        self.tree = tree
        self.rng = random.Random(seed)
        facts = json.loads(tree.text("/jetmem/manifest.json"))["facts"]
        self.page_size, self.cpus = facts["page_size"], facts["cpus"]
        self.second = 0
        self._uptime = [float(n) for n in (tree.text("/proc/uptime") or "").split()]
        self.log = KernelLog(tree, facts["captured_at"] - facts["boot_time"], self.rng)
        self.pressure = Pressure(tree)
        self.files = MemoryFiles(tree)
        self.vm, self.zones, self.free, self.blocks = self.files.vm, self.files.zones, self.files.free, self.files.blocks
        self.swap_total, self.swap_free = (self.files.mem[k] // self.kb(1) for k in ("SwapTotal", "SwapFree"))
        self.areas = cma.areas_of(tree)
        self.cma = self.areas[0] if self.areas else None
        self.cma_trace = cma_trace.Trace(tree, facts["captured_at"] - facts["boot_time"])
        # Who allocates for an owner, where a story says it: name and PID, and the driver's function.
        self.cma_tasks = {}
        self.devices = Devices(tree, self)
        self.meters = Meters(tree, self)
        self.tegrastats = Tegrastats(tree, self, self.devices)
        stalls = sum(v for name, v in self.vm.items() if name.startswith("allocstall_"))
        self._work = (stalls, self.vm["pgscan_kswapd"] + 8 * self.vm["pgscan_direct"])

    def kb(self, pages):
        return pages * self.page_size // 1024

    # ------------------------------------------------------------------------------ free memory

    def free_in(self, zone, *kinds):
        lists = self.free[zone]
        return sum(map(free_lists.pages, map(lists.__getitem__, kinds) if kinds else lists.values()))

    @property
    def free_pages(self):
        return sum(self.free_in(z) for z in self.zones)

    @property
    def free_cma(self):
        return sum(self.free_in(z, "CMA") for z in self.zones)

    @property
    def total_pages(self):
        return sum(z["managed"] for z in self.zones.values())

    def mark(self, name):
        """The watermark of all zones together: min, low or high."""
        return sum(z[name] for z in self.zones.values())

    def _reserve(self, zone):
        """lowmem_reserve: what is kept for those who can use no other zone."""
        return max(self.zones[zone]["protection"])

    def _lists(self, zone, kind):
        own = [kind] if kind == "Unmovable" else ["Movable", "Reclaimable"]
        other = ["Movable", "Reclaimable"] if kind == "Unmovable" else ["Unmovable"]
        return own + other + (["CMA"] if kind == "Movable" else [])

    def _take(self, want, kind):
        """Free pages are used, the highest zone's first; returns how many came of each zone."""
        came = {}
        # Each zone down to its watermark; then below it, but for what is kept for allocations that
        # need just this zone; CMA is borrowed last.
        for spare in ("low", "min", None):
            for zone in reversed(list(self.zones)):
                floor = (self.zones[zone][spare] if spare else 0) + self._reserve(zone)
                for name in self._lists(zone, kind):
                    if name == "CMA":
                        have = self.free_in(zone, "CMA") - 500 if spare is None else 0
                    else:
                        have = self.free_in(zone) - self.free_in(zone, "CMA") - floor
                    n = max(0, min(want, have, free_lists.pages(self.free[zone][name])))
                    if n:
                        free_lists.take(self.free[zone][name], n)
                        if kind == "Unmovable" and name != kind:
                            self._pollute(zone, name, n)
                        came[zone] = came.get(zone, 0) + n
                        self._allocated(zone, n)
                        want -= n
        assert want == 0, f"{want} pages more than there are"
        return came

    def _pollute(self, zone, kind, n):
        """Unmovable pages that found no room take over whole pageblocks."""
        blocks, per = self.blocks[zone], self.files.pages_per_block
        spare = blocks[kind] - -(-free_lists.pages(self.free[zone][kind]) // per)
        moved = max(0, min(n // per, spare - 1))
        blocks[kind] -= moved
        blocks["Unmovable"] += moved

    def _give(self, came, kind="Movable", largest=6):
        for zone, n in came.items():
            free_lists.put_scattered(self.free[zone][kind], n, self.rng, largest)
            self.vm["pgfree"] += n
            self._settle_blocks(zone, kind)

    def _settle_blocks(self, zone, kind):
        """A list holds at most its pageblocks: the rest of the pages is in others."""
        blocks, per = self.blocks[zone], self.files.pages_per_block
        lack = -(-free_lists.pages(self.free[zone][kind]) // per) - blocks[kind]
        for other in ("Unmovable", "Reclaimable"):
            n = max(0, min(lack, blocks[other] - -(-free_lists.pages(self.free[zone][other]) // per)))
            blocks[other] -= n
            blocks[kind] += n
            lack -= n
        assert lack <= 0

    def _allocated(self, zone, n):
        self.vm[f"pgalloc_{zone.lower()}"] += n
        counters = self.zones[zone]
        for name in ("numa_hit", "numa_local"):
            if name in counters:
                counters[name] += n

    # ---------------------------------------------------------------------------------- reclaim

    def need(self, n):
        """Before n pages are used: kswapd keeps the watermarks, and where it cannot, who asks
        reclaims by itself and waits for it."""
        def usable():
            return sum(max(0, self.free_in(z) - self.free_in(z, "CMA") - self._reserve(z)) for z in self.zones)

        short = self.vm["nr_inactive_file"] + self.vm["nr_active_file"] < 2 * FILE_FLOOR
        if usable() - n < self.mark("low"):
            # With hardly any cache left kswapd has to swap, and does not keep up.
            want = (self.mark("min") if short else self.mark("high")) + n - usable()
            if want > 0:
                self._reclaim(want * 2 // 3 if short else want, direct=False)
        if usable() - n < self.mark("min"):
            self._reclaim(self.mark("min") + n - usable() + 64, direct=True)
        if usable() - n < self.mark("min") // 2:
            raise OutOfMemory(n)

    def _reclaim(self, want, direct):
        who = "direct" if direct else "kswapd"
        files = self.vm["nr_inactive_file"] + self.vm["nr_active_file"]
        anon = self.vm["nr_inactive_anon"] + self.vm["nr_active_anon"]
        # The less there is, the more of it is in use and comes right back.
        drop = min(int(want * 0.6), max(0, files - FILE_FLOOR))
        swap = min(int((want - drop) / (1 - ZRAM_RATIO)) + 1, self.swap_free, max(0, anon - 20_000))
        drop = min(max(drop, want - int(swap * (1 - ZRAM_RATIO))), max(0, files - FILE_FLOOR))
        effort = 2 if files > 4 * FILE_FLOOR else 6
        v = self.vm
        for kind, n in (("file", drop), ("anon", swap)):
            v[f"pgscan_{kind}"] += n * effort
            v[f"pgscan_{who}"] += n * effort
            v[f"pgsteal_{kind}"] += n
            v[f"pgsteal_{who}"] += n
        v["slabs_scanned"] += want // 2
        v["pgrefill"] += want // 3
        v["workingset_refault_file"] += drop // 5
        if direct:
            v["allocstall_normal"] += 1 + want // 800
            v["allocstall_movable"] += 1 + want // 300
            v["compact_stall"] += 1 + want // 2000
            v["compact_fail"] += 1 + want // 2000
        else:
            v["pageoutrun"] += 1
            v["kswapd_low_wmark_hit_quickly"] += 1
        self.drop_cache(drop)
        self.swap_out(swap)

    def drop_cache(self, n):
        if n:
            self._give(self._lru_less("file", n))
            self.vm["nr_file_pages"] -= n

    def swap_out(self, n):
        """Into zram: its compressed pages are the kernel's."""
        if not n:
            return
        came = self._lru_less("anon", n)
        self._give(came)
        self.vm["nr_anon_pages"] -= n
        self.swap_free -= n
        for name in ("pswpout", "nr_vmscan_write"):
            self.vm[name] += n
        self._zspages(int(n * ZRAM_RATIO))

    def swap_in(self, n):
        """Programs touch n pages that lie in swap."""
        for part in chunks(min(n, self.swap_total - self.swap_free)):
            self.need(part)
            self._lru_more("anon", self._take(part, "Movable"), active=0.5)
            self.vm["nr_anon_pages"] += part
            self.swap_free += part
            for name in ("pswpin", "pgfault", "pgmajfault", "workingset_refault_anon"):
                self.vm[name] += part
            self._zspages(-int(part * ZRAM_RATIO))

    def _zspages(self, n):
        if "nr_zspages" not in self.vm:
            return
        zone = list(self.zones)[-1]
        if n > 0:
            self._take(n, "Unmovable")
        else:
            n = -min(-n, self.zones[zone]["nr_zspages"])
            self._give({zone: -n}, "Unmovable", largest=3)
        self.zones[zone]["nr_zspages"] += n

    # ----------------------------------------------------------------------------- who uses pages

    def _lru_more(self, kind, came, active=0.15):
        for zone, n in came.items():
            hot = int(n * active)
            for name, part in ((f"active_{kind}", hot), (f"inactive_{kind}", n - hot)):
                self.zones[zone][f"nr_zone_{name}"] += part
                self.vm[f"nr_{name}"] += part

    def _lru_less(self, kind, want):
        """Of both lists, twice as many of the inactive one; returns which zones the pages lay in."""
        came = {}
        inactive, active = self.vm[f"nr_inactive_{kind}"], self.vm[f"nr_active_{kind}"]
        cold = min(inactive, max(want * 2 * inactive // max(1, 2 * inactive + active), want - active))
        for name, part in ((f"inactive_{kind}", cold), (f"active_{kind}", want - cold)):
            total = self.vm[f"nr_{name}"]
            assert part <= total
            left = part
            for i, zone in enumerate(self.zones):
                mine = self.zones[zone][f"nr_zone_{name}"]
                n = min(mine, left if i == len(self.zones) - 1 else math.ceil(part * mine / max(1, total)), left)
                self.zones[zone][f"nr_zone_{name}"] -= n
                came[zone] = came.get(zone, 0) + n
                left -= n
            assert left == 0
            self.vm[f"nr_{name}"] -= part
        return came

    def grow_anon(self, n):
        """Programs touch n pages for the first time."""
        for part in chunks(n):
            self.need(part)
            self._lru_more("anon", self._take(part, "Movable"))
            self.vm["nr_anon_pages"] += part
            self.vm["pgfault"] += part
            self.files.committed_kb += self.kb(part)

    def shrink_anon(self, n, swapped=0):
        """Programs give back n pages, and `swapped` that lie in swap."""
        came = self._lru_less("anon", n)
        self._give(came, largest=9)
        self.vm["nr_anon_pages"] -= n
        self.swap_free += swapped
        self._zspages(-int(swapped * ZRAM_RATIO))
        self.files.committed_kb -= self.kb(n + swapped)

    def grow_cache(self, n):
        """Files are read."""
        for part in chunks(n):
            self.need(part)
            self._lru_more("file", self._take(part, "Movable"), active=0)
            self.vm["nr_file_pages"] += part
            self.vm["pgpgin"] += self.kb(part)

    def lend_cma(self, n):
        """Files are read into n pages of the contiguous area, which nobody else needs now."""
        zone = next(z for z in self.zones if self.blocks[z].get("CMA"))
        free_lists.take(self.free[zone]["CMA"], n)
        self._allocated(zone, n)
        self._lru_more("file", {zone: n}, active=0)
        self.vm["nr_file_pages"] += n
        self.vm["pgpgin"] += self.kb(n)

    def grow_gpu(self, n):
        """nvmap hands out n pages: in no LRU, never swapped, unmovable."""
        for part in chunks(n):
            self.need(part)
            self._take(part, "Unmovable")
            self.files.nvmap_used_kb += self.kb(part)

    def shrink_gpu(self, n):
        if n == 0:
            return
        zone = list(self.zones)[-1]
        self._give({zone: n}, "Unmovable" if n < 1000 else "Movable", largest=8)
        self.files.nvmap_used_kb -= self.kb(n)

    def grow_slab(self, n):
        """The kernel takes n pages at once, without waiting for reclaim: an interrupt's packets."""
        self._take(n, "Unmovable")
        self.vm["nr_slab_unreclaimable"] += n

    def shrink_slab(self, n):
        self._give({list(self.zones)[-1]: n}, "Unmovable", largest=3)
        self.vm["nr_slab_unreclaimable"] -= n

    def splinter(self, largest):
        """Outside CMA no free block is larger than 2^largest pages: single pages in use lie between."""
        for lists in self.free.values():
            for kind, counts in lists.items():
                if kind != "CMA":
                    free_lists.cap(counts, largest)

    def below_min(self):
        """How many free pages the last zone lacks to its last watermark; negative: has above it. CMA's
        are not for everybody."""
        zone = list(self.zones)[-1]
        return self.zones[zone]["min"] - (self.free_in(zone) - self.free_in(zone, "CMA"))

    # -------------------------------------------------------------------------------------- CMA

    def cma_alloc(self, pages, owner):
        """What a driver asks of the area; False and two lines of log when it is not to be had."""
        area, zone = self.cma, next(z for z in self.zones if self.blocks[z].get("CMA"))
        spare = area.count - area.used
        begin = area.alloc(pages, owner)
        if begin is None:
            self._called("fail", pages)
            self.log.print(3, f"cma: cma_alloc: {area.name}: alloc failed, req-size: {pages} pages, ret: -12")
            self.log.print(6, "cma: " + area.available())
            return False
        self._called("success", pages)
        if owner in self.cma_tasks:
            self.cma_trace.alloc(area, begin, pages, *self.cma_tasks[owner])
        # Programs had borrowed a part of these pages: it is moved elsewhere.
        counts = self.free[zone]["CMA"]
        free = math.ceil(pages * free_lists.pages(counts) / spare)
        free_lists.take_largest(counts, min(free, free_lists.pages(counts)))
        self._fit_runs(counts)
        moved = pages - free
        if moved > 0:
            self.need(moved)
            self._take(moved, "Movable")
            self.vm["pgmigrate_success"] += moved
        return True

    def _called(self, call, pages):
        """vmstat counts calls, sysfs, where there is one, the pages asked for."""
        self.vm[f"cma_alloc_{call}"] += 1
        path = f"/sys/kernel/mm/cma/{self.cma.name}/alloc_pages_{call}"
        if self.tree.text(path):
            self.tree.set(path, f"{int(self.tree.text(path)) + pages}\n")

    def cma_release(self, owner):
        """What the owner had is free again, in the blocks that the allocator merges it to."""
        before = self.cma.free_runs()
        ranges = self.cma.release(owner)
        n = sum(end - begin for begin, end in ranges)
        if not n:
            return
        for begin, end in ranges:
            self.cma_trace.release(self.cma, begin, end - begin, ("kworker/3:1", 88))
        zone = next(z for z in self.zones if self.blocks[z].get("CMA"))
        counts = self.free[zone]["CMA"]
        taken = sorted(set(before))
        for at, size in self.cma.free_runs():
            # What was not free before.
            begin = at
            for old, old_size in [(a, s) for a, s in taken if at <= a < at + size] + [(at + size, 0)]:
                if begin < old:
                    free_lists.put_range(counts, begin, old)
                begin = old + old_size
        self._fit_runs(counts)
        self.vm["pgfree"] += n

    def _fit_runs(self, counts):
        """No free block is larger than the largest run."""
        free_lists.cap(counts, max(0, self.cma.largest_run.bit_length() - 1))

    # -------------------------------------------------------------------------- for the stories

    def task(self, name):
        """A program's name and PID: those of the fixture's process, whose thread it is then."""
        for path in self.tree.glob("/proc/[0-9]*/comm"):
            if self.tree.text(path) == name + "\n":
                folder, pid = path.rsplit("/", 1)[0], int(path.split("/")[2])
                zeros = " ".join("0" for _ in range(17))
                self.tree.set(f"{folder}/status", f"Name:\t{name}\nTgid:\t{pid}\n")
                self.tree.set(f"{folder}/stat", f"{pid} ({name}) S 1 {zeros} {pid} 0 0\n")
                return name, pid
        return name, 900 + len(self.cma_tasks)

    def quiet(self, seconds):
        """Nothing new happens for so long."""
        for _ in range(seconds):
            yield None

    def available_mib(self):
        return self.files.fields(self)["MemAvailable"] // 1024

    def swap_used_mib(self):
        return self.kb(self.swap_total - self.swap_free) // 1024

    def memory_waits(self):
        """How much of their time tasks lose is set from what reclaim had to do in this second, and
        returned."""
        stalls = sum(v for name, v in self.vm.items() if name.startswith("allocstall_"))
        work = self.vm["pgscan_kswapd"] + 8 * self.vm["pgscan_direct"]
        before, self._work = self._work, (stalls, work)
        some = min(0.85, (work - before[1]) / 400_000 + (stalls - before[0]) / 300)
        self.pressure.stalls("memory", some, some * 0.55)
        self.pressure.stalls("io", min(0.5, 0.03 + some * 0.4), min(0.3, 0.02 + some * 0.25))
        return some

    # ------------------------------------------------------------------------------------- time

    def tick(self, seconds=1, render=True):
        """A second goes by: what any machine does, and all files, unless nobody is to see them."""
        self.second += seconds
        self.log.at(self.second)
        self.cma_trace.at(self.second)
        v, some = self.vm, self.rng.randrange
        for zone in self.zones:
            self._allocated(zone, some(300, 900))
        faults = some(400, 1200)
        v["pgfault"] += faults
        v["pgreuse"] += faults // 6
        v["pgfree"] += some(500, 1500)
        v["pgactivate"] += some(0, 20)
        v["pgpgin"] += some(0, 60)
        v["pgpgout"] += some(0, 90)
        for name in ("nr_dirtied", "nr_written"):
            v[name] += some(0, 20)
        self.pressure.tick(seconds)
        if render:
            self.render_all()

    def render_all(self):
        self.pressure.render()
        if self.tree.text("/dev/kmsg") is not None:
            self.log.render()
        self.render()

    def render(self):
        if self._uptime:
            up, idle = self._uptime
            self.tree.set("/proc/uptime", f"{up + self.second:.2f} {idle + self.second * self.cpus / 2:.2f}\n")
        self.files.render(self)
        for area in self.areas:
            path = f"/sys/kernel/debug/cma/{area.folder}"
            self.tree.set(f"{path}/used", f"{area.used}\n")
            self.tree.set(f"{path}/maxchunk", f"{area.largest_run}\n")
            if self.cma_tasks:
                self.tree.set(f"{path}/bitmap", area.bitmap())
        if self.cma_tasks:
            self.cma_trace.render()
        self.devices.render()
        self.tegrastats.render()


def chunks(n, size=4096):
    """Allocations come piece by piece, so that reclaim goes along with them."""
    while n > 0:
        yield min(n, size)
        n -= size
