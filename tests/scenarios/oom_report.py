# SPDX-License-Identifier: Apache-2.0
"""What the kernel prints when it kills a process because memory ran out (5.15: mm/oom_kill.c,
mm/page_alloc.c), with the machine's numbers of that moment."""

import re

import free_lists

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LETTERS = {"Unmovable": "U", "Movable": "M", "Reclaimable": "E", "HighAtomic": "H", "CMA": "C", "Isolate": "I"}


def show(machine, asker, tasks, victim):
    """`asker`: (pid, comm) that found no memory; `tasks` and `victim`: dicts of what each has."""
    say = machine.log.print
    head(machine, *asker, "invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
         ("dump_header+0x4c/0x214", "oom_kill_process+0x23c/0x240", "out_of_memory+0xf4/0x354", "__alloc_pages_slowpath.constprop.0+0x8bc/0xb1c",
          "__alloc_pages+0x2c8/0x340", "alloc_pages_vma+0xb8/0x2a0", "do_anonymous_page+0x9c/0x3c4", "handle_pte_fault+0x188/0x1e0",
          "__handle_mm_fault+0x1d8/0x3a4", "handle_mm_fault+0xd8/0x27c", "do_page_fault+0x138/0x3d0", "do_translation_fault+0xb0/0xc4",
          "el0t_64_sync+0x1a0/0x1a4"))
    memory(machine, say)
    table(machine, say, tasks)
    say(6, f"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg={victim['memcg']},"
           f"task={victim['comm']},pid={victim['pid']},uid={victim['uid']}")
    kb = machine.kb
    say(3, f"Out of memory: Killed process {victim['pid']} ({victim['comm']}) total-vm:{kb(victim['vm'])}kB, anon-rss:{kb(victim['anon'])}kB, "
           f"file-rss:{kb(victim['file'])}kB, shmem-rss:0kB, UID:{victim['uid']} pgtables:{victim['pgtables_kb']}kB oom_score_adj:0")


def page_failure(machine, pid, comm, order, mode):
    """What it prints when it has no such block (5.15: warn_alloc() of mm/page_alloc.c)."""
    head(machine, pid, f"{comm}:", f"page allocation failure: order:{order}, mode:{mode}, nodemask=(null),cpuset=/,mems_allowed=0",
         ("warn_alloc+0x114/0x190", "__alloc_pages_slowpath.constprop.0+0xa94/0xb1c", "__alloc_pages+0x2c8/0x340", "kmalloc_order+0x48/0x100",
          "kmalloc_order_trace+0x3c/0x110"))
    memory(machine, machine.log.print)


def head(machine, pid, comm, what, calls):
    say = machine.log.print
    release = machine.tree.text("/proc/sys/kernel/osrelease").strip()
    build = (machine.tree.text("/proc/sys/kernel/version") or "#1").split()[0]
    cpu = machine.rng.randrange(machine.cpus)
    say(4, f"{comm} {what}")
    say(4, f"CPU: {cpu} PID: {pid} Comm: {comm.rstrip(':')} Tainted: G           OE     {release} {build}")
    say(4, "Hardware name: " + hardware(machine.tree))
    say(4, "Call trace:")
    for line in ("dump_backtrace+0x0/0x1d0", "show_stack+0x30/0x40", "dump_stack_lvl+0x68/0x84", "dump_stack+0x18/0x34", *calls):
        say(4, " " + line)


def hardware(tree):
    """As UEFI tells it: maker, board, and its own version."""
    model = (tree.text("/proc/device-tree/model") or "NVIDIA Jetson").rstrip("\0")
    m = re.match(r"# R(\d+) \(release\), REVISION: ([\d.]+), GCID: (\d+).* DATE: \w+ (\w+) +(\d+) \S+ \S+ (\d{4})", tree.text("/etc/nv_tegra_release") or "")
    return f"NVIDIA {model}/Jetson" + (f", BIOS {m[1]}.{m[2]}-gcid-{m[3]} {MONTHS.index(m[4]) + 1:02}/{int(m[5]):02}/{m[6]}" if m else "")


def reaped(machine, victim):
    machine.log.print(6, f"oom_reaper: reaped process {victim['pid']} ({victim['comm']}), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB")


def memory(machine, say):
    v, kb = machine.vm, machine.kb
    say(4, "Mem-Info:")
    say(4, f"active_anon:{v['nr_active_anon']} inactive_anon:{v['nr_inactive_anon']} isolated_anon:{v['nr_isolated_anon']}\n"
           f" active_file:{v['nr_active_file']} inactive_file:{v['nr_inactive_file']} isolated_file:{v['nr_isolated_file']}\n"
           f" unevictable:{v['nr_unevictable']} dirty:{v['nr_dirty']} writeback:{v['nr_writeback']}\n"
           f" slab_reclaimable:{v['nr_slab_reclaimable']} slab_unreclaimable:{v['nr_slab_unreclaimable']}\n"
           f" mapped:{v['nr_mapped']} shmem:{v['nr_shmem']} pagetables:{v['nr_page_table_pages']} bounce:{v['nr_bounce']}\n"
           f" kernel_misc_reclaimable:{v['nr_kernel_misc_reclaimable']}\n"
           f" free:{machine.free_pages} free_pcp:312 free_cma:{machine.free_cma}")
    say(4, "Node 0 " + " ".join(f"{name}:{kb(v['nr_' + name])}kB" for name in ("active_anon", "inactive_anon", "active_file", "inactive_file", "unevictable"))
        + f" isolated(anon):0kB isolated(file):0kB mapped:{kb(v['nr_mapped'])}kB dirty:{kb(v['nr_dirty'])}kB writeback:0kB shmem:{kb(v['nr_shmem'])}kB "
          f"shmem_thp: 0kB shmem_pmdmapped: 0kB anon_thp: {v['nr_anon_transparent_hugepages'] * 2048}kB writeback_tmp:0kB "
          f"kernel_stack:{v['nr_kernel_stack']}kB pagetables:{kb(v['nr_page_table_pages'])}kB all_unreclaimable? yes")
    for name, z in machine.zones.items():
        high_atomic = kb(machine.blocks[name]["HighAtomic"] * machine.files.pages_per_block)
        say(4, f"Node 0 {name} free:{kb(machine.free_in(name))}kB min:{kb(z['min'])}kB low:{kb(z['low'])}kB high:{kb(z['high'])}kB "
               f"reserved_highatomic:{high_atomic}KB "
            + " ".join(f"{k}:{kb(z['nr_zone_' + k])}kB" for k in ("active_anon", "inactive_anon", "active_file", "inactive_file", "unevictable"))
            + f" writepending:{kb(z['nr_zone_write_pending'])}kB present:{kb(z['present'])}kB managed:{kb(z['managed'])}kB mlocked:{kb(z['nr_mlock'])}kB "
              f"bounce:0kB free_pcp:624kB local_pcp:0kB free_cma:{kb(machine.free_in(name, 'CMA'))}kB")
        say(4, "lowmem_reserve[]: " + " ".join(map(str, z["protection"])))
    for name in machine.zones:
        say(4, f"Node 0 {name}: " + free_blocks(machine, name))
    say(6, "Node 0 hugepages_total=0 hugepages_free=0 hugepages_surp=0 hugepages_size=2048kB")
    say(4, f"{v['nr_file_pages']} total pagecache pages")
    say(4, f"{v.get('nr_swapcached', 0)} pages in swap cache")
    say(4, f"Free swap  = {kb(machine.swap_free)}kB")
    say(4, f"Total swap = {kb(machine.swap_total)}kB")
    present, managed = (sum(z[k] for z in machine.zones.values()) for k in ("present", "managed"))
    say(4, f"{present} pages RAM")
    say(4, "0 pages HighMem/MovableOnly")
    say(4, f"{present - managed} pages reserved")
    say(4, f"{sum(a.count for a in machine.areas)} pages cma reserved")


def free_blocks(machine, zone):
    lists = machine.free[zone]
    text = ""
    for order, counts in enumerate(zip(*lists.values())):
        letters = "".join(sorted(LETTERS[kind] for kind, n in zip(lists, counts) if n))
        text += f"{sum(counts)}*{machine.kb(1 << order)}kB " + (f"({letters}) " if letters else "")
    return text + f"= {machine.kb(sum(free_lists.pages(c) for c in lists.values()))}kB"


def table(machine, say, tasks):
    say(6, "Tasks state (memory values in pages):")
    say(6, "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name")
    for t in tasks:
        say(6, f"[{t['pid']:7}] {t['uid']:5} {t['pid']:5} {t['vm']:8} {t['anon'] + t['file']:8} {t['pgtables_kb'] * 1024:8} {t['swapped']:8} {t.get('adj', 0):13} {t['comm']}")
