// SPDX-License-Identifier: Apache-2.0
/* Stands where libcuda.so.1 is, with the two functions that the probe itself takes from it. */
#include <stdio.h>

int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  snprintf(name, (size_t)size, "Stand-in");
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  if (attribute != 124) return 1;
  *value = 1;
  return 0;
}
