# SPDX-License-Identifier: Apache-2.0
# Memory that programs gave to nvmap is never added to its stats/total_memory, but subtracted when freed: the file
# falls below zero, as 2^64. No sentence and no value of jetmem's may come of it.
file=/sys/kernel/debug/nvmap/stats/total_memory
below() { awk '{exit !($1 > 9e18)}' $file; }
tries=0
while ! below && [ $tries -lt 20 ]; do $share/tools/nvlab as:giver v:64M f:0 quit; tries=$((tries + 1)); done
below || { bad "total_memory is $(cat $file)"; exit 0; }
begin=$(now)
echo "total_memory: $(cat $file)"
# Until nvmap was read once more: then there is one that came later.
hog --unit=newcomer $share/tools/nvlab as:newcomer a:2M:iovmm
within 90 above 'jetmem_nvmap_process_bytes{heap="iovmm",process="newcomer"}' 0 || bad "nvmap was not read for 90 s"
page
wrong=$(awk '/^jetmem_/ && $NF + 0 > 1e15 {print $1}' /tmp/page | paste -s -d ' ')
[ -z "$wrong" ] || bad "on the page: $wrong"
heaps=$(awk '/^jetmem_nvmap_heap_bytes\{/ {sum += $NF} END {printf "%.0f", sum}' /tmp/page)
total=$(metric jetmem_nvmap_total_bytes)
[ "$(printf %.0f "$total")" = "$heaps" ] && good "$(minus "$(now)" "$begin")" "total_memory is $(cat $file): jetmem_nvmap_total_bytes is that of the heaps, $heaps" || bad "jetmem_nvmap_total_bytes is $total, the heaps have $heaps"
wrong=
for command in "doctor --all" status nvmap top map plan; do
  # shellcheck disable=SC2086
  jetmem $command >/tmp/words 2>&1
  grep -E '[TPE]iB|e\+1[5-9]|[0-9]{16}' /tmp/words >/tmp/huge && { wrong="$wrong jetmem $command: $(head -n 1 /tmp/huge);"; cat /tmp/huge; }
done
[ -z "$wrong" ] && good - "no word of it in doctor, status, nvmap, top, map and plan, nor on the page" || bad "$wrong"
systemctl stop newcomer
