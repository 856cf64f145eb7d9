# SPDX-License-Identifier: Apache-2.0
"""Queries that no daemon of the lab can have data for, and why. One that has data, or is gone, must leave this list."""

NO_DATA = {
    "jetmem-device / Largest process groups / F": "a group of processes that grows for half an hour: no scenario lasts that long and has one",
    "jetmem-device / GPU memory by NVML / B": "a card with memory of its own: the boards' GPUs take the machine's",
}
