# SPDX-License-Identifier: Apache-2.0
# Ten times a camera's rate. Needs JETMEM_VM_MEMORY=8192.
limit=3300
[ "$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)" -gt 6000000 ] || { bad "needs JETMEM_VM_MEMORY=8192"; exit 0; }
rate=300
. $share/guest/small_leak.sh
