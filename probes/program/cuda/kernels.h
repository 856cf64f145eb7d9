// SPDX-License-Identifier: Apache-2.0
// The kernels, from kernels.cu; a C++14 header, so that the compilers of CUDA 10.2 take it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace jetmem {
namespace probe {

// Brings the kernels' code onto the GPU, which is otherwise done by the first use of each.
// cudaErrorNoKernelImageForDevice: this build has no code for this GPU.
cudaError_t load_kernels();

// As kModifyFactor and kModifyTerm in pattern.h, which is C++17; calls.h holds them together.
constexpr std::uint64_t kKernelFactor = 6364136223846793005ULL;
constexpr std::uint64_t kKernelTerm = 1442695040888963407ULL;

// Each word becomes word * kKernelFactor + kKernelTerm: the CPU can tell that the GPU
// read what the CPU wrote, and wrote what the CPU reads. Asynchronous, on `stream`.
cudaError_t launch_modify(std::uint64_t* words, std::uint64_t count, cudaStream_t stream);

// Reads all words `times` times over and adds up what it found at `sum`, in the GPU's own memory,
// so that no read can be optimised away.
cudaError_t launch_read(const std::uint64_t* words, std::uint64_t count, unsigned times,
                        std::uint64_t* sum, cudaStream_t stream);

}  // namespace probe
}  // namespace jetmem
