// SPDX-License-Identifier: Apache-2.0
// N processes that do nothing, of a thousand names, until standard input ends: idle_processes N
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      perror("fork");
      return 1;
    }
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return 0;
    char name[16];
    snprintf(name, sizeof name, "bench-%d", i % 1000);
    prctl(PR_SET_NAME, name);
    for (;;) pause();
  }
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
