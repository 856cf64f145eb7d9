# SPDX-License-Identifier: Apache-2.0
# Whoever reads a temperature now waits in the kernel, where no signal reaches it. The daemon must go on, say
# that it is blind there, and restart while the reader still hangs.
lab=/sys/module/jetmem_lab/parameters
[ -d $lab ] || { bad "the lab's module is not loaded"; exit 0; }
before=$(metric jetmem_sample_cycles_total)
begin=$(now)
echo 1 >$lab/hang
wedged() { above jetmem_readers_wedged 0; }
within 40 wedged && good "$(minus "$(now)" "$begin")" "a reader hangs in the driver: counted in jetmem_readers_wedged" || { bad "no wedged reader is counted"; grep ^jetmem_reader /tmp/page; }
ps -eo pid,stat,comm | grep jetmem
ps -eo stat,comm | grep -q '^D.*jetmem-reader' || bad "no reader is in D state: the test is none"
sleep 3
after=$(metric jetmem_sample_cycles_total)
awk -v a="$before" -v b="$after" 'BEGIN {exit !(b - a >= 3)}' || bad "the rounds stand still: $before, $after"
[ "$(source_state thermal)" != ok ] && [ "$(source_state meminfo)" = ok ] || bad "thermal is $(source_state thermal), meminfo $(source_state meminfo)"
begin=$(now)
systemctl restart jetmemd && within 20 curl -sf http://127.0.0.1:10743/readyz >/dev/null && good "$(minus "$(now)" "$begin")" "jetmemd restarts while the reader hangs" || bad "jetmemd does not come back"
echo 0 >$lab/hang
back() { [ "$(source_state thermal)" = ok ]; }
begin=$(now)
within 90 back && good "$(minus "$(now)" "$begin")" "the driver answers again: thermal is back" || bad "thermal is $(source_state thermal) after the driver came back"
