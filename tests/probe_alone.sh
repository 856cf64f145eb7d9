#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds jetmem-probe alone, as on a device, with nothing but CMake and a C++ compiler, and CUDA if
# that is asked for; then runs it and holds what it prints to the schema.
#
#   tests/probe_alone.sh BUILD_DIR ON|OFF      77: with CUDA, but there is no nvcc here
set -euo pipefail
build=$1 cuda=$2
cd "$(dirname "$0")/.."
if [ "$cuda" = ON ] && ! PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
  echo "SKIPPED: NO nvcc HERE: the half of jetmem-probe that needs CUDA was not compiled"
  exit 77
fi
rm -rf "$build"
cmake -S probes/program -B "$build" -DJETMEM_CUDA="$cuda"
cmake --build "$build" -j2
version=$("$build/jetmem-probe" --version)
echo "$version"
case "$cuda $version" in
  "OFF jetmem-probe "*"(without CUDA)" | "ON jetmem-probe "*"(CUDA "*) ;;
  *) echo "it does not say how it was built" && exit 1 ;;
esac
"$build/jetmem-probe" >"$build/line"
[ "$(wc -l <"$build/line")" = 1 ]
status=0
python3 -B tests/docs/check_probe_schema.py "$build/line" || status=$?
case $status in 0) ;; 77) echo "the schema was not looked at" ;; *) exit 1 ;; esac
python3 -B - "$build/line" "$cuda" <<'PYTHON'
import json
import sys

run = json.load(open(sys.argv[1]))
states = {probe["kind"]: probe["state"] for probe in run["probes"]}
print(states)
assert states["host"] == "ok", run
if sys.argv[2] == "OFF":
    assert run["gpu"]["reason"] == "built without CUDA", run["gpu"]
for probe in run["probes"]:
    assert probe["state"] == "ok" or probe["reason"], probe
PYTHON
