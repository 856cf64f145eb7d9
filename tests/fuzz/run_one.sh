#!/bin/sh
# run_one.sh TARGET FIXTURES [CORPUS]: fuzzes one target for FUZZ_SECONDS (default 3; 10 where what
# is read is the kernel's log, which anyone may write into), seeded with the fixture files that its
# name matches (fuzz_meminfo: every file called meminfo) and with corpus/NAME beside this script: few
# and small inputs that earlier runs found worth keeping, and whatever crashed once. With CORPUS, a
# folder, its inputs are used too, new ones are kept there, and a crash is left beside it.
#
# fuzz_rules begins with the rules that ship.
#
# Targets of the kernel's log (fuzz_kernel_log_oom) take tests/fixtures/kernel-log/oom.txt, whole and
# line by line, and the messages of JETMEM_CORPUS/kernel-log.jsonl where that is set.
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
# Where the files are not called as the target is.
case "$name" in
  boot) files='pstore lib/jetmem reset_reason' ;;
  clocks) files='pmode status nvpmodel.conf mc_all cur_freq governor' ;;
  device) files='reg compatible nv_tegra_release iomem' ;;
  dmabuf_bufinfo) files=bufinfo ;;
  dmabuf_fdinfo) files='2[0-9]' ;;
  nvmap) files='clients orphan_handles' ;;
  power) files='in1_label curr1_input rail_name_0' ;;
  processes) files='cgroup statm comm' ;;
  throttle) files='oc3_event_cnt type cur_state' ;;
  zram) files='mm_stat swaps comp_algorithm' ;;
  *) files=$name ;;
esac
n=0
if [ "$name" = rules ]; then fixtures=$(dirname "$0")/../../config; fi
for pattern in $files; do
  for file in $(find "$fixtures" -type f \( -name "$pattern" -o -path "*/$pattern/*" \) | sort | head -n 200); do
    n=$((n + 1))
    cp "$file" "$work/seeds/seed-$n"
  done
done
for file in "$(dirname "$0")/corpus/$name"/*; do
  [ -f "$file" ] && cp "$file" "$work/seeds/kept-$(basename "$file")"
done

seconds=3
case "$name" in
  kernel_log_*)
    seconds=10
    python3 - "$name" "$fixtures/kernel-log" "$work/seeds" "${JETMEM_CORPUS:-}" <<'EOF'
import json
import pathlib
import sys

name, fixtures, seeds, corpus = sys.argv[1:]
theme = name[len("kernel_log_"):]
# A family's target takes its first byte as the SoC.
first = b"" if theme in ("record", "pasted") else b"4"
texts = []
own = pathlib.Path(fixtures, theme + ".txt")
if own.is_file():
    texts.append(own.read_bytes())
    # A record's keys stand in lines of their own.
    texts += texts[0].replace(b"\n ", b"\0 ").split(b"\n")
if theme == "pasted":
    texts += [f.read_bytes() for f in sorted(pathlib.Path(fixtures).glob("*.txt")) if f != own]
if corpus and pathlib.Path(corpus, "kernel-log.jsonl").is_file():
    for row in pathlib.Path(corpus, "kernel-log.jsonl").read_text().splitlines():
        entry = json.loads(row)
        for key in ("msg", "lines", "raw"):
            value = entry.get(key) or []
            text = value if isinstance(value, str) else "\n".join(value)
            texts.append(text.encode())
for number, text in enumerate(filter(None, texts)):
    pathlib.Path(seeds, f"log-{number}").write_bytes(first + text.replace(b"\0", b"\n"))
EOF
    ;;
esac

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
