// SPDX-License-Identifier: Apache-2.0
// The CPU time of a command and all that it starts, in nanoseconds, on standard error:
// cpu_of COMMAND [ARGUMENT...]
//
// What wait4() tells is divided between user and system by ticks, and is half a tick off or more; this is
// the scheduler's own count (perf_event_open(2), PERF_COUNT_SW_TASK_CLOCK, inherited by children).
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int go[2];
  if (argc < 2 || pipe(go) != 0) return 2;
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(go[1]);
    if (read(go[0], &byte, 1) != 1) _exit(2);
    close(go[0]);
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    _exit(127);
  }
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.disabled = 1;
  attr.enable_on_exec = 1;
  attr.inherit = 1;
  const int counter = (int)syscall(SYS_perf_event_open, &attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (counter < 0) {
    perror("perf_event_open");
    return 2;
  }
  close(go[0]);
  if (write(go[1], "", 1) != 1) return 2;
  close(go[1]);
  int status = 0;
  waitpid(child, &status, 0);
  uint64_t nanoseconds = 0;
  if (read(counter, &nanoseconds, sizeof nanoseconds) != sizeof nanoseconds) return 2;
  fprintf(stderr, "%llu\n", (unsigned long long)nanoseconds);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
