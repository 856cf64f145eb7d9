# SPDX-License-Identifier: Apache-2.0
"""Temperatures, what slows the chip down, clocks, power."""

from ..layout import row
from ..styles import THROTTLING_LEVELS, YES_NO
from ..panels import query
from ..tables import Column, Label, table


def section(k):
    return row(
        "Heat, clocks and power",
        level(k),
        margin(k),
        saturation(k),
        mode(k),
        temperatures(k),
        margins(k),
        causes(k),
        clocks(k),
        load(k),
        engines(k, w=8),
        power(k, w=8),
        overcurrent(k, w=8),
    )


def level(k, w=6):
    return k.panels.stat(
        "Slowed down",
        "Whether heat or power limits slow the chip down now.",
        k.s("jetmem_throttling_level"),
        w=w,
        mappings=THROTTLING_LEVELS,
        fill=True,
        bounds=[("JetmemThrottling", "jetmem_throttling_level")],
        alerts=["JetmemThrottling"],
    )


def margin(k, w=6):
    return k.panels.stat(
        "To the nearest limit",
        "Degrees to the limit at which the machine warns or switches itself off, of the zone that is nearest to its own.",
        f'min({k.s("jetmem_thermal_margin_celsius", kind="=~hot|critical")})',
        w=w,
        bounds=[("JetmemThermalNearTrip", "jetmem_thermal_margin_celsius")],
        alerts=["JetmemThermalNearTrip"],
    )


def saturation(k, w=6):
    return k.panels.stat(
        "Memory bandwidth used",
        "Of what the memory gives at the highest clock that the power mode allows.",
        k.s("jetmem_emc_saturation_ratio"),
        w=w,
        bounds=[("JetmemEmcSaturated", "jetmem_emc_saturation_ratio")],
        alerts=["JetmemEmcSaturated"],
    )


def mode(k, w=6):
    return table(
        k.panels,
        "Power mode",
        "What nvpmodel has set: it decides which clocks and CPUs there are.",
        [Label("name"), Label("mode", width=70)],
        [Column(None, f'max by (name, mode) ({k.s("jetmem_power_mode_info")})', "short")],
        w=w,
        h=4,
    )


def temperatures(k, w=12):
    return k.panels.timeseries(
        "Temperatures",
        "Highest of each minute, by zone.",
        [query(k.s("jetmem_thermal_zone_max_1m_celsius"), "{{zone}} {{index}}")],
        w=w,
    )


def margins(k, w=12):
    return k.panels.timeseries(
        "Degrees to the limit",
        "Lowest of each minute, to the limits of kind hot (the machine warns) and critical (it switches itself off).",
        [query(k.s("jetmem_thermal_margin_min_1m_celsius", kind="=~hot|critical"), "{{zone}} {{index}}: {{kind}}")],
        w=w,
        calcs=("last", "min"),
        bounds=[("JetmemThermalNearTrip", "jetmem_thermal_margin_celsius")],
        alerts=["JetmemThermalNearTrip"],
    )


def causes(k, h=8):
    s = k.s
    return k.panels.timeline(
        "What slows it down",
        "Each cause that slows the chip down, or did within the minute.",
        [query(f'max by (cause) ({s("jetmem_throttle_active_max_1m")})', "{{cause}}")],
        YES_NO,
        h=h,
        unit="short",
        alerts=["JetmemThrottling"],
    )


def clocks(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Clocks",
        "Low while idle is normal; low under load is the power mode, a limit or throttling.",
        [
            query(s("jetmem_clock_hertz", domain="=~cpu|gpu|memory"), "{{domain}} {{clock}}"),
            query(s("jetmem_clock_max_hertz", domain="=~gpu|memory"), "{{domain}} {{clock}}: may go to"),
        ],
        w=w,
        low=0,
    )


def load(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Bandwidth and GPU",
        "Memory bandwidth: of the highest clock (saturation) and of the clock it had (utilisation). GPU: share of time busy.",
        [
            query(s("jetmem_emc_saturation_ratio"), "bandwidth, of the highest clock"),
            query(s("jetmem_emc_utilization_max_1m_ratio"), "bandwidth, of the clock now, highest of a minute"),
            query(s("jetmem_gpu_load_ratio"), "GPU {{clock}}"),
            query(s("jetmem_nvml_utilization_ratio"), "GPU {{gpu}} by NVML"),
        ],
        w=w,
        low=0,
        high=1,
        bounds=[("JetmemEmcSaturated", "jetmem_emc_saturation_ratio")],
        alerts=["JetmemEmcSaturated"],
    )


def engines(k, w=12):
    s = k.s
    kernel = s("jetmem_engine_load_ratio")
    by_tegrastats = s("jetmem_tegrastats_engine_utilization_ratio")
    return k.panels.timeseries(
        "Engines",
        "Load of the engines for video, images and optical flow while they are on: from the kernel, or from tegrastats "
        "where the kernel has none. DLA and PVA show only on (1) or off (0).",
        [
            query(kernel, "{{engine}}"),
            query(f"{by_tegrastats} unless on (job, instance, engine) {kernel}", "{{engine}} (tegrastats)"),
            query(s("jetmem_engine_on", engine="=~NVDLA.*|PVA.*"), "{{engine}} on"),
        ],
        w=w,
        low=0,
        high=1,
    )


def power(k, w=12):
    return k.panels.timeseries(
        "Power",
        "Highest of each minute. Rails overlap (VDD_IN feeds all others): do not add them up.",
        [query(k.s("jetmem_rail_max_1m_watts"), "{{rail}} {{index}}")],
        w=w,
    )


def overcurrent(k, w=12):
    return k.panels.timeseries(
        "Over-current protection",
        "Times a second that it steps in: some now and then is normal, all the time means that supply and load do not fit.",
        [query(f'rate({k.s("jetmem_overcurrent_events_total")}[$__rate_interval])', "{{event}}")],
        w=w,
        unit="cps",
        low=0,
        bounds=[("JetmemOverCurrent", "jetmem_overcurrent_events_total")],
        alerts=["JetmemOverCurrent"],
    )
