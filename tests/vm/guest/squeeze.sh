# Nearly nothing is free, and somebody goes over all of it again and again: the daemon must go on sampling.
available() { sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo; }
stalled() { awk '/^some/ {split($5, t, "="); print t[2]}' /proc/pressure/memory; }
shown='jetmem_pressure_stall_seconds_total{kind="some",resource="memory"}'
before=$(metric jetmem_rounds_total) stalled_before=$(stalled) shown_before=$(metric "$shown")
[ -n "$before" ] && [ -n "$shown_before" ] || { bad "no page before it began"; exit 0; }
began=$(now)
hog --unit=squeeze -p OOMScoreAdjust=900 $share/tools/memory_hog $(($(available) / 1024 - 40)) 40 touch
sleep 6
more=0
while [ "$(available)" -gt 12000 ] && [ $more -lt 8 ]; do
  more=$((more + 1))
  hog --unit=squeeze$more -p OOMScoreAdjust=900 $share/tools/memory_hog 8 30 touch
  sleep 1
done
sleep 8
grep -E 'MemFree|MemAvailable' /proc/meminfo; cat /proc/pressure/memory
low=$(available)
ended=$(now)
after=$(metric jetmem_rounds_total)
missed=$(metric jetmem_rounds_missed_total)
systemctl stop 'squeeze*'
pace=$(awk -v a="$before" -v b="$after" -v s="$(minus "$ended" "$began")" 'BEGIN {printf "%.2f", (b - a) / s}')
awk -v p="$pace" 'BEGIN {exit !(p > 0.8)}' && good - "with $((low / 1024)) MiB available the daemon samples $pace times a second (missed in all: $missed)" || bad "only $pace rounds a second with $((low / 1024)) MiB available"
[ "$(systemctl show -P NRestarts jetmemd)" = 0 ] || echo "restarts: $(systemctl show -P NRestarts jetmemd)"
grep -E '^jetmem_pressure_stall_seconds_total.*memory' /tmp/page
[ "$low" -lt 60000 ] || bad "$((low / 1024)) MiB are available: nothing was squeezed"
told=$(awk -v a="$(metric "$shown")" -v b="$shown_before" 'BEGIN {printf "%d", (a - b) * 1000}')
real=$((($(stalled) - stalled_before) / 1000))
[ "$real" -gt 0 ] && [ "$told" -gt 0 ] && [ "$told" -ge $((real / 2)) ] && good - "PSI: $real ms of stalls meanwhile, $told ms by the page" || bad "PSI: $real ms of stalls meanwhile, $told ms by the page"
