# SPDX-License-Identifier: Apache-2.0
# No scenario of its own: leak_slow and leak_fast give the rate. Buffers of 4 KiB lose their client and keep a descriptor,
# until nvmap's table of them and bufinfo are far too large to be read whole. The alert has to come within 45 minutes,
# with the names and sizes of all other processes right throughout.
leak() {  # leak NAME FROM_SECOND SECONDS: at most 200 000 buffers a process
  { echo "exec $share/tools/nvlab as:leaky-camera sleep:$2"; for _ in $(seq "$3"); do echo "orphn:$rate:4K:iovmm sleep:1"; done; } |
    paste -s -d ' ' >"/tmp/$1.sh"
  systemd-run -q --unit="$1" -p LimitNOFILE=1048576 -p "StandardOutput=file:/tmp/$1" sh "/tmp/$1.sh"
}
cpu_of() { awk '{printf "%.2f", ($14 + $15) / 100}' "/proc/$1/stat" 2>/dev/null; }
hog --unit=llama -p StandardOutput=file:/tmp/llama $share/tools/nvlab as:llama-server a:40M:iovmm:f00 map:0:touch
within 30 grep -q waits /tmp/llama || { bad "llama: $(cat /tmp/llama)"; exit 0; }
began=$(now)
each=$((200000 / rate)) from=0 units=
[ $each -lt 2700 ] || each=2700
while [ $from -lt 2700 ]; do
  leak leak$from $from $each
  units="$units leak$from" from=$((from + each))
done
jetmemd=$(systemctl show -P MainPID jetmemd) reader=$(pgrep -o jetmem-reader)
cpu=$(cpu_of "$jetmemd") reader_cpu=$(cpu_of "$reader")
llama='jetmem_nvmap_process_bytes{heap="iovmm",process="llama-server"}'
within 100 above "$llama" 0
samples=0 wrong=0
while ! firing JetmemNvmapOrphansGrowing && awk -v n="$(now)" -v b="$began" 'BEGIN {exit !(n < b + 2760)}'; do
  jetmem top >/tmp/top 2>&1
  samples=$((samples + 1))
  { [ "$(printf %.0f "$(metric "$llama")")" = 41943040 ] && awk '$2 == "llama-server" && $4 >= 40 && $4 < 44 {found = 1} END {exit !found}' /tmp/top; } ||
    { wrong=$((wrong + 1)); cp /tmp/top $share/top.$wrong; cp /tmp/page $share/page.$wrong; }
  sleep 30
done
after=$(alert_after "$began" JetmemNvmapOrphansGrowing 10) && good "$after" "4 KiB at $rate/s: JetmemNvmapOrphansGrowing" || { bad "JetmemNvmapOrphansGrowing does not fire"; grep -E '^jetmem_(trend|nvmap_orphan)' /tmp/page; }
[ $wrong = 0 ] && good - "llama-server has 40 MiB on the page and in top, in $samples samples" || bad "llama-server is wrong in $wrong of $samples samples: see page.1, top.1"
minutes=$(awk -v n="$(now)" -v b="$began" 'BEGIN {print (n - b) / 60}')
# Of a reader that was started again since, it is not known.
per_minute() { awk -v a="$1" -v b="$2" -v m="$minutes" 'BEGIN {if (a == "") print "?"; else printf "%.2f", (a - b) / m}'; }
page
grep -E '^jetmem_source_(interval|duration)_seconds.*"(dmabuf|nvmap|processes)"|^jetmem_dmabuf_(buffers|bytes|unlisted)|^jetmem_nvmap_(orphan|total)|^jetmem_trend_bytes' /tmp/page
good - "$(metric jetmem_dmabuf_buffers | awk '{printf "%.0f", $1}') buffers; CPU a minute: jetmemd $(per_minute "$(cpu_of "$jetmemd")" "$cpu") s, its reader $(per_minute "$(cpu_of "$reader")" "$reader_cpu") s; source dmabuf takes $(metric 'jetmem_source_duration_seconds{source="dmabuf"}') s, each $(metric 'jetmem_source_interval_seconds{source="dmabuf"}') s"
jetmem doctor >/tmp/doctor 2>&1; cat /tmp/doctor; jetmem top --gpu; jetmem top | head -n 12
grep -q leaky-camera /tmp/doctor && good - "jetmem doctor names leaky-camera" || bad "jetmem doctor does not name leaky-camera"
journalctl -u jetmemd -o cat --no-pager | grep -i 'less often' | tail -n 4
page
grep -E '^jetmem_source_absent_values[{].*"dmabuf"|^jetmem_dmabuf_holder_descriptors' /tmp/page
from=$(now); tail -n 1 /sys/kernel/debug/dma_buf/bufinfo; took=$(minus "$(now)" "$from")
# Beyond the reader's deadline it is omitted, not the holders.
omitted=$(metric 'jetmem_source_absent_values{reason="bufinfo_omitted",source="dmabuf"}')
if awk -v s="$took" 'BEGIN {exit !(s > 10)}' && [ "${omitted:-0}" = 0 ]; then
  bad "the kernel prints bufinfo in $took s, and the page does not say that it is omitted"
else
  good "$took" "the kernel prints bufinfo, which the page calls ${omitted:-0} times omitted"
fi
# shellcheck disable=SC2086  # words
systemctl stop $units llama
