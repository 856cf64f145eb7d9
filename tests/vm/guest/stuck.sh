# SPDX-License-Identifier: Apache-2.0
# A program writes to a frozen file system: it sleeps in the kernel, and nothing ends it until that is thawed.
limit=400
settings=/etc/jetmem/conf.d/50-stuck.yaml
mkdir -p /etc/jetmem/conf.d /mnt/frozen
printf 'sources:\n  tasks:\n    interval: 5s\n' >$settings
systemctl reload jetmemd
[ ! -e $share/modules/loop.ko ] || insmod $share/modules/loop.ko
cp $share/frozen.img /tmp/ && within 20 mount -o loop /tmp/frozen.img /mnt/frozen || { bad "no file system to freeze"; exit 0; }
fsfreeze -f /mnt/frozen || { bad "it does not freeze"; exit 0; }
begin=$(now)
systemd-run -q --unit=writer dd if=/dev/zero of=/mnt/frozen/file bs=1k count=1
pid=$(systemctl show -P MainPID writer)
in_sleep() { grep -q '^State:	D' "/proc/$pid/status"; }
within 10 in_sleep || { bad "dd is $(grep State "/proc/$pid/status")"; exit 0; }
channel=$(cat "/proc/$pid/wchan")
series="{command=\"dd\",wait_channel=\"$channel\"}"
seen() { above "jetmem_stuck_task_seconds$series" 29; }
within 150 seen && good "$(minus "$(now)" "$begin")" "dd is stuck in $channel: jetmem_stuck_task_seconds is $value" || { bad "no jetmem_stuck_task_seconds$series"; page; grep stuck /tmp/page; cat /proc/loadavg; }
[ "$(metric "jetmem_stuck_task_pid$series")" = "$pid" ] && good - "its PID is $pid" || bad "its PID is $(metric "jetmem_stuck_task_pid$series"), not $pid"
after=$(alert_after "$begin" JetmemTaskStuck 60) && good "$after" "JetmemTaskStuck" || bad "JetmemTaskStuck does not fire"
jetmem doctor >/tmp/doctor 2>&1; cat /tmp/doctor; jetmem status
tr -s ' \n' ' ' </tmp/doctor | grep -q "dd (PID $pid) has been stuck in the kernel for .*, in $channel" && good - "jetmem doctor names dd, PID $pid, and $channel" || bad "jetmem doctor does not name dd and $channel"
fsfreeze -u /mnt/frozen
begin=$(now)
over() { [ "$(metric jetmem_stuck_tasks)" = 0 ]; }
within 60 over && good "$(minus "$(now)" "$begin")" "thawed: no task is stuck" || bad "jetmem_stuck_tasks is $(metric jetmem_stuck_tasks) after that"
umount /mnt/frozen
rm $settings
systemctl reload jetmemd
