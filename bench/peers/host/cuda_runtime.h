// As much of CUDA's runtime as the programs in this folder use, for g++: a card whose memory is
// the host's and whose threads compute one after another.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline

typedef int cudaError_t;
typedef void* cudaMemPool_t;
enum { cudaSuccess, cudaMemPoolAttrReleaseThreshold, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline dim3 threadIdx, blockIdx, blockDim;

inline const char* cudaGetErrorString(cudaError_t) { return "no memory"; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int) { return cudaSuccess; }
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, int, void*) { return cudaSuccess; }

template <class T>
cudaError_t cudaMalloc(T** at, size_t bytes) {
  return (*at = (T*)malloc(bytes)) ? cudaSuccess : 1;
}
template <class T>
cudaError_t cudaMallocHost(T** at, size_t bytes) { return cudaMalloc(at, bytes); }
template <class T>
cudaError_t cudaMallocManaged(T** at, size_t bytes) { return cudaMalloc(at, bytes); }
inline cudaError_t cudaFree(void* at) { return free(at), cudaSuccess; }
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, int) { return memcpy(to, from, bytes), cudaSuccess; }

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
};
template <class... Wanted, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Wanted...), Given... args) {
  blockDim = config->blockDim;
  for (blockIdx.x = 0; blockIdx.x < config->gridDim.x; blockIdx.x++)
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) kernel(args...);
  return cudaSuccess;
}
