// SPDX-License-Identifier: Apache-2.0
// What the kernels in probes/program/cuda/kernels.ptx do, in C++: tests compare the two.

extern "C" __global__ void jetmem_modify(unsigned long long* words, unsigned long long count) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += stride) {
    words[i] = words[i] * 6364136223846793005ULL + 1442695040888963407ULL;
  }
}

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
