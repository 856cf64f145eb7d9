// SPDX-License-Identifier: Apache-2.0
// As much of CUDA's runtime as jetmem-probe uses, so that its way through it is tested where there
// is neither a toolkit nor a GPU; fake_cuda.cc answers. The values are CUDA's.
#pragma once

#include <cstddef>

#ifndef CUDART_VERSION
#define CUDART_VERSION 10020
#endif

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorIllegalAddress = 700,
  cudaErrorNotPermitted = 800,
  cudaErrorNotSupported = 801,
};
using cudaError_t = cudaError;

enum cudaDeviceAttr {
  cudaDevAttrIntegrated = 18,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrHighest = 200,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

constexpr unsigned cudaHostAllocMapped = 2;
constexpr unsigned cudaHostRegisterMapped = 2;
constexpr unsigned cudaMemAttachGlobal = 1;
constexpr unsigned cudaMemAttachHost = 2;
constexpr unsigned cudaMemAttachSingle = 4;
constexpr unsigned cudaDeviceScheduleBlockingSync = 4;
constexpr unsigned cudaDeviceMapHost = 8;
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventBlockingSync = 1;
constexpr int cudaCpuDeviceId = -1;

using cudaStream_t = struct FakeStream*;
using cudaEvent_t = struct FakeEvent*;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind way,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* memory, std::size_t bytes,
                                     unsigned flags);
#if CUDART_VERSION >= 13000
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
cudaError_t cudaMemPrefetchAsync(const void* memory, std::size_t bytes, cudaMemLocation location,
                                 unsigned flags, cudaStream_t stream);
#else
cudaError_t cudaMemPrefetchAsync(const void* memory, std::size_t bytes, int device,
                                 cudaStream_t stream);
#endif
