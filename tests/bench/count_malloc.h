// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* How often the calling thread has asked the heap for memory. */
unsigned long allocations_of_this_thread(void);

#ifdef __cplusplus
}
#endif
