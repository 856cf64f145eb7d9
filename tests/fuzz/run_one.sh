#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_one.sh TARGET FIXTURES [CORPUS]: fuzzes one target for FUZZ_SECONDS (default 1; 2 where what
# is read is the kernel's log, which anyone may write into), seeded by seeds.py. With CORPUS, a folder,
# its inputs are used too, new ones are kept there, and a crash is left beside it.
set -eu
target=$1
fixtures=$2
kept=${3:-}
name=$(basename "$target" | sed 's/^fuzz_//')
# In memory where there is such a place: targets that need files write thousands of them a second.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then TMPDIR=/dev/shm; fi
work=$(mktemp -d -p "${TMPDIR:-/tmp}")
export TMPDIR="$work"
trap 'rm -rf "$work"' EXIT
mkdir "$work/seeds"
python3 -B "$(dirname "$0")/seeds.py" "$name" "$fixtures" "$work/seeds"
seconds=1
case "$name" in kernel_log_*) seconds=2 ;; esac

found=$work
corpus=$work/corpus
if [ -n "$kept" ]; then
  found=$kept.crashes
  corpus=$kept
  mkdir -p "$found"
fi
mkdir -p "$corpus"
if ! "$target" -max_total_time="${FUZZ_SECONDS:-$seconds}" -max_len=65536 -timeout=20 \
  -rss_limit_mb=1024 -artifact_prefix="$found/" "$corpus" "$work/seeds" >"$work/log" 2>&1; then
  tail -n 60 "$work/log"
  for input in "$found"/crash-* "$found"/leak-* "$found"/timeout-* "$found"/oom-*; do
    [ -f "$input" ] || continue
    [ -n "$kept" ] && echo "input: $input"
    echo "input, base64:"
    base64 "$input"
  done
  exit 1
fi
tail -n 1 "$work/log"
