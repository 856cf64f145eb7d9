# SPDX-License-Identifier: Apache-2.0
"""jetmem-device: everything of one device."""

from .dashboard import dashboard, firing_annotations
from .links import DEVICE_PAGE, runbooks, TO_FLEET, TO_INCIDENT
from .sections import contiguous, faults, heat, holders, jetmem, memory, probes, verdict


def make(k):
    rows = [
        verdict.section(k),
        memory.section(k),
        contiguous.cma(k),
        contiguous.fragmentation(k),
        holders.section(k),
        faults.section(k),
        heat.section(k),
        probes.section(k),
        jetmem.section(k),
    ]
    return dashboard(
        "jetmem-device",
        "jetmem: Device",
        "One device: verdict and alerts; memory, contiguous memory and their holders; faults; heat; test allocations; jetmem itself.",
        k.site,
        rows,
        firing_annotations(k.scope),
        [TO_FLEET, TO_INCIDENT, DEVICE_PAGE, runbooks(k.site)],
        folded=True,
    )
