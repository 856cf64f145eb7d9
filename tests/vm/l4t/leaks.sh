# SPDX-License-Identifier: Apache-2.0
# The leaks of `growth`, until jetmem reports them. A trend needs half an hour of values, and its rules wait for another
# quarter: nobody is called for a pipeline that starts.
limit=4200
began=$(cat /tmp/growth_began)
# Ten times a second for most of an hour would be a load of its own.
both() { firing JetmemNvmapOrphansGrowing && firing JetmemMemoryLeak; }
until both || awk -v n="$(now)" -v b="$began" 'BEGIN {exit !(n > b + 3900)}'; do sleep 5; done
after=$(alert_after "$began" JetmemNvmapOrphansGrowing 10) && good "$after" "orphans: JetmemNvmapOrphansGrowing" || { bad "JetmemNvmapOrphansGrowing does not fire"; page; grep -E '^jetmem_(trend|nvmap_orphan)' /tmp/page; }
after=$(alert_after "$began" JetmemMemoryLeak 10) && good "$after" "a leak of GPU memory: JetmemMemoryLeak" || { bad "JetmemMemoryLeak does not fire"; page; grep -E '^jetmem_(trend|meminfo_MemAvail)' /tmp/page; }
page; grep -E '^jetmem_(process_group_|)trend_' /tmp/page
awk '/^jetmem_process_group_trend_bytes_per_second\{command="leaker"/ && $NF > 30000 && $NF < 140000 {found = 1} END {exit !found}' /tmp/page &&
  good - "its trend is $(awk '/^jetmem_process_group_trend_bytes_per_second\{command="leaker"/ {printf "%.0f", $NF / 1024}' /tmp/page) KiB/s, 68 were leaked" || bad "leaker has no trend of its own"
jetmem top --gpu >/tmp/nvmap 2>&1; jetmem top >/tmp/top 2>&1; jetmem doctor >/tmp/doctor 2>&1; cat /tmp/nvmap /tmp/doctor; sed -n 1,12p /tmp/top
words=$(tr -s ' \n' ' ' </tmp/nvmap | grep -o 'mappings of argus-like [0-9.]* MiB') && good - "jetmem top --gpu: $words without a client" || bad "jetmem top --gpu does not name argus-like"
tr -s ' \n' ' ' </tmp/doctor >/tmp/words
for name in leaker argus-like; do grep -q "$name" /tmp/words && good - "jetmem doctor names $name" || bad "jetmem doctor does not name $name"; done
systemctl stop leaker argus-like
