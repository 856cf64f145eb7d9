// The kernels, from kernels.cu; a C++14 header, so that the compilers of CUDA 10.2 take it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace jetmem {
namespace probe {

// Each word becomes word * kModifyFactor + kModifyTerm (pattern.h): the CPU can tell that the GPU
// read what the CPU wrote, and wrote what the CPU reads. Asynchronous, on `stream`.
cudaError_t launch_modify(std::uint64_t* words, std::uint64_t count, cudaStream_t stream);

// Reads all words `times` times over and leaves their sum at `sum` (a device's or mapped address),
// so that no reading can be left out.
cudaError_t launch_read(const std::uint64_t* words, std::uint64_t count, unsigned times,
                        std::uint64_t* sum, cudaStream_t stream);

}  // namespace probe
}  // namespace jetmem
