# SPDX-License-Identifier: Apache-2.0
# A program asks nvmap for more than there is. nvmap grants it, and the kernel kills another program for it first.
limit=600
cp $share/tools/memory_hog /tmp/innocent
killed() { dmesg | grep -q 'Killed process .*(innocent)'; }
# MemAvailable without CMA, which it cannot use, is an estimate: it asks for 128 MiB at a time beyond that, and is ended as
# soon as somebody was killed. nvmap goes on filling a request even when its own program was killed, and kills everybody.
# The kernel looks for whom to kill when anybody needs a page: again, until that was this program.
for _ in 1 2 3 4 5; do
  dmesg -C
  hog --unit=innocent -p OOMScoreAdjust=1000 /tmp/innocent 200 300
  sleep 2
  size=$(awk '/^MemAvailable:/ {all = $2} /^CmaFree:/ {cma = $2} END {printf "%d", (all - cma) / 1024}' /proc/meminfo)
  more=
  for _ in 1 2 3 4; do more="$more sleep:2 a:128M:iovmm"; done
  # shellcheck disable=SC2086  # words
  hog --unit=asker -p StandardOutput=file:/tmp/asker $share/tools/nvlab as:asker open sleep:8 "a:${size}M:iovmm" $more sleep:60 quit
  within 5 grep -q heaps /tmp/asker || bad "asker: $(cat /tmp/asker)"
  within 150 killed || { bad "nobody was killed: $(cat /tmp/asker)"; exit 0; }
  systemctl kill --signal=KILL asker
  begin=$(dmesg | sed -n 's/^\[ *\([0-9.]*\)\].*asker invoked oom-killer.*/\1/p' | head -n 1)
  [ -z "$begin" ] || break
  systemctl stop innocent asker 2>/dev/null || true
  systemctl reset-failed innocent asker 2>/dev/null || true
  sleep 5
done
[ -n "$begin" ] || { bad "the kernel never killed anybody for asker itself: nothing is shown"; exit 0; }
after=$(alert_after "$begin" JetmemOomKill) && good "$after" "innocent was killed for asker's buffer: JetmemOomKill" || bad "JetmemOomKill does not fire"
said() { jetmem events --since 5m >/tmp/events 2>&1; tr -s ' \n' ' ' </tmp/events | grep -q 'asker requested memory for nvmap'; }
within 20 said && good "$(minus "$(now)" "$begin")" "jetmem events: asker requested memory for nvmap" || bad "jetmem events does not say who requested memory for nvmap"
grep -A 4 oom_ /tmp/events
jetmem doctor >/tmp/doctor 2>&1; cat /tmp/doctor
tr -s ' \n' ' ' </tmp/doctor | grep -q 'asker requested a GPU, camera or video buffer (nvmap) that did not fit, and the kernel killed innocent' && good - "jetmem doctor names asker and its GPU memory" || bad "jetmem doctor does not say who asked"
systemctl is-active -q jetmemd || bad "jetmemd is gone"
systemctl stop innocent asker 2>/dev/null || true  # who was killed is gone
