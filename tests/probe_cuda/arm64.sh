#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jetmem-probe for arm64, on this machine: an emulator runs it against a stand-in driver for arm64.
#
#   tests/probe_cuda/arm64.sh BUILD_DIR PROBE
#
# PROBE: the program, from a package. 77: the compiler or the emulator is not here.
set -euo pipefail
build=$1 probe=$2
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static; do
  if ! command -v "$tool" >/dev/null; then
    echo "SKIPPED: no $tool here: jetmem-probe for arm64 was not run"
    exit 77
  fi
done
mkdir -p "$build/driver"
aarch64-linux-gnu-g++ -std=c++17 -O2 -fPIC -shared -Wl,-Bsymbolic -static-libstdc++ -static-libgcc -I"$top" \
  -o "$build/driver/libcuda.so.1" "$here/fake/fake_cuda.cc"
exec python3 -B "$here/test_probe_cuda.py" "$probe" "$build/driver/libcuda.so.1" \
  qemu-aarch64-static -L /usr/aarch64-linux-gnu
