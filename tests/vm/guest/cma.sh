# SPDX-License-Identifier: Apache-2.0
# Contiguous memory is taken piece by piece until a request is refused, with the kernel's own allocator.
lab=/sys/module/jetmem_lab/parameters
[ -d $lab ] || insmod $share/modules/jetmem_lab.ko || { bad "the lab's module does not load"; exit 0; }
grep Cma /proc/meminfo
dmesg | grep 'cma: Reserved'
begin=$(now)
while begin=$(now) && echo 8192 2>/dev/null >$lab/cma_kb; do :; done
echo "taken: $(cat $lab/cma_kb) kB"; grep Cma /proc/meminfo; dmesg | grep 'cma:' | tail -n 2
after=$(alert_after "$begin" JetmemCmaAllocationFailing) && good "$after" "8 MiB refused by CMA after $(($(cat $lab/cma_kb) / 1024)) MiB: JetmemCmaAllocationFailing" || bad "JetmemCmaAllocationFailing does not fire"
# The kernel's log is followed as it is written, meminfo is read once a second: the page is a round behind.
same_free() {
  free=$(sed -n 's/^CmaFree: *\([0-9]*\) kB/\1/p' /proc/meminfo)
  shown=$(metric jetmem_meminfo_CmaFree_bytes)
  awk -v f="$free" -v s="$shown" 'BEGIN {d = f * 1024 - s; exit !(s != "" && d < 16e6 && d > -16e6)}'
}
within 10 same_free || bad "CmaFree is $free kB, jetmem says $shown"
jetmem doctor >/tmp/doctor; grep -i cma /tmp/doctor | head -n 5
grep -q '^[A-Z]* .*(cma)$' /tmp/doctor && grep -q JetmemCmaAllocationFailing /tmp/doctor && good - "jetmem doctor names it" || bad "jetmem doctor does not speak of CMA"
echo -1 >$lab/cma_kb
