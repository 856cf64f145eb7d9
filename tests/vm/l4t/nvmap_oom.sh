# SPDX-License-Identifier: Apache-2.0
# A program asks nvmap for more than there is. nvmap grants it, and the kernel kills another program for it first.
cp $share/tools/memory_hog /tmp/innocent
hog --unit=innocent -p OOMScoreAdjust=1000 /tmp/innocent 100 300
# 150 MiB more than MemAvailable without CMA, which it cannot use; 60 more were granted, and the end of innocent gives
# 100. nvmap goes on filling a request even when its program was killed: one that nothing makes room for ends in a panic.
sleep 2
size=$(awk '/^MemAvailable:/ {all = $2} /^CmaFree:/ {cma = $2} END {printf "%d", (all - cma) / 1024 + 150}' /proc/meminfo)
hog --unit=asker -p StandardOutput=file:/tmp/asker $share/tools/nvlab as:asker open sleep:8 "a:${size}M:iovmm" sleep:60 quit
within 5 grep -q heaps /tmp/asker || bad "asker: $(cat /tmp/asker)"
# The next one after that is asker itself.
echo 900 >/proc/"$(systemctl show -P MainPID asker)"/oom_score_adj
sleep 4
killed() { dmesg | grep -q 'Killed process .*(innocent)'; }
begin=$(now)
within 60 killed || { bad "nobody was killed: $(cat /tmp/asker)"; exit 0; }
begin=$(dmesg | sed -n 's/^\[ *\([0-9.]*\)\].*asker invoked oom-killer.*/\1/p' | head -n 1)
after=$(alert_after "$begin" JetmemOomKill) && good "$after" "innocent was killed for asker's buffer: JetmemOomKill" || bad "JetmemOomKill does not fire"
said() { jetmem events --since 5m >/tmp/events 2>&1; tr -s ' \n' ' ' </tmp/events | grep -q 'asker requested GPU memory (nvmap)'; }
within 20 said && good "$(minus "$(now)" "$begin")" "jetmem events: asker requested GPU memory" || bad "jetmem events does not say that GPU memory was requested"
grep -A 4 oom_ /tmp/events
jetmem doctor >/tmp/doctor 2>&1; cat /tmp/doctor
tr -s ' \n' ' ' </tmp/doctor | grep -q 'asker.* GPU' && good - "jetmem doctor names asker and its GPU memory" || bad "jetmem doctor does not say who asked"
systemctl is-active -q jetmemd || bad "jetmemd is gone"
systemctl stop innocent asker 2>/dev/null || true  # who was killed is gone
