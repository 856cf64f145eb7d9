# SPDX-License-Identifier: Apache-2.0
"""jetmem-incident: one device around a time, in the order of an investigation."""

from .dashboard import annotation, dashboard, firing_annotations
from .layout import row
from .links import DEVICE_PAGE, runbooks, TO_DEVICE, TO_FLEET
from .sections import changes, contiguous, faults, heat, holders, jetmem, memory, probes, verdict


def make(k):
    rows = [
        row(
            "Overview",
            *verdict.stats(k),
            verdict.timeline(k, h=6),
            verdict.alerts(k, w=12, h=6),
            changes.grew(k, w=12, h=6),
            memory.course(k, w=24, h=7),
        ),
        row(
            "Kernel events",
            faults.new_events(k, w=24, h=8),
            faults.in_time(k),
            faults.clients_in_time(k),
            faults.kills_in_time(k),
            faults.faults(k),
        ),
        row("Memory", memory.stalls(k), memory.zones(k), memory.work(k), memory.swap(k)),
        row("Contiguous memory", contiguous.free(k), contiguous.refused(k, h=9), contiguous.heat(k)),
        row("Memory holders", holders.groups(k), holders.nvmap(k), holders.dmabuf(k)),
        row(
            "Heat and test allocations",
            heat.causes(k, h=7),
            heat.margins(k),
            heat.load(k),
            probes.success(k, w=12, h=8),
            probes.times(k),
        ),
        changes.section(k),
        row("Unreadable sources and losses", jetmem.blindness(k, h=9), jetmem.losses(k), jetmem.rounds(k, w=24, h=8)),
    ]
    s = k.s
    annotations = firing_annotations(k.scope) + [
        annotation(
            "Kernel events",
            f'{s("jetmem_kernel_event_last_seen_timestamp_seconds")} * 1000',
            "purple",
            "{{kind}}",
            text="last of this kind in the kernel log",
            value_is_time=True,
        ),
        annotation(
            "Boots",
            f'{s("jetmem_boot_time_seconds")} * 1000',
            "dark-red",
            "boot",
            text="{{instance}} booted",
            value_is_time=True,
        ),
        annotation(
            "Starts of jetmemd",
            f'{s("jetmem_process_start_time_seconds", process="jetmemd")} * 1000',
            "blue",
            "jetmemd started",
            value_is_time=True,
        ),
        annotation(
            "Changes and marks",
            f'{s("jetmem_last_change_timestamp_seconds")} * 1000',
            "green",
            "{{what}}",
            text="changed, or a mark",
            value_is_time=True,
        ),
    ]
    return dashboard(
        "jetmem-incident",
        "jetmem: Incident",
        "One device around a time: verdict, alerts with their runbooks, and which processes grew; folded below: kernel "
        "events, the memory that ran out, its holders, and whether jetmem could read its sources. Set the time range to "
        "the incident.",
        k.site,
        rows,
        annotations,
        [TO_DEVICE, TO_FLEET, DEVICE_PAGE, runbooks(k.site)],
        since="now-1h",
        refresh="",
        folded=True,
    )
