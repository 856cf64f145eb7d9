# SPDX-License-Identifier: Apache-2.0
# A program takes all that is left of a carve-out. Of what is refused then, the kernel prints nothing.
hog --unit=carver -p StandardOutput=file:/tmp/carver $share/tools/nvlab as:carver leak:1M:64M:generic
within 30 grep -q FAILED /tmp/carver || { bad "the carve-out is never full: $(tail -n 1 /tmp/carver)"; exit 0; }
begin=$(now)
tail -n 3 /tmp/carver; cat /sys/kernel/debug/nvmap/generic-0/free_size
# Read once a minute, and a minute of that is the rule's own for.
after=$(alert_after "$begin" JetmemNvmapCarveoutFull 200) && good "$after" "the carve-out generic-0 is full: JetmemNvmapCarveoutFull" || bad "JetmemNvmapCarveoutFull does not fire: $(metric 'jetmem_nvmap_carveout_free_ratio{heap="generic-0"}')"
jetmem alerts >/tmp/alerts 2>&1; grep -A 8 JetmemNvmapCarveoutFull /tmp/alerts
grep -q '^FIRING .*JetmemNvmapCarveoutFull.*generic-0' /tmp/alerts && good - "jetmem alerts names the heap" || bad "jetmem alerts does not name the heap generic-0"
jetmem top --gpu | sed -n '/ generic-0 /,/ gpu /p' | grep -q ' carver  *61 MiB' && good - "jetmem top --gpu: carver has 61 MiB of generic-0" || { bad "jetmem top --gpu does not name carver"; jetmem top --gpu; }
systemctl stop carver
