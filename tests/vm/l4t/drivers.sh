# SPDX-License-Identifier: Apache-2.0
# NVIDIA's modules, and a stub that answers in place of firmware and hardware.
for name in nvsciipc nvmap nvstub tegra-bpmp-thermal thermal-trip-event tegra234-oc-event nvpmodel-clk-cap tegra-cactmon-mc-all pwm-fan regmap-i2c ina3221 lm90; do
  insmod $share/modules/$name.ko || [ $name = regmap-i2c ] || bad "$name does not load"
done
[ -c /dev/nvmap ] || { bad "there is no /dev/nvmap"; dmesg | tail -n 20; exit 0; }
tr '\0' '\n' </proc/device-tree/compatible; ls /sys/kernel/debug/nvmap
good - "nvmap has the heaps $(find /sys/kernel/debug/nvmap -name clients | sed 's|/clients$||; s|.*/||' | sort | paste -s -d ' ')"
