# SPDX-License-Identifier: Apache-2.0
"""What every screen says of a scenario in its second `at`: tests/integration/test_scenario_alerts.py holds them to it."""

import typing


class Truth(typing.NamedTuple):
    """`since`: the second from which it is so. `who`, in which `role`, may be nobody; `act` is a command, `do` a word of the remedy."""

    at: int
    level: str
    alert: typing.Optional[str]
    since: int
    do: str
    role: typing.Optional[str] = None
    who: typing.Optional[str] = None
    act: typing.Optional[str] = None


TRUTH = {
    "blind": Truth(115, "warning", "JetmemKernelLogLost", 41, "dmesg"),
    "cma-borrowed": Truth(735, "ok", None, 39, ""),
    "cma-exhaustion": Truth(112, "critical", "JetmemDmaAllocationFailing", 69, "jetmem cma",
                            role="refused", who="tegra-capture-vi"),
    "cma-full": Truth(110, "critical", "JetmemDmaAllocationFailing", 93, "jetmem cma", role="refused", who="tegra-capture-vi"),
    "fragmentation": Truth(500, "warning", "JetmemBelowWatermark", 421, "min_free_kbytes"),
    "kernel-trouble": Truth(60, "critical", "JetmemMemoryErrorUncorrected", 21, "DIMM"),
    "language-model": Truth(330, "warning", "JetmemNvmapCap", 68, "make-room", role="refused", who="17000000.gpu"),
    "leak": Truth(110, "critical", "JetmemMemoryExhausting", 89, "Restart python3",
                  role="growing", who="python3 (container 9c0f5e7a41d2)", act="docker restart 9c0f5e7a41d2"),
    "oom": Truth(80, "critical", "JetmemOomKill", 62, "jetmem top", role="killed", who="python3"),
    "power-supply": Truth(400, "warning", "JetmemOverCurrent", 16, "supply"),
    "probe-failures": Truth(3690, "critical", "JetmemProbeMismatch", 2701, "out of service"),
    "slow-leak": Truth(4500, "warning", "JetmemNvmapOrphansGrowing", 61, "top --gpu",
                       role="growing", who="GPU and camera buffers without an nvmap client (orphans)"),
    "smmu-storm": Truth(95, "critical", "JetmemSmmuStorm", 26, "events --faults", role="named by the kernel", who="gpcdma"),
    "thermal-throttle": Truth(140, "warning", "JetmemThermalNearTrip", 28, "Fan"),
    "thrash": Truth(400, "critical", "JetmemMemoryStall", 54, "Stop the largest program",
                    role="largest holder", who="llama-server (llm.service)", act="sudo systemctl restart llm.service"),
}
