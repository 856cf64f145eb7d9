// SPDX-License-Identifier: Apache-2.0
// What the GPU does to the memory: plain C++14, so that the compilers of CUDA 10.2 take it.
#include "probes/program/cuda/kernels.h"

namespace jetmem {
namespace probe {
namespace {

constexpr unsigned kThreads = 256;
// Enough to keep the largest GPU's memory busy; the rest is done by the loop in the kernel.
constexpr std::uint64_t kMostBlocks = 1024;

unsigned blocks_for(std::uint64_t count) {
  const std::uint64_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > kMostBlocks ? kMostBlocks : blocks);
}

__global__ void modify(unsigned long long* words, unsigned long long count) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += stride) {
    words[i] = words[i] * kKernelFactor + kKernelTerm;
  }
}

// Past the small caches of each processor, which hold any memory for as long as a kernel runs: it
// is the large one, in front of the memory, that tells kinds of memory apart.
__global__ void read(const unsigned long long* words, unsigned long long count, unsigned times,
                     unsigned long long* sum) {
  __shared__ unsigned long long sums[kThreads];
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
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(sum, sums[0]);
}

}  // namespace

cudaError_t load_kernels() {
  cudaFuncAttributes attributes;
  const cudaError_t answer =
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&modify));
  if (answer != cudaSuccess) return answer;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&read));
}

cudaError_t launch_modify(std::uint64_t* words, std::uint64_t count, cudaStream_t stream) {
  modify<<<blocks_for(count), kThreads, 0, stream>>>(reinterpret_cast<unsigned long long*>(words),
                                                     count);
  return cudaGetLastError();
}

cudaError_t launch_read(const std::uint64_t* words, std::uint64_t count, unsigned times,
                        std::uint64_t* sum, cudaStream_t stream) {
  read<<<blocks_for(count), kThreads, 0, stream>>>(
      reinterpret_cast<const unsigned long long*>(words), count, times,
      reinterpret_cast<unsigned long long*>(sum));
  return cudaGetLastError();
}

}  // namespace probe
}  // namespace jetmem
