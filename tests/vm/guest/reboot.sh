# SPDX-License-Identifier: Apache-2.0
# An orderly reboot; after.sh looks.
jetmem mark "before the reboot"
sleep 2
jetmem history meminfo_MemFree_bytes --since -10m --csv 2>/dev/null | tail -n 3
points() { jetmem history jetmem_meminfo_MemFree_bytes --since -10m --csv | grep -c '^jetmem_meminfo_MemFree_bytes,'; }
points >$share/points
[ "$(cat $share/points)" -ge 3 ] || bad "only $(cat $share/points) points were recorded"
jetmem history jetmem_meminfo_MemFree_bytes --since -10m --csv | grep '^jetmem_meminfo_MemFree_bytes,' | head -n 1 | cut -d, -f2 >$share/oldest
cat /proc/sys/kernel/random/boot_id >$share/boot_id
jetmem boots | head -n 5
sync
systemctl reboot
sleep 60
bad "the machine does not reboot"
