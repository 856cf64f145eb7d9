# SPDX-License-Identifier: Apache-2.0
# The kernel kills: one at the limit of its cgroup, which is that service's affair; one for the whole machine.
hog --wait -p MemoryMax=64M -p MemorySwapMax=0 $share/tools/memory_hog 200 30
counted() { page && grep '^jetmem_kernel_events_total{' /tmp/page | grep 'kind="oom_kill_memcg",origin="system"' | grep -q ' [1-9]$'; }
within 20 counted && good - "killed at its cgroup's limit: counted as oom_kill_memcg" || { bad "the kill in a cgroup is not in /metrics"; grep oom /tmp/page | grep -v '^#'; }
firing JetmemOomKill && bad "JetmemOomKill fires for a kill in a cgroup"
cp $share/tools/memory_hog /tmp/large_model
hog --unit=victim -p OOMScoreAdjust=1000 /tmp/large_model 300 60
sleep 2
begin=$(now)
echo f >/proc/sysrq-trigger
after=$(alert_after "$begin" JetmemOomKill) && good "$after" "killed for the whole machine: JetmemOomKill" || bad "JetmemOomKill does not fire"
named() { jetmem events --since 5m >/tmp/events; grep -q large_model /tmp/events; }
within 10 named && good - "jetmem events names the victim" || bad "jetmem events does not name large_model"
grep -i oom /tmp/events | tail -n 4
systemctl is-active -q jetmemd || bad "jetmemd is gone"
