// SPDX-License-Identifier: Apache-2.0
/* The least that a daemon could be: once a second it reads the files named on its command line, and
 * throws them away. For scripts/bench, to run beside jetmemd. */
#define _GNU_SOURCE
#include <time.h>

#include "tests/bench/floor.h"

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) files += floor_open(argv[i]) >= 0;
  const struct timespec second = {1, 0};
  for (;;) {
    for (int i = 0; i < files; ++i) floor_read(i);
    clock_nanosleep(CLOCK_BOOTTIME, 0, &second, 0);
  }
}
