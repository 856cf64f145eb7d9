# SPDX-License-Identifier: Apache-2.0
# Two leaks begin that `leaks` looks at: a program allocates 1 MiB each 15 s and keeps it; another drops its client
# of nvmap each 20 s and keeps a descriptor of 1 MiB.
leak() { unit=$1; shift; hog --unit="$unit" -p "StandardOutput=file:/tmp/$unit" $share/tools/nvlab "as:$unit" "$@"; }
words=
number=0
while [ $number -lt 320 ]; do words="$words a:1M:iovmm:f00 sleep:15"; number=$((number + 1)); done
# shellcheck disable=SC2086
leak leaker $words
words=
number=0
while [ $number -lt 240 ]; do words="$words open a:1M:iovmm:d00 fd:$number close sleep:20"; number=$((number + 1)); done
# shellcheck disable=SC2086
leak argus-like $words
now >/tmp/growth_began
orphaned() { [ "$(grep -c ' 1024K ' /sys/kernel/debug/nvmap/iovmm/orphan_handles)" -ge 2 ]; }
within 90 orphaned && good - "a leak of 4 MiB and of 3 MiB of orphans a minute has begun" || { bad "no orphans"; cat /tmp/argus-like /sys/kernel/debug/nvmap/iovmm/orphan_handles; }
