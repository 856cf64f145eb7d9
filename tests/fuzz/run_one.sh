#!/bin/sh
# run_one.sh TARGET FIXTURES: fuzzes one target for FUZZ_SECONDS (default 3), seeded with the
# fixture files that its name matches (fuzz_meminfo: every file called meminfo).
set -eu
target=$1
fixtures=$2
name=$(basename "$target" | sed 's/^fuzz_//')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/corpus"
n=0
for file in $(find "$fixtures" -type f \( -name "$name" -o -path "*/$name/*" \) | sort); do
  n=$((n + 1))
  cp "$file" "$work/corpus/seed-$n"
done
if ! "$target" -max_total_time="${FUZZ_SECONDS:-3}" -max_len=65536 -timeout=5 -rss_limit_mb=1024 \
  -artifact_prefix="$work/" "$work/corpus" >"$work/log" 2>&1; then
  tail -n 60 "$work/log"
  for input in "$work"/crash-* "$work"/timeout-* "$work"/oom-*; do
    [ -f "$input" ] && { echo "input, base64:"; base64 "$input"; }
  done
  exit 1
fi
tail -n 1 "$work/log"
