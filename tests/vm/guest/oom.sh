# The kernel kills: one in its cgroup, one because of the whole machine.
begin=$(now)
hog --wait -p MemoryMax=64M -p MemorySwapMax=0 $share/tools/memory_hog 200 30
after=$(alert_after "$begin" JetmemOomKill) && good "$after" "killed at its cgroup's limit: JetmemOomKill ($after s from its start)" || bad "JetmemOomKill does not fire for a cgroup"
hog --unit=victim -p OOMScoreAdjust=1000 $share/tools/memory_hog 300 60
sleep 2
begin=$(now)
echo f >/proc/sysrq-trigger
killed() { page && grep '^jetmem_kernel_events_total{' /tmp/page | grep 'kind="oom_kill",origin="system"' | grep -q ' [1-9]$'; }
within 20 killed && good "$(minus "$(now)" "$begin")" "killed for the whole machine: counted" || { bad "the second kill is not in /metrics"; grep oom /tmp/page | grep -v '^#'; }
jetmem events --since 5m | grep -i oom | tail -n 4
jetmem events --since 5m | grep -q memory_hog && good - "jetmem events names the victim" || bad "jetmem events does not name memory_hog"
systemctl is-active -q jetmemd || bad "jetmemd is gone"
