# SPDX-License-Identifier: Apache-2.0
"""Temperatures, throttling, clocks, power."""

from ..layout import row
from ..styles import THROTTLING_LEVELS, YES_NO
from ..panels import query
from ..tables import Column, Label, table


def section(k):
    return row(
        "Heat, clocks and power",
        margin(k, w=8),
        saturation(k, w=8),
        mode(k, w=8),
        temperatures(k),
        margins(k),
        causes(k),
        clocks(k),
        load(k),
        engines(k, w=8),
        power(k, w=8),
        overcurrent(k, w=8),
    )


def level(k, w=4):
    return k.panels.stat(
        "Throttling",
        "Whether heat or power limits throttle the chip now.",
        k.s("jetmem_throttling_level"),
        w=w,
        mappings=THROTTLING_LEVELS,
        fill=True,
        bounds=[("JetmemThrottling", "jetmem_throttling_level")],
        alerts=["JetmemThrottling"],
    )


def margin(k, w=6):
    return k.panels.stat(
        "Degrees below the nearest trip point",
        "Distance of the hottest zone to its own hot or critical trip point, where the machine warns or shuts down.",
        f'min({k.s("jetmem_thermal_margin_celsius", kind="=~hot|critical")})',
        w=w,
        bounds=[("JetmemThermalNearTrip", "jetmem_thermal_margin_celsius")],
        alerts=["JetmemThermalNearTrip"],
    )


def saturation(k, w=6):
    return k.panels.stat(
        "Memory bandwidth used",
        "Share of the bandwidth at the highest memory clock that the power mode allows.",
        k.s("jetmem_emc_saturation_ratio"),
        w=w,
        bounds=[("JetmemEmcSaturated", "jetmem_emc_saturation_ratio")],
        alerts=["JetmemEmcSaturated"],
    )


def mode(k, w=6):
    return table(
        k.panels,
        "Power mode",
        "Mode set by nvpmodel. It limits clocks and the number of CPUs.",
        [Label("name"), Label("mode", width=70)],
        [Column(None, f'max by (name, mode) ({k.s("jetmem_power_mode_info")})', "short")],
        w=w,
        h=4,
    )


def temperatures(k, w=12):
    return k.panels.timeseries(
        "Temperatures",
        "Highest value of each minute, by zone.",
        [query(k.s("jetmem_thermal_zone_max_1m_celsius"), "{{zone}} {{index}}")],
        w=w,
    )


def margins(k, w=12):
    return k.panels.timeseries(
        "Degrees below trip points",
        "Lowest value of each minute, below the trip points hot (the machine warns) and critical (it shuts down).",
        [query(k.s("jetmem_thermal_margin_min_1m_celsius", kind="=~hot|critical"), "{{zone}} {{index}}: {{kind}}")],
        w=w,
        calcs=("last", "min"),
        bounds=[("JetmemThermalNearTrip", "jetmem_thermal_margin_celsius")],
        alerts=["JetmemThermalNearTrip"],
    )


def causes(k, h=8):
    s = k.s
    return k.panels.timeline(
        "Throttling causes",
        "Each cause that throttled the chip within the minute.",
        [query(f'max by (cause) ({s("jetmem_throttle_active_max_1m")})', "{{cause}}")],
        YES_NO,
        h=h,
        unit="short",
        alerts=["JetmemThrottling"],
    )


def clocks(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Clock frequencies",
        "Low clocks are normal while idle. Under load they mean a power mode, a limit or throttling.",
        [
            query(s("jetmem_clock_hertz", domain="=~cpu|gpu|memory"), "{{domain}} {{clock}}"),
            query(s("jetmem_clock_max_hertz", domain="=~gpu|memory"), "{{domain}} {{clock}}: maximum"),
        ],
        w=w,
        low=0,
    )


def load(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Memory bandwidth and GPU load",
        "Memory bandwidth as a share of that at the highest clock and at the current clock. GPU: share of time busy.",
        [
            query(s("jetmem_emc_saturation_ratio"), "bandwidth, at the highest clock"),
            query(s("jetmem_emc_utilization_max_1m_ratio"), "bandwidth, at the current clock, highest of a minute"),
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
        "Load of video and image engines",
        "Load of the engines for video, images and optical flow while they are on, from the kernel or else from tegrastats. "
        "DLA and PVA show only on (1) or off (0).",
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
        "Power by rail",
        "Highest value of each minute. Rails overlap (VDD_IN feeds all others): do not add them up.",
        [query(k.s("jetmem_rail_max_1m_watts"), "{{rail}} {{index}}")],
        w=w,
    )


def overcurrent(k, w=12):
    return k.panels.timeseries(
        "Over-current events",
        "Events per second. Occasional ones are normal; continuous ones mean that the supply is too weak for the load.",
        [query(f'rate({k.s("jetmem_overcurrent_events_total")}[$__rate_interval])', "{{event}}")],
        w=w,
        unit="cps",
        low=0,
        bounds=[("JetmemOverCurrent", "jetmem_overcurrent_events_total")],
        alerts=["JetmemOverCurrent"],
    )
