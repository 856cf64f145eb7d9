# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it, before they change the directory: with --help they print the comment at
# their top and do nothing. `usage` prints it for a wrong argument too.
script=$(realpath "$0")
usage() { awk 'NR > 1 && !/^#/ { exit } NR > 1 && !/SPDX-License-Identifier/ { sub(/^# ?/, ""); print }' "$script"; }
case "${1:-}" in -h | --help) usage; exit 0 ;; esac
wrong_usage() { usage >&2; exit 2; }
