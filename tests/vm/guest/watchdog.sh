# SPDX-License-Identifier: Apache-2.0
# The daemon stands still: systemd's watchdog, fed by its sampling, starts another.
pid=$(systemctl show -P MainPID jetmemd)
restarts=$(systemctl show -P NRestarts jetmemd)
begin=$(now)
kill -STOP $pid
again() { new=$(systemctl show -P MainPID jetmemd); [ "$new" != 0 ] && [ "$new" != $pid ] && curl -sf --max-time 2 http://127.0.0.1:10743/readyz >/dev/null; }
within 90 again && good "$(minus "$(now)" "$begin")" "stopped (SIGSTOP): the watchdog had it started anew" || { bad "nobody restarts it"; kill -CONT $pid; }
journalctl -u jetmemd -q -o cat -n 30 | grep -i watchdog
[ "$(systemctl show -P NRestarts jetmemd)" -gt "$restarts" ] || bad "NRestarts is $(systemctl show -P NRestarts jetmemd)"
within 10 above 'jetmem_unclean_shutdowns_total{of="jetmem"}' 0 && good - "it knows that it did not end by itself" || bad "jetmem_unclean_shutdowns_total is ${value:-absent}"
