# SPDX-License-Identifier: Apache-2.0
"""jetmem itself: what it sees and does not, what it costs, what it lost."""

from ..layout import row
from ..styles import BLUE, GRAY, GREEN, ORANGE, RED, text_words, words
from ..panels import BARS, query
from ..tables import Column, Label, table
from .verdict import ANY_IS_BAD, ANY_IS_WARNING

# Counters of what jetmem could not do or keep: (metric, what is shown of it, labels).
LOSSES = (
    ("jetmem_kernel_log_lost_records_total", "kernel log records overwritten before read", {"reason": "overrun"}),
    ("jetmem_kernel_log_journal_losses_total", "gaps in the journal", {}),
    ("jetmem_history_lost_snapshots_total", "recorder snapshots lost", {}),
    ("jetmem_history_lost_events_total", "recorder events lost", {}),
    ("jetmem_history_errors_total", "recorder writes failed", {}),
    ("jetmem_history_quarantined_files_total", "damaged history files quarantined", {}),
    ("jetmem_history_read_errors_total", "history queries answered without the file", {}),
    ("jetmem_http_history_timeouts_total", "history queries timed out", {}),
    ("jetmem_boot_history_errors_total", "boot history errors", {}),
    ("jetmem_log_dropped_total", "log entries dropped", {}),
    ("jetmem_log_failures_total", "log entries refused", {}),
    ("jetmem_alerts_dropped_total", "alerts not followed", {}),
    ("jetmem_state_file_failures_total", "state files not read or written", {}),
    ("jetmem_notifications_dropped_total", "notifications dropped", {}),
    ("jetmem_notifications_total", "notifications failed", {"result": "!=ok"}),
    ("jetmem_captures_total", "bundles not written", {"outcome": "!=ok"}),
    ("jetmem_sample_cycles_missed_total", "sample cycles missed", {}),
    ("jetmem_reader_timeouts_total", "reads that hung", {}),
    ("jetmem_reader_failures_total", "readers that failed", {}),
    ("jetmem_program_failures_total", "programs that failed", {}),
    ("jetmem_program_lost_lines_total", "program output lines not read", {}),
    ("jetmem_probe_results_dropped_total", "probe results dropped", {}),
    ("jetmem_http_accept_failures_total", "connections not accepted", {}),
    ("jetmem_http_listen_failures_total", "addresses not listened on", {}),
    ("jetmem_http_refused_total", "connections and requests refused over a limit", {}),
    ("jetmem_http_auth_failures_total", "requests without the right password", {}),
    ("jetmem_http_tls_handshake_failures_total", "TLS handshakes that failed", {}),
)
# What is or is not as it should be, now: (metric, its count of what is wrong, what is shown of it).
FAULTS = (
    ("jetmem_rules", "max({}) == bool 0", "no rules are evaluated (1: yes)"),
    ("jetmem_rule_config_errors", "max({})", "errors in the rules"),
    ("jetmem_rules_series_refused", "max({})", "series not evaluated, limit reached"),
    ("jetmem_source_dropped_samples", "sum({})", "samples omitted, over the limit"),
    ("jetmem_duplicate_series", "max({})", "duplicate series omitted"),
    ("jetmem_processes_omitted", "sum({})", "processes omitted"),
    ("jetmem_dmabuf_processes_denied", "max({})", "processes whose DMA-BUFs are unreadable (permission)"),
    ("jetmem_tegrastats_unknown_tokens", "max({})", "words of tegrastats not understood"),
    ("jetmem_clock_step_seconds", "max({})", "seconds that the clock stepped"),
    ("jetmem_readers_wedged", "max({})", "readers stuck in the kernel"),
    ("jetmem_program_wedged", "sum({})", "programs stuck in the kernel"),
    ("jetmem_notifier_wedged", "max({})", "alerts' program stuck in the kernel"),
    ("jetmem_notifier_orphan_processes", "max({})", "processes that alerts' program left"),
    ("jetmem_history_up", "max({}) == bool 0", "recorder cannot write (1: yes)"),
    ("jetmem_http_history_stuck", "max({})", "history does not answer"),
)
STARTS = (
    ("jetmem_boots_total", {}, "boots seen"),
    ("jetmem_daemon_starts_total", {}, "starts of jetmemd"),
    ("jetmem_daemon_recent_starts", {}, "starts of jetmemd within the hour"),
    ("jetmem_unclean_shutdowns_total", {"of": "device"}, "times the device went down by itself"),
    ("jetmem_unclean_shutdowns_total", {"of": "jetmem"}, "times jetmemd was killed or crashed"),
    ("jetmem_boot_last_shutdown", {"clean": "no"}, "the boot before ended by itself (1: yes)"),
)
STATES = text_words(ok=GREEN, absent=GRAY, denied=ORANGE, failed=RED, blind=RED, pending=BLUE, disabled=GRAY)
BLIND = words(v0=("ok or absent", GREEN), v1=("blind", RED))


def section(k):
    return row(
        "jetmem itself", sources(k), blindness(k), losses(k), rounds(k), cost(k), recorder(k), standing(k), starts(k)
    )


def sources(k, w=12, h=14):
    s = k.s
    labels = "source, state"
    return table(
        k.panels,
        "Sources",
        "Each source and its state: ok; absent, this kernel or board has none; denied, it needs privilege; failed; pending; disabled. A panel that "
        "says that something is not available here has its reason here.",
        [Label("source"), Label("state", width=90, mappings=STATES)],
        [
            Column(None, f'max by ({labels}) ({s("jetmem_source_state")}) == 1', "short"),
            Column("age", f'max by (source) ({s("jetmem_source_age_seconds")})'),
            Column("every", f'max by (source) ({s("jetmem_source_interval_seconds")})'),
            Column("took", f'max by (source) ({s("jetmem_source_duration_seconds")})'),
            Column(
                "errors", f'sum by (source) ({s("jetmem_source_errors_total")})', bounds=ANY_IS_WARNING, look="text"
            ),
            Column("values omitted", f'sum by (source) ({s("jetmem_source_absent_values")})'),
        ],
        w=w,
        h=h,
        sort="source",
        unit="short",
        alerts=["JetmemSourceFailing", "JetmemSourceDenied", "JetmemTegrastatsStale"],
    )


def blindness(k, w=12, h=14):
    return k.panels.timeline(
        "Blind",
        "Sources that should be read and could not be. Those that this device has not are not here.",
        [query(f'max by (source) ({k.s("jetmem_source_failing")})', "{{source}}")],
        BLIND,
        w=w,
        h=h,
        unit="short",
        alerts=["JetmemSourceFailing"],
    )


def losses(k, w=12, h=9):
    # One query: two dozen would be asked for at each look.
    all_of_them = " or ".join(
        _labelled(f"sum(increase({k.s(name, **labels)}[$__rate_interval]))", what) for name, what, labels in LOSSES
    )
    return k.panels.timeseries(
        "Lost or not done",
        f"What jetmem could not read, keep or tell, as it is counted. All of it should be 0. {BARS}",
        [query(all_of_them, "{{what}}")],
        w=w,
        h=h,
        style="bars",
        stack=True,
        low=0,
        unit="short",
        calcs=("max",),
        alerts=["JetmemKernelLogLost"],
        nothing="unknown",
    )


def rounds(k, w=12, h=9):
    s = k.s
    return k.panels.timeseries(
        "Sampling",
        "How late rounds began and how long they took, the worst of each minute. High lag means that the machine is too busy to run even this.",
        [
            query(s("jetmem_sample_cycle_lag_max_1m_seconds"), "late by"),
            query(s("jetmem_sample_cycle_duration_max_1m_seconds"), "took"),
            query(s("jetmem_rule_evaluation_duration_seconds"), "judging the rules took"),
        ],
        w=w,
        h=h,
        low=0,
    )


def cost(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Processor time",
        "Of each of jetmem's processes, as a share of one CPU.",
        [query(f'rate({s("jetmem_process_cpu_seconds_total")}[$__rate_interval])', "{{process}}")],
        w=w,
        unit="percentunit",
        low=0,
    )


def recorder(k, w=12):
    s = k.s
    return k.panels.timeseries(
        "Memory and disk",
        "Memory of jetmem's processes, and what the flight recorder takes of the disk.",
        [
            query(s("jetmem_process_resident_memory_bytes"), "{{process}}: memory"),
            query(s("jetmem_history_bytes"), "recorder: disk"),
            query(s("jetmem_history_max_bytes"), "recorder: may take"),
        ],
        w=w,
        low=0,
    )


def _labelled(expression, what):
    return f'label_replace({expression}, "what", "{what}", "", "")'


def standing(k, w=12, h=14):
    s = k.s
    expression = " or ".join(_labelled(how.format(s(name)), what) for name, how, what in FAULTS)
    return k.panels.bargauge(
        "Should all be 0",
        "Mistakes and what hangs, now.",
        expression,
        "{{what}}",
        w=w,
        h=h,
        unit="short",
        bounds=ANY_IS_BAD,
        nothing="unknown",
    )


def starts(k, w=12, h=14):
    s = k.s
    return table(
        k.panels,
        "Starts and reboots",
        "How often, as long as the history reaches; and how the boot before this one ended.",
        [Label("what")],
        [
            Column(
                "count",
                " or ".join(_labelled(f"max({s(name, **labels)})", what) for name, labels, what in STARTS),
                "short",
            )
        ],
        w=w,
        h=h,
        alerts=["JetmemRestartedOften", "JetmemDeviceRebootedUncleanly"],
    )
