// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a file for good. Its number for floor_read(), or -1. */
int floor_open(const char* path);
/* Reads it to its end, by pread until there is no more. */
void floor_read(int file);

#ifdef __cplusplus
}
#endif
