# SPDX-License-Identifier: Apache-2.0
# nvmap is unloaded and loaded again, and debugfs unmounted, while jetmem reads both. nvmap's files in debugfs have no
# owner: rmmod succeeds while one is open, and closing it then makes the kernel oops. So jetmem keeps none open between
# readings. Only a reading that takes place in that millisecond may make rmmod or umount fail, once.
limit=3300
rounds=20 watched=120
settings=/etc/jetmem/conf.d/50-unload.yaml
mkdir -p /etc/jetmem/conf.d
printf 'sources:\n  nvmap:\n    interval: 30s\n  clocks:\n    interval: 1s\n  cma:\n    interval: 1s\n  device:\n    interval: 10s\n' >$settings
systemctl reload jetmemd
reads() { metric "jetmem_source_reads_total{source=\"$1\"}"; }
is_read() { [ "$(source_state nvmap)" = ok ]; }
is_gone() { [ "$(source_state nvmap)" = absent ] || oops; }
oops() { dmesg | grep -E 'Oops|BUG:|Unable to handle kernel' | tee /tmp/oops | grep -q .; }
below() {
  # shellcheck disable=SC2046  # words
  find $(pgrep jetmem | sed 's|.*|/proc/&/fd|') \( -lname '/sys/kernel/debug/*' -o -lname '/sys/kernel/tracing/*' \) -printf '%p %l\n' 2>/dev/null
}
# Programs that have /dev/nvmap or a buffer of it open keep it loaded: those of other scenarios.
pkill -f tools/nvlab
! oops || { bad "before anything was done: $(head -n 1 /tmp/oops)"; exit 0; }
within 90 is_read || { bad "nvmap is $(source_state nvmap)"; exit 0; }

# A reading takes milliseconds: a descriptor that is still open after a second is kept.
reader=$(pgrep -o jetmem-reader)
samples=0 during=0
: >/tmp/kept
nvmap=$(reads nvmap) clocks=$(reads clocks) cma=$(reads cma) end=$(($(cut -d. -f1 /proc/uptime) + watched))
while [ "$(cut -d. -f1 /proc/uptime)" -lt $end ]; do
  below >/tmp/open
  samples=$((samples + 1))
  [ -s /tmp/open ] || continue
  during=$((during + 1))
  for _ in 1 2 3 4 5; do sleep 0.2; below | grep -xFf /tmp/open >/tmp/still; mv /tmp/still /tmp/open; done
  cat /tmp/open >>/tmp/kept
done
echo "$samples samples, $during of them during a reading; read meanwhile: nvmap $(minus "$(reads nvmap)" "$nvmap"), clocks $(minus "$(reads clocks)" "$clocks"), cma $(minus "$(reads cma)" "$cma")"
sort /tmp/kept | uniq -c
[ ! -s /tmp/kept ] && good - "no file of debugfs stays open: $samples samples in $watched s, $during of them during a reading" ||
  bad "kept open: $(sed 's/.* //' /tmp/kept | sort -u | paste -s -d ' ')"

removed() { rmmod "$1" || { again=$((again + 1)); sleep 0.5; rmmod "$1"; }; }
count=0 again=0
while [ $count -lt $rounds ]; do
  removed tegra_cactmon_mc_all && removed nvmap || { bad "rmmod in round $((count + 1)): $(lsmod | grep -E 'nvmap|cactmon' | tr -s ' ' | paste -s -d ' '), open: $(below | paste -s -d ' ')"; break; }
  # With its next reading jetmem would close what it kept; it looks for an absent source once a minute.
  within 100 is_gone
  insmod $share/modules/nvmap.ko && insmod $share/modules/tegra-cactmon-mc-all.ko || { bad "nvmap does not load again"; break; }
  oops || within 150 is_read
  ! oops || { bad "round $((count + 1)): $(head -n 1 /tmp/oops)"; dmesg | tail -n 60; break; }
  is_read || { bad "round $((count + 1)): nvmap is $(source_state nvmap)"; break; }
  count=$((count + 1))
  echo "round $count $(now)"
done
[ $count -lt $rounds ] || good - "nvmap and the activity monitor unloaded and loaded $count times, read again each time ($again second tries), no oops"

# clocks and cma are read each second, the map of memory each ten.
count=0 again=0
while [ $count -lt 20 ]; do
  sleep 2.3
  umount /sys/kernel/debug || { again=$((again + 1)); sleep 0.5; umount /sys/kernel/debug; } ||
    { bad "debugfs cannot be unmounted: $(below | sed 's/.* //' | paste -s -d ' ')"; break; }
  sleep 1.2
  mount -t debugfs debugfs /sys/kernel/debug
  count=$((count + 1))
done
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
[ $count -lt 20 ] || good - "debugfs unmounted and mounted 20 times ($again times at the second try)"
before=$(reads nvmap)
read_again() { [ "$(source_state nvmap)" = ok ] && above 'jetmem_source_reads_total{source="nvmap"}' "$((before + 1))" && above jetmem_nvmap_total_bytes -1; }
within 150 read_again && good - "nvmap is read again" || bad "nvmap is $(source_state nvmap) after that"
! oops || bad "$(head -n 1 /tmp/oops)"
echo "jetmem-reader: PID $reader at the beginning, $(pgrep -o jetmem-reader) at the end"
rm $settings
systemctl reload jetmemd
