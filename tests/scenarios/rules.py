# SPDX-License-Identifier: Apache-2.0
"""Which scenario makes which shipped rule's condition true, and from which of its seconds on.

RULES[rule] = (scenario, second). The second is the one from which what the rule looks for is in the
files of tests/fixtures/orin-nano-8gb as they are played (--seed 1); the rule's windows, `for` and what a
trend needs to be believed come on top. Conditions hold to the end of the scenario, behind which the
machine stays as it is, but for those in UNTIL. In tests/integration/test_scenario_alerts.py the whole
daemon lives through them: no alert fires or ends before that. test_rules.py derives the seconds from the played
files again.
"""

import kernel_trouble

RULES = {
    **{f"Jetmem{line[3]}": ("kernel-trouble", second)
       for second, line in enumerate(kernel_trouble.LINES, kernel_trouble.BEGIN) if line[3]},
    "JetmemCmaExhausted": ("cma-full", 87),
    "JetmemCmaFreeLow": ("cma-borrowed", 39),
    "JetmemCmaFragmented": ("cma-exhaustion", 95),
    "JetmemCmaAllocationFailing": ("cma-exhaustion", 69),
    "JetmemDmaAllocationFailing": ("cma-exhaustion", 69),
    "JetmemBuddyFragmented": ("fragmentation", 41),
    "JetmemBelowWatermark": ("fragmentation", 421),
    "JetmemMemoryLow": ("leak", 89),
    "JetmemMemoryExhausting": ("oom", 37),
    "JetmemMemoryLeak": ("slow-leak", 61),
    "JetmemGpuFreeHidden": ("language-model", 68),
    "JetmemSwapThrash": ("thrash", 43),
    "JetmemMemoryStall": ("thrash", 54),
    "JetmemOomKill": ("oom", 62),
    "JetmemPageAllocationFailure": ("fragmentation", 61),
    "JetmemNvmapOrphansGrowing": ("slow-leak", 61),
    "JetmemNvmapCap": ("language-model", 68),
    "JetmemNvmapCarveoutFull": ("language-model", 78),
    "JetmemEmcSaturated": ("language-model", 48),
    "JetmemSmmuFault": ("smmu-storm", 11),
    "JetmemSmmuStorm": ("smmu-storm", 26),
    "JetmemSmmuSuppressed": ("smmu-storm", 31),
    "JetmemMemoryControllerError": ("smmu-storm", 11),
    "JetmemThrottling": ("thermal-throttle", 27),
    "JetmemThermalNearTrip": ("thermal-throttle", 28),
    "JetmemOverCurrent": ("power-supply", 16),
    "JetmemProbeFailing": ("probe-failures", 2701),
    "JetmemProbeMismatch": ("probe-failures", 2701),
    "JetmemProbeSlow": ("probe-failures", 2701),
    "JetmemSourceFailing": ("blind", 0),
    "JetmemSourceDenied": ("blind", 0),
    "JetmemTegrastatsStale": ("blind", 21),
    "JetmemKernelLogLost": ("blind", 41),
    "JetmemDeviceRebootedUncleanly": ("power-supply", 0),
}

# The last second of a condition that does not hold to the end. What is counted (rate, recent
# events) stops growing with the story.
UNTIL = {
    "JetmemBelowWatermark": 510,
    "JetmemMemoryExhausting": 62,
    "JetmemMemoryLeak": 4860,
    "JetmemNvmapOrphansGrowing": 4860,
    "JetmemSwapThrash": 462,
    "JetmemSmmuFault": 106,
    "JetmemSmmuStorm": 106,
    "JetmemSmmuSuppressed": 106,
    "JetmemThrottling": 160,
    "JetmemThermalNearTrip": 156,
    "JetmemOverCurrent": 415,
}

# The second in which the kernel first kills for memory, or refuses some.
REFUSED = {
    "oom": 62,
    "cma-exhaustion": 69,
    "cma-full": 93,
    "fragmentation": 61,
    "language-model": 68,
}

# No file shows these: jetmemd itself has to be started again and again in one boot, with a state
# directory of its own, its wall clock has to leap under it, or its disk has to be full.
LIVE_ONLY = ("JetmemRestartedOften", "JetmemClockStepped", "JetmemHistoryNotWritten")

# The board that is played has no EDAC controller and no control groups, and its tasks are not in the tree. That these
# fire is in tests/rules/shipped.
OTHER_BOARDS = ("JetmemMemoryErrorsCounted", "JetmemMemoryErrorsCountedUncorrected", "JetmemCgroupNearLimit",
                "JetmemCgroupOomKill", "JetmemCgroupOomKillCounted", "JetmemTaskStuck")
