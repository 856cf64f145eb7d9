// SPDX-License-Identifier: Apache-2.0
/* The floor: what the kernel itself takes to hand out the text of some files. They stay open and
 * are read to their end the way jetmem reads them; the text is thrown away. */
#include "tests/bench/floor.h"

#include <fcntl.h>
#include <unistd.h>

enum { kMaxFiles = 16, kBufferBytes = 64 * 1024 };

static int files[kMaxFiles];
static int file_count;
static char buffer[kBufferBytes];

int floor_open(const char* path) {
  if (file_count == kMaxFiles) return -1;
  files[file_count] = open(path, O_RDONLY | O_CLOEXEC);
  return files[file_count] < 0 ? -1 : file_count++;
}

void floor_read(int file) {
  off_t at = 0;
  ssize_t n = 0;
  while ((n = pread(files[file], buffer, sizeof buffer, at)) > 0) at += n;
}
