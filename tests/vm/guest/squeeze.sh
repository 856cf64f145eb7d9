# SPDX-License-Identifier: Apache-2.0
# Nearly nothing is free, and somebody goes over all of it again and again: the daemon must go on sampling.
available() { sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo; }
stalled() { awk '/^some/ {split($5, t, "="); print t[2]}' /proc/pressure/memory; }
shown='jetmem_pressure_stall_seconds_total{kind="some",resource="memory"}'
before=$(metric jetmem_sample_cycles_total) stalled_before=$(stalled) shown_before=$(metric "$shown")
[ -n "$before" ] && [ -n "$shown_before" ] || { bad "no page before it began"; exit 0; }
began=$(now)
# The least that was available counts: the kernel may kill one of the hogs before the end.
low=$(available)
look_for() {  # look_for SECONDS
  for _ in $(seq "$1"); do
    sleep 1
    free=$(available)
    [ "$free" -ge "$low" ] || low=$free
  done
}
hog --unit=squeeze -p OOMScoreAdjust=900 $share/tools/memory_hog $((low / 1024 - 40)) 600 touch
look_for 6
more=0
while [ "$low" -gt 12000 ] && [ $more -lt 8 ]; do
  more=$((more + 1))
  hog --unit=squeeze$more -p OOMScoreAdjust=900 $share/tools/memory_hog 8 600 touch
  look_for 1
done
look_for 8
grep -E 'MemFree|MemAvailable' /proc/meminfo; cat /proc/pressure/memory
# The page may take its time now; how often was sampled until it came is what counts.
sampled() { after=$(metric jetmem_sample_cycles_total) && [ -n "$after" ]; }
within 20 sampled || bad "no page within 20 s"
ended=$(now)
missed=$(metric jetmem_sample_cycles_missed_total)
# At once: systemd itself would wait long for its memory.
pkill -KILL -x memory_hog || true
systemctl stop 'squeeze*'
pace=$(awk -v a="$before" -v b="$after" -v s="$(minus "$ended" "$began")" 'BEGIN {printf "%.2f", (b - a) / s}')
awk -v p="$pace" 'BEGIN {exit !(p > 0.8)}' && good - "with $((low / 1024)) MiB available the daemon samples $pace times a second (missed in all: $missed)" || bad "only $pace rounds a second with $((low / 1024)) MiB available"
[ "$(systemctl show -P NRestarts jetmemd)" = 0 ] || echo "restarts: $(systemctl show -P NRestarts jetmemd)"
grep -E '^jetmem_pressure_stall_seconds_total.*memory' /tmp/page
[ "$low" -lt 60000 ] || bad "$((low / 1024)) MiB are available: nothing was squeezed"
reported=$(awk -v a="$(metric "$shown")" -v b="$shown_before" 'BEGIN {printf "%d", (a - b) * 1000}')
real=$((($(stalled) - stalled_before) / 1000))
[ "$real" -gt 0 ] && [ "$reported" -gt 0 ] && [ "$reported" -ge $((real / 2)) ] && good - "PSI: $real ms of stalls meanwhile, $reported ms by the page" || bad "PSI: $real ms of stalls meanwhile, $reported ms by the page"
