# SPDX-License-Identifier: Apache-2.0
# A camera takes buffers of 12 MiB from the DMA heap until it is refused. The canary, a probe of two such
# frames, must have failed before; and where holes are left, no frame fits though half of it is free.
[ -e /dev/dma_heap/reserved ] || { bad "no DMA heap of CMA: $(ls /dev/dma_heap)"; exit 0; }
ls -l /dev/dma_heap /sys/kernel/mm/cma /sys/kernel/debug/cma
cp /usr/share/doc/jetmem/60-jetmem-probe.rules /etc/udev/rules.d/
udevadm control --reload && udevadm trigger --settle --subsystem-match=dma_heap
ls -l /dev/dma_heap | grep -q 'rw-rw.*jetmem-probe' && good - "the example's udev rule gives the heaps to jetmem-probe" || bad "the udev rule does nothing: $(ls -l /dev/dma_heap)"
canary() { jetmem probe --kind dmabuf --size 24MiB --force --json >/tmp/canary 2>&1; }
# Refused because memory is short, and for no other reason.
refused() { ! canary && grep -q '"state": *"failed"' /tmp/canary && grep -q ENOMEM /tmp/canary; }
canary && good - "with all of it free the canary is well" || { bad "the canary fails with all free"; cat /tmp/canary; }
hog --unit=camera0 $share/tools/heap_take reserved 12 12
camera=0 canary_died='' camera_died=''
while [ $camera -lt 20 ] && [ -z "$camera_died" ]; do
  camera=$((camera + 1))
  hog --unit=camera$camera -p StandardOutput=file:/tmp/camera$camera $share/tools/heap_take reserved 12 1
  within 5 grep -q has /tmp/camera$camera
  grep -q refused /tmp/camera$camera && camera_died=$(now) && break
  if [ -z "$canary_died" ] && refused; then
    canary_died=$(now)
    grep -i 'state\|error' /tmp/canary | head -n 4
  fi
  sleep 2
done
cat /tmp/camera$camera; dmesg | grep cma: | tail -n 2; grep -E '^jetmem_cma' /tmp/page | head -n 20
[ -n "$canary_died" ] && [ -n "$camera_died" ] && good "$(minus "$camera_died" "$canary_died")" "the canary failed so long before the camera did (after $((11 + camera)) buffers)" || bad "canary: ${canary_died:-well}, camera: ${camera_died:-well}"
[ -z "$camera_died" ] || { after=$(alert_after "$camera_died" JetmemCmaAllocationFailing 10) && good "$after" "the camera's refusal: JetmemCmaAllocationFailing" || echo "JetmemCmaAllocationFailing was there before: the canary's"; }
within 5 firing JetmemCmaAllocationFailing || bad "JetmemCmaAllocationFailing does not fire"
areas() { page && grep '^jetmem_cma_used_ratio{' /tmp/page | awk '{exit !($NF > 0.8)}'; }
within 60 areas && good - "$(grep '^jetmem_cma_used_ratio{' /tmp/page)" || bad "jetmem_cma_used_ratio: $(grep '^jetmem_cma_used' /tmp/page)"
systemctl stop 'camera*'
# Pieces of 4 MiB, of which each second one comes back.
begin=$(now)
hog --unit=holes -p StandardOutput=file:/tmp/holes $share/tools/heap_take reserved 4 60 each_second
within 20 grep -q has /tmp/holes
cat /tmp/holes; grep Cma /proc/meminfo; cat /sys/kernel/debug/cma/reserved/maxchunk
refused || { bad "a frame of 24 MiB is not refused where no hole has more than 4 MiB"; cat /tmp/canary; }
after=$(alert_after "$begin" JetmemCmaFragmented 200) && good "$after" "half of it is free, in holes: JetmemCmaFragmented (2 minutes of that are its own for)" || bad "JetmemCmaFragmented does not fire: $(grep '^jetmem_cma_frame_fit' /tmp/page)"
systemctl stop holes
