# SPDX-License-Identifier: Apache-2.0
# After the orderly one: what was recorded is there, and the end was clean.
within 60 sh -c 'systemctl is-system-running | grep -q running'
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready after the reboot"
[ "$(cat /proc/sys/kernel/random/boot_id)" != "$(cat $share/boot_id)" ] || { bad "it is the same boot"; exit 0; }
jetmem boots
jetmem events --since -30m | tail -n 12
jetmem events --since -30m | grep -q 'before the reboot' || bad "the mark from before is gone"
jetmem history jetmem_meminfo_MemFree_bytes --since -30m --csv | grep '^jetmem_meminfo_MemFree_bytes,' >/tmp/points
points=$(wc -l </tmp/points)
grep -q ",$(cut -c1-18 $share/oldest)" /tmp/points || bad "the oldest point, of $(cat $share/oldest), is gone"
[ "$points" -ge "$(cat $share/points)" ] && good - "$points points of one series, $(cat $share/points) of them from before the reboot" || bad "$points points are left of $(cat $share/points)"
clean() { [ "$(metric 'jetmem_boot_last_shutdown{clean="yes"}')" = 1 ]; }
within 20 clean && good - "the reboot is known to have been asked for" || bad "jetmem_boot_last_shutdown: $(grep '^jetmem_boot_last_shutdown' /tmp/page | tr '\n' ' ')"
cat /proc/sys/kernel/random/boot_id >$share/boot_id
