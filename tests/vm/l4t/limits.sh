# SPDX-License-Identifier: Apache-2.0
# A service that is limited to 64 MiB allocates 200 MiB from nvmap: no limit holds for that, and jetmem doctor says so.
hog --unit=limited -p MemoryMax=64M -p MemorySwapMax=0 -p StandardOutput=file:/tmp/limited $share/tools/nvlab as:limited a:200M:iovmm map:0:touch
within 60 grep -q waits /tmp/limited || { bad "limited: $(cat /tmp/limited)"; exit 0; }
charged=$(cat /sys/fs/cgroup/system.slice/limited.service/memory.current)
[ "$charged" -lt 67108864 ] && good - "200 MiB of nvmap, of which its control group is charged with $((charged / 1048576)) MiB" || bad "its control group is charged with $charged"
said() { jetmem doctor --all >/tmp/doctor 2>&1; tr -s ' \n' ' ' </tmp/doctor >/tmp/words; grep -q 'limited.service is limited to 64 MiB, and holds 200 MiB of GPU and camera memory' /tmp/words; }
# A newcomer has series after three readings in a row, one a minute.
within 280 said && good - "jetmem doctor: limited.service holds 200 MiB beyond its limit of 64 MiB" || { bad "jetmem doctor does not say that nvmap is not charged"; cat /tmp/doctor; page; grep limited /tmp/page; }
systemctl stop limited
