# SPDX-License-Identifier: Apache-2.0
# Services near their limits and beyond, in control groups of version 2, or of 1 where the machine has those.
limit=1200
settings=/etc/jetmem/conf.d/50-groups.yaml
mkdir -p /etc/jetmem/conf.d
printf 'sources:\n  cgroups:\n    interval: 10s\n' >$settings
systemctl reload jetmemd
version=2 tree=/sys/fs/cgroup/system.slice used=memory.current most=memory.max swap='-p MemorySwapMax=0'
[ -z "$hybrid" ] || version=1 tree=/sys/fs/cgroup/memory/system.slice used=memory.usage_in_bytes most=memory.limit_in_bytes swap=''
# Systemd of 247 and later sets MemoryLimit= of version 1 from MemoryMax=.
# shellcheck disable=SC2086  # words
limited() { unit=$1; shift; systemd-run -q --unit="$unit" $swap -p OOMPolicy=continue -p "StandardOutput=file:/tmp/$unit" "$@"; }
limited near -p MemoryMax=64M $share/tools/memory_hog 62 3600
limited roomy -p MemoryMax=100M $share/tools/memory_hog 20 3600
within 20 grep -q has /tmp/near && within 20 grep -q has /tmp/roomy || { bad "the services do not run: $(cat /tmp/near /tmp/roomy)"; exit 0; }
cat $tree/near.service/$used $tree/near.service/$most

of() { metric "jetmem_cgroup_$1{container=\"\",unit=\"$2\"}"; }
as_charged() {
  charged=$(cat "$tree/$1.service/$used")
  shown=$(of memory_bytes "$1.service")
  [ -n "$shown" ] && awk -v s="$shown" -v c="$charged" 'BEGIN {d = s - c; exit !(d < 131072 && d > -131072)}'
}
for unit in near roomy; do
  # Where a reading takes long, as in a slow machine, it is read less often: at most every ten intervals.
  within 130 as_charged $unit && [ "$(printf %.0f "$(of memory_limit_bytes $unit.service)")" = "$(cat $tree/$unit.service/$most)" ] &&
    good - "$unit.service, version $version: $charged bytes charged, $(printf %.0f "$shown") on the page, $(of limit_used_ratio $unit.service) of its limit" ||
    { bad "$unit.service: $charged bytes charged, ${shown:-none} on the page; limit $(of memory_limit_bytes $unit.service)"; grep -E '^jetmem_(cgroups|source_.*"cgroups")' /tmp/page; }
done
jetmem top >/tmp/top 2>&1; sed -n '/SERVICES AND CONTAINERS/,/^$/p' /tmp/top
first=$(sed -n '/SERVICES AND CONTAINERS/{n;n;p;}' /tmp/top)
case $first in *near.service*64\ MiB*) good - "jetmem top: $(echo "$first" | tr -s ' ')" ;; *) bad "jetmem top begins with $first" ;; esac
jetmem doctor --all >/tmp/doctor 2>&1
tr -s ' \n' ' ' </tmp/doctor | grep -o 'near.service uses 9[0-9]*% of its memory limit, 6[0-9.]* MiB' >/tmp/words && good - "jetmem doctor: $(cat /tmp/words)" || bad "jetmem doctor does not name near.service: $(grep -A 3 'memory limit' /tmp/doctor)"

# One that needs more than it may have, gives back and takes again, and waits for it each time: without swap it goes
# on at memory.high, ever slower.
if [ $version = 2 ]; then
  begin=$(now)
  limited slowed -p MemoryHigh=40M -p MemoryMax=64M $share/tools/memory_hog 56 3600 churn
  after=$(alert_after "$begin" JetmemCgroupNearLimit 400) && good "$after" "throttled at memory.high: JetmemCgroupNearLimit (2 minutes of that are its own for)" ||
    { bad "JetmemCgroupNearLimit does not fire"; cat $tree/slowed.service/memory.pressure; page; grep slowed /tmp/page; }
  jetmem alerts >/tmp/alerts 2>&1; grep -A 4 JetmemCgroupNearLimit /tmp/alerts
  grep -q 'slowed.service' /tmp/alerts && good - "jetmem alerts names slowed.service" || bad "jetmem alerts does not name slowed.service"
fi

# What happens most: the process ends, and its group with it.
# shellcheck disable=SC2086  # words
systemd-run -q --unit=ends $swap -p MemoryMax=40M sh -c "sleep 25; exec $share/tools/memory_hog 101 30"
killed_in() { dmesg | grep -q "Memory cgroup out of memory: Killed process.*memory_hog" && begin=$(dmesg | sed -n "s/^\[ *\([0-9.]*\)\].*task_memcg=.*$1.service.*/\1/p" | tail -n 1) && [ -n "$begin" ]; }
within 90 killed_in ends || { bad "nobody was killed at the limit of ends.service"; exit 0; }
after=$(alert_after "$begin" JetmemCgroupOomKill 60) && good "$after" "killed at its limit, and its group is gone: JetmemCgroupOomKill" || bad "JetmemCgroupOomKill does not fire for a group that is gone"
jetmem alerts >/tmp/alerts 2>&1; grep -A 4 JetmemCgroupOomKill /tmp/alerts
jetmem events --since 10m >/tmp/events 2>&1; cat /tmp/events
grep -q 'ends.service' /tmp/events && good - "jetmem events names ends.service" || bad "jetmem events does not name ends.service"

limited goes-on -p MemoryMax=48M sh -c "sleep 25; $share/tools/memory_hog 100 30; sleep 3600"
within 90 killed_in goes-on || { bad "nobody was killed at the limit of goes-on.service"; exit 0; }
counted() { above 'jetmem_cgroup_memory_events_total{container="",event="oom_kill",unit="goes-on.service"}' 0; }
within 130 counted && good "$(minus "$(now)" "$begin")" "goes-on.service: oom_kill is $value on the page" || { bad "the kill in goes-on.service is not counted"; grep goes-on /tmp/page; }
firing JetmemOomKill && bad "JetmemOomKill fires for a kill in a control group"
jetmem status; jetmem doctor >/tmp/doctor 2>&1; cat /tmp/doctor
systemctl stop near roomy goes-on slowed 2>/dev/null || true  # who was killed is gone
systemctl reset-failed
rm $settings
systemctl reload jetmemd
