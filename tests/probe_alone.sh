#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds jetmem-probe alone, as on a device, with nothing but CMake and a C++ compiler; then runs it
# and holds what it prints to the schema.
#
#   tests/probe_alone.sh BUILD_DIR
set -euo pipefail
build=$1
cd "$(dirname "$0")/.."
rm -rf "$build"
cmake -S probes/program -B "$build"
cmake --build "$build" -j2
"$build/jetmem-probe" --version
"$build/jetmem-probe" >"$build/line"
[ "$(wc -l <"$build/line")" = 1 ]
status=0
python3 -B tests/docs/check_probe_schema.py "$build/line" || status=$?
case $status in 0) ;; 77) echo "the schema was not looked at" ;; *) exit 1 ;; esac
python3 -B - "$build/line" <<'PYTHON'
import json
import sys

run = json.load(open(sys.argv[1]))
states = {probe["kind"]: probe["state"] for probe in run["probes"]}
print(states)
assert states["host"] == "ok", run
assert {"pinned", "pool", "eglstream"} <= set(states), states
assert run["gpu"]["start"][0]["step"] == "driver", run["gpu"]
for probe in run["probes"]:
    assert probe["state"] == "ok" or probe["reason"], probe
PYTHON
