# An orderly reboot; after.sh looks.
jetmem mark "before the reboot"
sleep 2
jetmem history meminfo_MemFree_bytes --since -10m --csv 2>/dev/null | tail -n 3
jetmem history jetmem_meminfo_MemFree_bytes --since -10m --csv | grep -c , >$share/points
cat /proc/sys/kernel/random/boot_id >$share/boot_id
jetmem boots | head -n 5
sync
systemctl reboot
sleep 60
bad "the machine does not reboot"
