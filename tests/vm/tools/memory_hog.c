// SPDX-License-Identifier: Apache-2.0
// Takes memory and keeps it.
//
//   memory_hog MEGABYTES [SECONDS] [touch|churn]
//
// With "touch" it goes over all of it again and again, so that none of it can be put aside. With "churn" it gives
// an eighth back before, and is charged with that anew.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 0) : 1) << 20;
  const time_t end = time(NULL) + (argc > 2 ? atol(argv[2]) : 0);
  const int churn = argc > 3 && strcmp(argv[3], "churn") == 0;
  const int touch = churn || (argc > 3 && strcmp(argv[3], "touch") == 0);
  volatile unsigned char *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    return 1;
  }
  int first = 1;
  do {
    if (churn) madvise((void *)memory, bytes / 8, MADV_DONTNEED);
    for (size_t i = 0; i < bytes; i += 4096) memory[i] = (unsigned char)(i >> 12) | 1;
    if (first) printf("has %zu MiB\n", bytes >> 20);
    first = 0;
    fflush(stdout);
    if (!touch) sleep(1);
  } while (time(NULL) < end);
  return 0;
}
