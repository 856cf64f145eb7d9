# SPDX-License-Identifier: Apache-2.0
# What the units may, as systemd counts it; what of it the processes hold; and that no source is lost by it.
exposure=$(systemd-analyze security jetmemd.service --no-pager | sed -n 's/.*: \([0-9.]*\) .*/\1/p')
awk -v e="$exposure" 'BEGIN {exit !(e != "" && e <= 1.7)}' && good - "exposure of jetmemd.service: $exposure" || bad "exposure of jetmemd.service: $exposure, more than 1.7"
for unit in jetmem-reader@x jetmem-probe@x jetmem-nvml@x jetmem-iomem; do
  echo "$unit $(systemd-analyze security $unit.service --no-pager | tail -n 1)"
done
pid=$(systemctl show -P MainPID jetmemd)
grep -q '^CapEff:	0000000000000000$' /proc/$pid/status && grep -q '^Seccomp:	2$' /proc/$pid/status &&
  grep -q '^NoNewPrivs:	1$' /proc/$pid/status || bad "jetmemd's own status: $(grep -E 'Cap|Seccomp|NoNew' /proc/$pid/status)"
[ "$(cat /proc/$pid/oom_score_adj)" = -900 ] || bad "oom_score_adj is $(cat /proc/$pid/oom_score_adj)"
reader=$(pgrep -o jetmem-reader)
for child in $(pgrep -P "$pid"); do
  [ "$(cat "/proc/$child/oom_score_adj")" -ge 0 ] || bad "$(cat "/proc/$child/comm") inherits: $(cat "/proc/$child/oom_score_adj")"
done
[ "$(cat /proc/$reader/oom_score_adj)" = -500 ] || bad "the reader inherits: $(cat /proc/$reader/oom_score_adj)"
# The same sources by root without a sandbox, and by the daemon in its own.
jetmem sources --json | sed -n 's/.*"\(source\|state\)": "\([a-z_]*\)".*/\2/p' | paste - - >/tmp/by-root
# A source that was absent is looked for once a minute: one that appeared just now is not there yet. The probe alone may
# be pending, which runs each five minutes, over restarts too.
agree() {
  page || return 1
  lost='' same=0
  while read -r name state; do
    daemons=$(state_on_page "$name")
    # Programs, which only the daemon starts.
    if [ "$state" = pending ]; then
      [ "$daemons" != pending ] || [ "$name" = probe ] || lost="$lost $name: pending;"
    else
      [ "$daemons" = "$state" ] && same=$((same + 1)) || lost="$lost $name: $daemons, root: $state;"
    fi
  done </tmp/by-root
  [ -z "$lost" ]
}
within 90 agree
[ -z "$lost" ] && [ $same -gt 10 ] && good - "all $same sources are as root without a sandbox has them" || bad "in the sandbox:$lost ($same the same)"
metric jetmem_clock_synchronized | grep -q '^[01]$' || bad "whether the clock is synchronised is not known"
if [ -n "$hybrid" ]; then
  [ ! -e /sys/fs/cgroup/memory/system.slice/jetmemd.service/memory.low ] && [ -d /sys/fs/cgroup/memory/system.slice/jetmemd.service ] &&
    [ "$(metric 'jetmem_daemon_memory_low_absent{reason="cgroup_v1"}')" = 1 ] &&
    good - "no memory.low in control groups of version 1: OOM score $(cat /proc/$pid/oom_score_adj) alone, and jetmemd reports it" ||
    bad "control groups: $(grep memory /proc/$pid/cgroup), $(grep '^jetmem_daemon_memory_low' /tmp/page)"
else
  [ "$(cat /sys/fs/cgroup/system.slice/jetmemd.service/memory.low)" -gt 0 ] && [ "$(cat /sys/fs/cgroup/system.slice/memory.low)" -gt 0 ] &&
    above jetmem_daemon_memory_low_bytes 0 ||
    bad "memory.low: $(cat /sys/fs/cgroup/system.slice/memory.low) of the slice, $(cat /sys/fs/cgroup/system.slice/jetmemd.service/memory.low) of the unit"
fi
grep -q '^0*[1-9a-f].* : System RAM$' /run/jetmem-iomem/iomem && [ "$(stat -c '%U %G %a' /run/jetmem-iomem/iomem)" = 'root jetmem-reader 440' ] &&
  good - "addresses of memory were kept at boot, for the reader" || bad "the map of memory: $(ls -l /run/jetmem-iomem 2>&1)"
page; grep '^jetmem_memory_physical_bytes' /tmp/page
