# SPDX-License-Identifier: Apache-2.0
# A program frees each second MiB of a carve-out, and is refused 2 MiB; then it takes all that is left. Only the first
# has a line in the kernel's log: nvmap refuses silently what is more than all that is free.
hog --unit=carver -p StandardOutput=file:/tmp/carver $share/tools/nvlab as:carver $(yes a:1M:generic | head -n 60) \
  $(seq -f 'f:%g' 0 2 59) a:2M:generic leak:1M:64M:generic
within 30 grep -q 'FAILED 1048576' /tmp/carver || { bad "the carve-out is never full: $(tail -n 1 /tmp/carver)"; exit 0; }
begin=$(dmesg | sed -n 's/^\[ *\([0-9.]*\)\].*generic-0: failed to alloc mem of size.*/\1/p' | head -n 1)
tail -n 3 /tmp/carver; cat /sys/kernel/debug/nvmap/generic-0/free_size; dmesg | grep generic-0 | tail -n 2
[ -n "$begin" ] || { bad "the kernel's log has no refusal of generic-0"; begin=$(now); }
after=$(alert_after "$begin" JetmemNvmapCarveoutRefused) && good "$after" "refused by generic-0: JetmemNvmapCarveoutRefused" || bad "JetmemNvmapCarveoutRefused does not fire"
jetmem events --since 5m --kind nvmap_carveout --json >/tmp/events 2>&1; cat /tmp/events
grep -q '"generic-0"' /tmp/events && good - "jetmem events has it as nvmap_carveout, of generic-0" || bad "jetmem events has no refusal of generic-0"
! firing JetmemNvmapCap || bad "JetmemNvmapCap fires, whose cause is another"
# Read once a minute, and a minute of that is the rule's own for.
after=$(alert_after "$begin" JetmemNvmapCarveoutFull 200) && good "$after" "the carve-out generic-0 is full: JetmemNvmapCarveoutFull" || bad "JetmemNvmapCarveoutFull does not fire: $(metric 'jetmem_nvmap_carveout_free_ratio{heap="generic-0"}')"
jetmem alerts >/tmp/alerts 2>&1; grep -A 8 JetmemNvmapCarveout /tmp/alerts
grep -q '^FIRING .*JetmemNvmapCarveoutFull.*generic-0' /tmp/alerts && good - "jetmem alerts names the heap" || bad "jetmem alerts does not name the heap generic-0"
jetmem top --gpu | sed -n '/ generic-0 /,/ gpu /p' | grep -q ' carver  *61 MiB' && good - "jetmem top --gpu: carver has 61 MiB of generic-0" || { bad "jetmem top --gpu does not name carver"; jetmem top --gpu; }
jetmem doctor >/tmp/doctor 2>&1; cat /tmp/doctor
tr -s ' \n' ' ' </tmp/doctor | grep -q 'generic-0 has only .*; largest holder: carver' && good - "jetmem doctor names generic-0 and its largest holder" || bad "jetmem doctor does not name generic-0 and its holder"
systemctl stop carver
