// config/rules/probe.yaml and jetmem.yaml.
#include "tests/health/shipped_rules/story.h"

namespace jetmem {

std::vector<Story> jetmem_stories() {
  return {
      {.rule = "JetmemProbeFailing",
       .fires = R"(
    0s      probe_success{kind=dmabuf,target=system} = 1  -> inactive
    5m      probe_success{kind=dmabuf,target=system} = 0  -> pending
    14m45s                                                -> pending
    15m                                                   -> firing
    20m     probe_success{kind=dmabuf,target=system} = 1  -> inactive)",
       .labels = "kind=dmabuf target=system",
       .summary = "A buffer could not be had, used and given back: dmabuf system",
       // One probe of those of every five minutes fails; a kind that is left out has no series.
       .quiet = R"(
    0s      probe_success{kind=host,target=} = 1; probe_success{kind=pinned,target=} = 1  -> inactive
    5m      probe_success{kind=host,target=} = 0          -> pending
    10m     probe_success{kind=host,target=} = 1          -> inactive
    20m     probe_success{kind=pinned,target=} = gone     -> inactive
    40m                                                   -> inactive)"},

      {.rule = "JetmemProbeMismatch",
       .fires = R"(
    0s      probe_last_mismatched_words{kind=managed,target=} = 0  -> inactive
    5m      probe_last_mismatched_words{kind=managed,target=} = 2  -> firing
    10m     probe_last_mismatched_words{kind=managed,target=} = 0  -> firing
    69m45s                                                         -> firing
    70m                                                            -> inactive)",
       .labels = "kind=managed",
       .summary = "Data is being corrupted: CPU and GPU saw 2 different words in memory of kind "
                  "managed ",
       .quiet = R"(
    0s      probe_last_mismatched_words{kind=managed,target=} = 0; probe_last_mismatched_words{kind=host,target=} = 0  -> inactive
    60m     probe_last_mismatched_words{kind=managed,target=} = gone  -> inactive
    70m                                                               -> inactive)"},

      {.rule = "JetmemProbeSlow",
       .fires = R"(
    0s      probe_slowness_ratio{kind=host,target=} = 4; throttling_level = 0  -> pending
    9m45s                                                  -> pending
    10m                                                    -> firing
    11m     throttling_level = 1                           -> firing
    12m                                                    -> inactive
    13m     throttling_level = 0                           -> inactive
    15m                                                    -> pending
    16m     probe_slowness_ratio{kind=host,target=} = 3    -> inactive)",
       .labels = "kind=host",
       .summary = "Taking a buffer takes 400% of the time that it took before at equal clocks: "
                  "host ",
       // Three times as slow under load; one bad probe; too few to compare with after a restart.
       .quiet = R"(
    0s      probe_slowness_ratio{kind=host,target=} = 3    -> inactive
    10m     probe_slowness_ratio{kind=host,target=} = 9    -> pending
    15m     probe_slowness_ratio{kind=host,target=} = 1    -> inactive
    20m     probe_slowness_ratio{kind=host,target=} = gone -> inactive
    40m                                                    -> inactive)"},

      {.rule = "JetmemSourceBlind",
       .fires = R"(
    0s      source_blind{source=thermal} = 1   -> pending
    4m45s                                      -> pending
    5m                                         -> firing
    6m      source_blind{source=thermal} = 0   -> inactive)",
       .labels = "source=thermal",
       .summary = "jetmem cannot read its source thermal any more: alerts that need it say nothing",
       // tegrastats has a rule of its own; a reader that was restarted; a source switched off.
       .quiet = R"(
    0s      source_blind{source=thermal} = 0; source_blind{source=tegrastats} = 0  -> inactive
    5m      source_blind{source=tegrastats} = 1                                    -> inactive
    6m45s   source_blind{source=tegrastats} = 0                                    -> inactive
    10m     source_blind{source=thermal} = 1                                       -> pending
    14m45s                                                                         -> pending
    15m     source_blind{source=thermal} = gone                                    -> inactive
    30m                                                                            -> inactive)"},

      {.rule = "JetmemSourceDenied",
       .fires = R"(
    0s      source_state{source=nvmap,state=denied} = 1; source_state{source=nvmap,state=ok} = 0  -> pending
    14m45s                                                                                        -> pending
    15m                                                                                           -> firing
    16m     source_state{source=nvmap,state=denied} = 0; source_state{source=nvmap,state=ok} = 1  -> inactive)",
       .labels = "source=nvmap state=denied",
       .summary = "jetmem may not read its source nvmap: alerts that need it cannot fire",
       // A board that has no nvmap, one that is switched off, a reader that comes up late.
       .quiet = R"(
    0s      source_state{source=nvmap,state=absent} = 1; source_state{source=nvmap,state=denied} = 0; source_state{source=cma,state=disabled} = 1; source_state{source=thermal,state=failed} = 1  -> inactive
    20m     source_state{source=nvmap,state=denied} = 1   -> pending
    34m45s                                                -> pending
    35m     source_state{source=nvmap,state=denied} = 0   -> inactive)"},

      {.rule = "JetmemTegrastatsStale",
       .fires = R"(
    0s      source_blind{source=tegrastats} = 1; source_blind{source=thermal} = 0  -> pending
    1m45s                                        -> pending
    2m                                           -> firing
    3m      source_blind{source=tegrastats} = 0  -> inactive)",
       .labels = "source=tegrastats",
       .summary = "tegrastats runs no more, or prints nothing that jetmem understands",
       // Somebody's "tegrastats --stop" ended it; where it is not installed there is no series.
       .quiet = R"(
    0s      source_blind{source=tegrastats} = 1     -> pending
    1m45s                                           -> pending
    2m      source_blind{source=tegrastats} = 0     -> inactive
    10m     source_blind{source=tegrastats} = gone  -> inactive
    20m                                             -> inactive)"},

      {.rule = "JetmemKernelLogLost",
       .fires = R"(
    0s      kernel_log_lost_records_total{reason=overrun} = 0    -> inactive
    1m      kernel_log_lost_records_total{reason=overrun} = 1    -> firing
    10m45s                                                       -> firing
    11m                                                          -> inactive)",
       .labels = "reason=overrun",
       .summary = "Messages of the kernel were overwritten before jetmem could read them: events "
                  "are missing from its counts",
       // What was gone before jetmem first ran; a restart of jetmem, which keeps its counts or not.
       .quiet = R"(
    0s      kernel_log_lost_records_total{reason=before_start} = 0; kernel_log_lost_records_total{reason=overrun} = 800  -> inactive
    1m      kernel_log_lost_records_total{reason=before_start} = 2100  -> inactive
    20m     kernel_log_lost_records_total{reason=overrun} = 0          -> inactive
    40m                                                                -> inactive)"},

      {.rule = "JetmemRestartedOften",
       .fires = R"(
    0s      recent_starts = 4  -> firing
    30m     recent_starts = 3  -> inactive)",
       .labels = "",
       .summary = "jetmemd was started 4 times within the last hour",
       // An update and two changes of settings.
       .quiet = R"(
    0s      recent_starts = 3     -> inactive
    60m     recent_starts = gone  -> inactive)"},

      {.rule = "JetmemDeviceRebootedUncleanly",
       .fires = R"(
    0s      boot_last_stop{clean=no} = 1; boot_last_stop{clean=yes} = 0; boot_uptime_seconds = 20s  -> firing
    60m     boot_uptime_seconds = 59m     -> firing
    65m     boot_uptime_seconds = 1h      -> inactive)",
       .labels = "clean=no",
       .summary = "The device restarted within the last hour without having been shut down",
       // Shut down in order; no history; unclean, but long ago.
       .quiet = R"(
    0s      boot_last_stop{clean=no} = 0; boot_last_stop{clean=yes} = 1; boot_uptime_seconds = 20s      -> inactive
    5m      boot_last_stop{clean=yes} = 0; boot_last_stop{clean=unknown} = 1; boot_uptime_seconds = 5m  -> inactive
    80m     boot_last_stop{clean=no} = 1; boot_last_stop{clean=unknown} = 0; boot_uptime_seconds = 2h   -> inactive)"},

      {.rule = "JetmemClockLeapt",
       .fires = R"(
    0s      clock_recent_leap_seconds = 0    -> inactive
    1m      clock_recent_leap_seconds = 2h   -> firing
    11m     clock_recent_leap_seconds = 0    -> inactive)",
       .labels = "",
       .summary = "The wall clock jumped by 2h 0m 0s: times in logs and recordings from before are "
                  "wrong by that",
       .quiet = R"(
    0s      clock_recent_leap_seconds = 0    -> inactive
    1m      clock_recent_leap_seconds = 60s  -> inactive
    11m     clock_recent_leap_seconds = gone -> inactive)"},
  };
}

}  // namespace jetmem
