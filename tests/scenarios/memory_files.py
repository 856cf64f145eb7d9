# SPDX-License-Identifier: Apache-2.0
"""The texts of meminfo, vmstat, zoneinfo, buddyinfo and pagetypeinfo: read once, written again with
other numbers and everything else as the fixture's kernel prints it."""

import re

# meminfo's fields that are a counter of vmstat, in kB.
OF_VMSTAT = {"Mlocked": "nr_mlock", "Dirty": "nr_dirty", "Shmem": "nr_shmem", "Mapped": "nr_mapped", "AnonPages": "nr_anon_pages",
             "SReclaimable": "nr_slab_reclaimable", "SUnreclaim": "nr_slab_unreclaimable", "PageTables": "nr_page_table_pages",
             "SwapCached": "nr_swapcached", "Unevictable": "nr_unevictable", "CmaFree": "nr_free_cma", "MemFree": "nr_free_pages",
             "Writeback": "nr_writeback", "Active(anon)": "nr_active_anon", "Inactive(anon)": "nr_inactive_anon",
             "Active(file)": "nr_active_file", "Inactive(file)": "nr_inactive_file"}


class MemoryFiles:
    def __init__(self, tree):
        self._tree = tree
        self._meminfo = tree.text("/proc/meminfo").splitlines()
        self.mem = {line.split(":")[0]: int(line.split()[1]) for line in self._meminfo}
        self.committed_kb = self.mem["Committed_AS"]
        self.nvmap_used_kb = self.mem.get("NvMapMemUsed", 0)
        self.vm = {name: int(value) for name, value in (line.split() for line in tree.text("/proc/vmstat").splitlines())}
        self.zones, self._zone_lines = self._read_zoneinfo()
        self._pagetypeinfo = [_pagetype_part(line) for line in tree.text("/proc/pagetypeinfo").splitlines()]
        self.free, self.blocks, self.pages_per_block = self._read_types()

    def _read_zoneinfo(self):
        """Zones by name, and the lines as (text, counters, name): the number behind the text is counters[name]."""
        zones, lines, zone, at_node = {}, [], {}, False
        for line in self._tree.text("/proc/zoneinfo").splitlines():
            part = (line, None, None)
            if m := re.fullmatch(r"Node 0, zone +(\w+)", line):
                zone, at_node = zones.setdefault(m[1], {"nr_free_pages": 0}), False
            elif "per-node stats" in line:
                at_node = True
            elif m := re.fullmatch(r"(  pages free +)\d+", line):
                at_node = False
                part = (m[1], zone, "nr_free_pages")
            elif m := re.match(r"        protection: \((.*)\)", line):
                zone["protection"] = [int(n) for n in m[1].split(", ")]
            elif m := re.fullmatch(r"      (  )?(\w+) +(\d+)", line):
                if not at_node:
                    zone[m[2]] = int(m[3])
                if not m[1]:
                    part = (f"      {m[2]:<12} ", self.vm if at_node else zone, m[2])
            lines.append(part)
        return {name: z for name, z in zones.items() if z["present"]}, lines

    def _read_types(self):
        free, blocks, names = {}, {}, []
        for line in self._tree.text("/proc/pagetypeinfo").splitlines():
            if m := re.fullmatch(r"Pages per block: +(\d+)", line):
                per_block = int(m[1])
            elif line.startswith("Number of blocks type"):
                names = line.split()[4:]
            elif m := re.fullmatch(r"Node +0, zone +(\w+), type +(\w+) (.*)", line):
                free.setdefault(m[1], {})[m[2]] = [int(n) for n in m[3].split()]
            elif m := re.fullmatch(r"Node 0, zone +(\w+) (.*)", line):
                blocks[m[1]] = dict(zip(names, map(int, m[2].split())))
        return free, blocks, per_block

    # ---------------------------------------------------------------------------------- rendering

    def render(self, machine):
        self._count(machine)
        self._tree.set("/proc/vmstat", "".join(f"{n} {v}\n" for n, v in self.vm.items()))
        self._tree.set("/proc/buddyinfo", "".join(
            f"Node 0, zone {zone:>8} " + "".join(f"{sum(n):6} " for n in zip(*self.free[zone].values())) + "\n" for zone in self.zones))
        self._tree.set("/proc/pagetypeinfo", "\n".join(map(self._pagetype_line, self._pagetypeinfo)) + "\n")
        self._tree.set("/proc/zoneinfo", self._zoneinfo_text())
        fields = self.fields(machine)
        self._tree.set("/proc/meminfo", "".join(self._meminfo_line(line, fields) + "\n" for line in self._meminfo))

    def _count(self, machine):
        """The counters that are sums of others."""
        for zone, z in self.zones.items():
            z["nr_free_pages"] = machine.free_in(zone)
            z["nr_free_cma"] = machine.free_in(zone, "CMA")
        for name in next(iter(self.zones.values())):
            if name in self.vm:
                self.vm[name] = sum(z[name] for z in self.zones.values())

    def _pagetype_line(self, part):
        head, zone, kind = part
        if kind:
            return head + "".join(f"{n:6} " for n in self.free[zone][kind])
        return head + "".join(f"{n:12} " for n in self.blocks[zone].values()) if zone else head

    def _zoneinfo_text(self):
        return "".join(f"{text}{counters[name]}\n" if name else text + "\n" for text, counters, name in self._zone_lines)

    def _meminfo_line(self, line, fields):
        name = line.split(":")[0]
        if name not in fields:
            return line
        return f"{name + ':':<16}{fields[name]:>8} kB"

    def fields(self, machine):
        """meminfo's fields in kB."""
        vm, kb = self.vm, machine.kb
        f = {name: kb(vm[of]) for name, of in OF_VMSTAT.items() if of in vm}
        swapcached = vm.get("nr_swapcached", 0)
        f["Cached"] = kb(vm["nr_file_pages"] - swapcached) - self.mem["Buffers"]
        f["Active"] = f["Active(anon)"] + f["Active(file)"]
        f["Inactive"] = f["Inactive(anon)"] + f["Inactive(file)"]
        f["Slab"] = f["SReclaimable"] + f["SUnreclaim"]
        f["KReclaimable"] = f["SReclaimable"] + kb(vm.get("nr_kernel_misc_reclaimable", 0))
        f["SwapFree"] = kb(machine.swap_free)
        f["Committed_AS"] = self.committed_kb
        f["NvMapMemUsed"] = self.nvmap_used_kb
        f["MemAvailable"] = kb(self._available(machine))
        return {name: value for name, value in f.items() if name in self.mem}

    def _available(self, machine):
        """si_mem_available() of the kernel: half of cache and slab, at most the low watermark, is not counted."""
        vm, low = self.vm, machine.mark("low")
        reserve = sum(min(z["managed"], max(z["protection"]) + z["high"]) for z in self.zones.values())
        cache = vm["nr_active_file"] + vm["nr_inactive_file"]
        slab = vm["nr_slab_reclaimable"] + vm.get("nr_kernel_misc_reclaimable", 0)
        return max(0, machine.free_pages - reserve + cache - min(cache // 2, low) + slab - min(slab // 2, low))


def _pagetype_part(line):
    """(what stands before the numbers, zone, type); a line without numbers of ours is its own text."""
    if m := re.fullmatch(r"(Node +0, zone +(\w+), type +(\w+) ).*", line):
        return m[1], m[2], m[3]
    if m := re.fullmatch(r"(Node 0, zone +(\w+) ).*", line):
        return m[1], m[2], None
    return line, None, None
