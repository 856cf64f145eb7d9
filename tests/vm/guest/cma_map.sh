# SPDX-License-Identifier: Apache-2.0
# 10 000 allocations and releases of CMA by several processes, at random from a seed: after each 200 of them jetmem's owners
# are what the processes were given, and its map is the kernel's bitmap. Then events are lost on purpose, the daemon and
# its reader are killed, and somebody else traces.
limit=5400
seed=7 rounds=50
heap=$(basename "$(ls -d /dev/dma_heap/reserved /dev/dma_heap/default_cma_region 2>/dev/null | head -n 1)")
area=$(ls /sys/kernel/debug/cma | head -n 1)
[ -n "$heap" ] && [ -d "/sys/kernel/debug/cma/$area" ] || { bad "no DMA heap of CMA or no debugfs of it"; exit 0; }
settings=/etc/jetmem/conf.d/50-cma.yaml
mkdir -p /etc/jetmem/conf.d
printf 'sources:\n  cma_map:\n    interval: 1s\n  cma:\n    interval: 1s\n' >$settings
systemctl reload jetmemd
is_traced() { [ "$(source_state cma_map)" = ok ]; }
within 90 is_traced || { bad "cma_map is $(source_state cma_map): $(systemctl status jetmem-cma-trace | head -n 5)"; exit 0; }
cpu_of() { awk '{printf "%.2f", ($14 + $15) / 100}' "/proc/$1/stat"; }
cpu_of_both() { awk -v a="$(cpu_of "$(systemctl show -P MainPID jetmemd)")" -v b="$(cpu_of "$(pgrep -o jetmem-reader)")" 'BEGIN {printf "%.2f", a + b}'; }

mkfifo /tmp/orders
$share/tools/cma_play "$heap" $seed </tmp/orders >>/tmp/played 2>&1 &
exec 5>/tmp/orders
order=0
play() {  # play STEPS [MILLISECONDS]: leaves who has how much in /tmp/truth
  : >/tmp/played
  order=$((order + 1))
  # At a faster pace a ring overwrites a page during most readings, which a virtual CPU makes slowly.
  echo "$1 ${2:-200}" >&5
  # An area that is full makes the kernel move pages for each request.
  within 1200 grep -q "^end $order " /tmp/played || bad "$1 steps take more than 20 minutes"
  grep '^camera' /tmp/played | awk '{bytes[$1] += $2} END {for (name in bytes) print name, bytes[name]}' | sort >/tmp/truth
}
# Others are what drivers took before jetmem looked.
owners() { sed -n "s/^jetmem_cma_owner_bytes{area=\"$area\",owner=\"\(camera-[0-9]*\)\"} \(.*\)/\1 \2/p" /tmp/page | awk '{printf "%s %.0f\n", $1, $2}' | sort; }
agree() { page && owners >/tmp/owners && cmp -s /tmp/owners /tmp/truth; }
pages() { cat "/sys/kernel/debug/cma/$area/$1"; }
began=$(now) cpu=$(cpu_of_both)
right=0 runs=0 refused=0
for round in $(seq $rounds); do
  play 200
  refused=$((refused + $(sed -n 's/^end [0-9]* //p' /tmp/played)))
  if within 15 agree; then right=$((right + 1)); else
    bad "round $round: owners are not those that allocated"
    diff /tmp/truth /tmp/owners
    [ $((round - right)) -lt 4 ] || break
  fi
  run=$(metric "jetmem_cma_map_largest_free_run_bytes{area=\"$area\"}")
  [ -n "$run" ] && [ "$(printf %.0f "$run")" = $(($(pages maxchunk) * $(getconf PAGESIZE))) ] && runs=$((runs + 1)) || echo "round $round: largest run $run, maxchunk $(pages maxchunk)"
done
[ $right = $rounds ] && good - "$((rounds * 200)) steps of seed $seed, $refused of them refused: owners and bytes are right $right times of $rounds" || bad "owners are right $right times of $rounds"
[ $runs = $rounds ] && good - "the largest free run of the map is maxchunk, $runs times of $rounds" || bad "the largest free run is maxchunk $runs times of $rounds"
value=$(metric jetmem_cma_map_corrected_pages_total)
[ "$value" = 0 ] && good - "the kernel's bitmap never said something else than the map" || bad "pages of which the bitmap said something else: $value"
value=$(metric jetmem_cma_map_losses_total)
[ "$value" = 0 ] && good - "no event was lost" || bad "jetmem_cma_map_losses_total is $value"
per_minute() { awk -v a="$1" -v b="$2" -v s="$(minus "$(now)" "$began")" 'BEGIN {printf "%.2f", (a - b) * 60 / s}'; }
traced=$(per_minute "$(cpu_of_both)" "$cpu")
memory=$(($(pgrep jetmem | while read -r pid; do awk '/^Pss:/ {print $2}' "/proc/$pid/smaps_rollup"; done | paste -s -d +)))
jetmem cma --map; jetmem doctor | grep -A 6 '(cma)'

# Another tracer, in the global instance, and one of its own.
echo 1 >/sys/kernel/tracing/events/cma/enable; mkdir /sys/kernel/tracing/instances/other; echo 1 >/sys/kernel/tracing/instances/other/events/cma/enable
play 100
within 15 agree && good - "another tracer, in the global instance and one of its own, changes nothing" || bad "with another tracer the owners are wrong"
echo 0 >/sys/kernel/tracing/events/cma/enable; rmdir /sys/kernel/tracing/instances/other
pkill -KILL -x jetmem-reader
play 50
within 30 agree && good - "the reader is killed: owners are right again" || { bad "after the reader was killed the owners are wrong"; diff /tmp/truth /tmp/owners; }
systemctl kill --signal=KILL jetmemd
within 60 is_traced
play 50
# What the rings hold no longer is of before then.
never_more() { awk 'NR == FNR {truth[$1] = $2; next} $2 > truth[$1] {exit 1}' /tmp/truth /tmp/owners; }
settled() { page && owners >/tmp/owners && [ -s /tmp/owners ] && never_more; }
within 30 settled && good - "jetmemd is killed: $(wc -l </tmp/owners) of $(wc -l </tmp/truth) owners are known again, none with more than it allocated" || { bad "after jetmemd was killed the owners are wrong"; diff /tmp/truth /tmp/owners; }

# More events than the ring holds between two readings: part of the map is unknown or not attributed, never wrong.
printf 'sources:\n  cma_map:\n    interval: 30s\n' >$settings
systemctl reload jetmemd
play 1000 20
lost() { above jetmem_cma_map_losses_total 0; }
within 60 lost || bad "no event was lost by 1000 steps within one reading"
play 0
sleep 35
page; owners >/tmp/owners; cat /tmp/owners
never_more && good - "events overwritten ($(metric jetmem_cma_map_losses_total) losses): nobody has more than it allocated, $(metric "jetmem_cma_owner_bytes{area=\"$area\",owner=\"before jetmem\"}") bytes are of before" || { bad "after lost events somebody has more than it allocated"; diff /tmp/truth /tmp/owners; }
value=$(metric jetmem_cma_map_corrected_pages_total)
[ "$value" = 0 ] && good - "after them too the bitmap never said something else" || bad "pages of which the bitmap said something else: $value"

# What it costs: the same steps without tracing.
printf 'sources:\n  cma_map:\n    enabled: false\n  cma:\n    interval: 1s\n' >$settings
systemctl reload jetmemd
sleep 2
began=$(now) cpu=$(cpu_of_both)
play 200; sleep 40
untraced=$(per_minute "$(cpu_of_both)" "$cpu")
good - "CPU a minute of jetmemd and its reader: $traced s while tracing each second, $untraced s without; $memory kB of memory (PSS) while tracing"
exec 5>&-
rm $settings /tmp/orders
systemctl reload jetmemd
