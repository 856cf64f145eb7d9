# SPDX-License-Identifier: Apache-2.0
"""What jetmem-probe finds when it takes memory as a camera or a model would."""

from ..layout import row
from ..styles import GREEN, RED, words
from ..panels import query
from ..tables import Column, Label, table

SUCCESS = words(v0=("refused", RED), v1=("had", GREEN))


def section(k):
    return row("Probes", success(k), failing(k), times(k), slowness(k), steps(k), mismatch(k), age(k))


def success(k, w=16, h=9):
    return k.panels.timeline(
        "Can memory be had?",
        "Each kind of memory that jetmem took, used and gave back. What it meets, a camera or a model meets too.",
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
        "What failed",
        "Size, step and error of what the last probe could not have.",
        [Label("kind"), Label("target"), Label("step"), Label("error")],
        [Column("size", f'max by (kind, target, step, error) ({k.s("jetmem_probe_failed_bytes")})')],
        w=w,
        h=h,
        alerts=["JetmemProbeFailing"],
        nothing="nothing failed",
    )


def times(k, w=12):
    return k.panels.timeseries(
        "Time of a whole probe",
        "All steps with a whole frame, by kind. Compare only at equal clocks.",
        [query(f'sum by (kind, target) ({k.s("jetmem_probe_step_seconds")})', "{{kind}} {{target}}")],
        w=w,
        style="steps",
        low=0,
        alerts=["JetmemProbeSlow"],
    )


def slowness(k, w=12):
    return k.panels.timeseries(
        "Slower than before?",
        "Time of the last probe as a multiple of its own past at equal clocks.",
        [query(k.s("jetmem_probe_slowness_ratio"), "{{kind}} {{target}}")],
        w=w,
        style="steps",
        low=0,
        unit="suffix: x",
        bounds=[("JetmemProbeSlow", "jetmem_probe_slowness_ratio")],
        alerts=["JetmemProbeSlow"],
        nothing="not known: fewer than five probes to compare with",
    )


def steps(k, w=12):
    return k.panels.bargauge(
        "Slowest steps now",
        "The twelve slowest steps of the last probes with a whole frame.",
        f'sort_desc(topk(12, max by (kind, target, step) ({k.s("jetmem_probe_step_seconds")})))',
        "{{kind}} {{target}}: {{step}}",
        w=w,
    )


def mismatch(k, w=4, h=8):
    return k.panels.stat(
        "Corrupt words",
        "64-bit words that were not what CPU or GPU had written, in the last probes. Any at all: take the device out of service.",
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
        "How old",
        "Since what is shown was measured, how often that is, and probes omitted to spare the device.",
        [Label("group")],
        [
            Column("age", f'max by (group) ({s("jetmem_probe_age_seconds")})'),
            Column("interval", f'max by (group) ({s("jetmem_probe_interval_seconds")})'),
            Column("omitted", f'sum by (group) ({s("jetmem_probe_skips_total")})'),
        ],
        w=w,
        h=h,
    )
