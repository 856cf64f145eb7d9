// SPDX-License-Identifier: Apache-2.0
// rules/shipped/probe.yaml and jetmem.yaml.
#include "tests/rules/shipped/scenario.h"

namespace jetmem {

constexpr std::string_view kJetmemStories = R"(
JetmemProbeFailing kind=dmabuf target=system
    0s      probe_success{kind=dmabuf,target=system} = 1  -> inactive
    5m      probe_success{kind=dmabuf,target=system} = 0  -> pending
    14m45s                                                -> pending
    15m                                                   -> firing
    20m     probe_success{kind=dmabuf,target=system} = 1  -> inactive
  quiet  # One probe of those of every five minutes fails; a kind that is omitted has no series.
    0s      probe_success{kind=host,target=} = 1; probe_success{kind=pinned,target=} = 1  -> inactive
    5m      probe_success{kind=host,target=} = 0          -> pending
    10m     probe_success{kind=host,target=} = 1          -> inactive
    20m     probe_success{kind=pinned,target=} = gone     -> inactive

JetmemProbeMismatch kind=managed
    0s      probe_last_mismatched_words{kind=managed,target=} = 0  -> inactive
    5m      probe_last_mismatched_words{kind=managed,target=} = 2  -> firing
    10m     probe_last_mismatched_words{kind=managed,target=} = 0  -> firing
    69m45s                                                         -> firing
    70m                                                            -> inactive
  quiet
    0s      probe_last_mismatched_words{kind=managed,target=} = 0; probe_last_mismatched_words{kind=host,target=} = 0  -> inactive
    60m     probe_last_mismatched_words{kind=managed,target=} = gone  -> inactive

JetmemProbeSlow kind=host
    0s      probe_slowness_ratio{kind=host,target=} = 4; throttling_level = 0  -> pending
    9m45s                                                  -> pending
    10m                                                    -> firing
    11m     throttling_level = 1                           -> firing
    12m                                                    -> inactive
    13m     throttling_level = 0                           -> inactive
    15m                                                    -> pending
    16m     probe_slowness_ratio{kind=host,target=} = 3    -> inactive
  quiet  # Three times as slow under load; one bad probe; too few to compare with after a restart.
    0s      probe_slowness_ratio{kind=host,target=} = 3    -> inactive
    10m     probe_slowness_ratio{kind=host,target=} = 9    -> pending
    15m     probe_slowness_ratio{kind=host,target=} = 1    -> inactive
    20m     probe_slowness_ratio{kind=host,target=} = gone -> inactive

JetmemSourceFailing source=thermal
    0s      source_failing{source=thermal} = 1   -> pending
    4m45s                                      -> pending
    5m                                         -> firing
    6m      source_failing{source=thermal} = 0   -> inactive
  quiet  # tegrastats has a rule of its own; a reader that was restarted; a source switched off.
    0s      source_failing{source=thermal} = 0; source_failing{source=tegrastats} = 0  -> inactive
    5m      source_failing{source=tegrastats} = 1                                    -> inactive
    6m45s   source_failing{source=tegrastats} = 0                                    -> inactive
    10m     source_failing{source=thermal} = 1                                       -> pending
    14m45s                                                                         -> pending
    15m     source_failing{source=thermal} = gone                                    -> inactive
    30m                                                                            -> inactive

JetmemSourceDenied source=nvmap state=denied
    0s      source_state{source=nvmap,state=denied} = 1; source_state{source=nvmap,state=ok} = 0  -> pending
    14m45s                                                                                        -> pending
    15m                                                                                           -> firing
    16m     source_state{source=nvmap,state=denied} = 0; source_state{source=nvmap,state=ok} = 1  -> inactive
  quiet  # A board that has no nvmap, one that is switched off, a reader that comes up late.
    0s      source_state{source=nvmap,state=absent} = 1; source_state{source=nvmap,state=denied} = 0; source_state{source=cma,state=disabled} = 1; source_state{source=thermal,state=failed} = 1  -> inactive
    20m     source_state{source=nvmap,state=denied} = 1   -> pending
    34m45s                                                -> pending
    35m     source_state{source=nvmap,state=denied} = 0   -> inactive

JetmemTegrastatsStale source=tegrastats
    0s      source_failing{source=tegrastats} = 1; source_failing{source=thermal} = 0  -> pending
    1m45s                                        -> pending
    2m                                           -> firing
    3m      source_failing{source=tegrastats} = 0  -> inactive
  quiet  # Somebody's "tegrastats --stop" ended it; where it is not installed there is no series.
    0s      source_failing{source=tegrastats} = 1     -> pending
    1m45s                                           -> pending
    2m      source_failing{source=tegrastats} = 0     -> inactive
    10m     source_failing{source=tegrastats} = gone  -> inactive

JetmemKernelLogLost reason=overrun
    0s      kernel_log_lost_records_total{reason=overrun} = 0    -> inactive
    1m      kernel_log_lost_records_total{reason=overrun} = 1    -> firing
    10m45s                                                       -> firing
    11m                                                          -> inactive
  quiet  # What was gone before jetmem first ran; a restart of jetmem, which keeps its counts or
         # not.
    0s      kernel_log_lost_records_total{reason=before_start} = 0; kernel_log_lost_records_total{reason=overrun} = 800  -> inactive
    1m      kernel_log_lost_records_total{reason=before_start} = 2100  -> inactive
    20m     kernel_log_lost_records_total{reason=overrun} = 0          -> inactive
    40m                                                                -> inactive

JetmemHistoryNotWritten
    0s      history_up = 1; history_errors_total{reason=disk_full} = 0  -> inactive
    1m      history_up = 0; history_errors_total{reason=disk_full} = 1  -> pending
    3m      history_up = 0     -> firing
    10m     history_up = 1     -> inactive
  quiet  # The start, one write that failed, and no recorder.
    0s      history_up = 0; history_errors_total{reason=disk_full} = 0  -> inactive
    30s     history_up = 1     -> inactive
    10m     history_up = 0; history_errors_total{reason=disk_full} = 1  -> pending
    11m     history_up = 1     -> inactive
    20m     history_up = gone  -> inactive

JetmemRestartedOften
    0s      daemon_recent_starts = 4  -> firing
    30m     daemon_recent_starts = 3  -> inactive
  quiet  # An update and two changes of settings.
    0s      daemon_recent_starts = 3     -> inactive
    60m     daemon_recent_starts = gone  -> inactive

JetmemDeviceRebootedUncleanly clean=no
    0s      boot_last_shutdown{clean=no} = 1; boot_last_shutdown{clean=yes} = 0; boot_uptime_seconds = 20s  -> firing
    60m     boot_uptime_seconds = 59m     -> firing
    65m     boot_uptime_seconds = 1h      -> inactive
  quiet  # Shut down in order; no history; unclean, but long ago.
    0s      boot_last_shutdown{clean=no} = 0; boot_last_shutdown{clean=yes} = 1; boot_uptime_seconds = 20s      -> inactive
    5m      boot_last_shutdown{clean=yes} = 0; boot_last_shutdown{clean=unknown} = 1; boot_uptime_seconds = 5m  -> inactive
    80m     boot_last_shutdown{clean=no} = 1; boot_last_shutdown{clean=unknown} = 0; boot_uptime_seconds = 2h   -> inactive

JetmemClockStepped
    0s      clock_step_seconds = 0    -> inactive
    1m      clock_step_seconds = 2h   -> firing
    11m     clock_step_seconds = 0    -> inactive
  quiet
    0s      clock_step_seconds = 0    -> inactive
    1m      clock_step_seconds = 60s  -> inactive
    11m     clock_step_seconds = gone -> inactive
)";

std::vector<Scenario> jetmem_stories() { return stories_of(kJetmemStories); }

}  // namespace jetmem
