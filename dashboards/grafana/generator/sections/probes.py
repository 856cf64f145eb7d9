# SPDX-License-Identifier: Apache-2.0
"""Test allocations of jetmem-probe: memory allocated as a camera or a model would."""

from ..layout import row
from ..styles import GREEN, RED, words
from ..panels import query
from ..tables import Column, Label, table

SUCCESS = words(v0=("failed", RED), v1=("succeeded", GREEN))


def section(k):
    return row("Test allocations", success(k), failing(k), times(k), slowness(k), steps(k), mismatch(k), age(k))


def success(k, w=16, h=9):
    return k.panels.timeline(
        "Test allocations by kind",
        "Whether jetmem could allocate, use and free each kind of memory. A camera or model has the same result.",
        [query(f'min by (kind, target) ({k.s("jetmem_probe_success")})', "{{kind}} {{target}}")],
        SUCCESS,
        w=w,
        h=h,
        unit="short",
        alerts=["JetmemProbeFailing"],
    )


def failing(k, w=8, h=9):
    return table(
        k.panels,
        "Failed test allocations",
        "Size, step and error of each failure of the last probe.",
        [Label("kind"), Label("target"), Label("step"), Label("error")],
        [Column("size", f'max by (kind, target, step, error) ({k.s("jetmem_probe_failed_bytes")})')],
        w=w,
        h=h,
        alerts=["JetmemProbeFailing"],
        nothing="no test allocation failed",
    )


def times(k, w=12):
    return k.panels.timeseries(
        "Duration of test allocations",
        "All steps for one frame, by kind. Compare only at equal clocks.",
        [query(f'sum by (kind, target) ({k.s("jetmem_probe_step_seconds")})', "{{kind}} {{target}}")],
        w=w,
        style="steps",
        low=0,
        alerts=["JetmemProbeSlow"],
    )


def slowness(k, w=12):
    return k.panels.timeseries(
        "Test allocation time, relative to normal",
        "Duration of the last probe as a multiple of earlier ones at equal clocks.",
        [query(k.s("jetmem_probe_slowness_ratio"), "{{kind}} {{target}}")],
        w=w,
        style="steps",
        low=0,
        unit="suffix: x",
        bounds=[("JetmemProbeSlow", "jetmem_probe_slowness_ratio")],
        alerts=["JetmemProbeSlow"],
        nothing="not known: fewer than five earlier probes",
    )


def steps(k, w=12):
    return k.panels.bargauge(
        "Slowest steps of test allocations",
        "The twelve slowest steps of the last probes, for one frame.",
        f'sort_desc(topk(12, max by (kind, target, step) ({k.s("jetmem_probe_step_seconds")})))',
        "{{kind}} {{target}}: {{step}}",
        w=w,
    )


def mismatch(k, w=4, h=8):
    return k.panels.stat(
        "Corrupt words in test buffers",
        "64-bit words that differed from what CPU or GPU wrote, in the last probes. Above 0: take the device out of service.",
        f'max({k.s("jetmem_probe_last_mismatched_words")})',
        w=w,
        h=h,
        unit="short",
        bounds=[("JetmemProbeMismatch", "jetmem_probe_last_mismatched_words")],
        alerts=["JetmemProbeMismatch"],
    )


def age(k, w=8, h=8):
    s = k.s
    return table(
        k.panels,
        "Age of test allocations",
        "Age and interval of each group of probes, and probes skipped to protect the device.",
        [Label("group")],
        [
            Column("age", f'max by (group) ({s("jetmem_probe_age_seconds")})'),
            Column("interval", f'max by (group) ({s("jetmem_probe_interval_seconds")})'),
            Column("skipped", f'sum by (group) ({s("jetmem_probe_skips_total")})'),
        ],
        w=w,
        h=h,
    )
