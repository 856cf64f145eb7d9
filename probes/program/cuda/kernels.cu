// SPDX-License-Identifier: Apache-2.0
// jetmem's two kernels. Clang makes kernels.ptx of this file without CUDA's toolkit, for every GPU since
// Maxwell's integrated one (sm_53): PTX ISA 6.0 is that of CUDA 9.0's driver, so the drivers of JetPack 4
// to 7 compile it. After a change: JETMEM_UPDATE=1 tests/probe_cuda/kernels/test_kernels.py.
#ifndef __NVCC__
// The parts of CUDA's C++ that are used here, from Clang's own builtins.
#include <__clang_cuda_builtin_vars.h>
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __device__ __attribute__((device))
static inline __device__ unsigned long long __ldcg(const unsigned long long* address) {
  unsigned long long word;
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(word) : "l"(address));
  return word;
}
static inline __device__ void atomicAdd(unsigned long long* to, unsigned long long value) {
  __nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(to), static_cast<long long>(value));
}
#endif

// words[i] = words[i] * kModifyFactor + kModifyTerm (pattern.h)
extern "C" __global__ void jetmem_modify(unsigned long long* words, unsigned long long count) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += stride) {
    words[i] = words[i] * 6364136223846793005ULL + 1442695040888963407ULL;
  }
}

// Reads all words `times` times over; the sum of word ^ pass is added to *sum.
//
// Past the small caches of each processor, which hold any memory for as long as a kernel runs: it
// is the large one, in front of the memory, that tells kinds of memory apart.
extern "C" __global__ void jetmem_read(const unsigned long long* words, unsigned long long count,
                                       unsigned times, unsigned long long* sum) {
  __shared__ unsigned long long sums[256];
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  const unsigned long long first =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long mine = 0;
  for (unsigned pass = 0; pass < times; ++pass) {
    for (unsigned long long i = first; i < count; i += stride) {
      // Another result in each pass: none can stand for all.
      mine += __ldcg(words + i) ^ pass;
    }
  }
  sums[threadIdx.x] = mine;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(sum, sums[0]);
}
