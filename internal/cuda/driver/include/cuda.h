/*
 * Stands before CUDA's own cuda.h on the include path, so that
 * gorgonia.org/cu v0.9.6, written for CUDA 11, compiles with CUDA 13.
 *
 * CUDA 13 gave five names a new signature and moved the old one to another
 * symbol, which every driver still exports. The old signatures come back here.
 */
#ifndef PIPPIN_CUDA_H
#define PIPPIN_CUDA_H

#include_next <cuda.h>

#if CUDA_VERSION >= 13000

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphGetEdges
#undef cuGraphAddDependencies

#ifdef __cplusplus
extern "C" {
#endif

/* The new prototypes went to the versioned names, except for cuCtxCreate,
 * whose old one is _v2. */
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr ptr, size_t count, CUmem_advise advice, CUdevice device);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr ptr, size_t count, CUdevice device, CUstream stream);
CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *edges);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t edges);

#ifdef __cplusplus
}
#endif

#define cuCtxCreate cuCtxCreate_v2

#endif /* CUDA_VERSION >= 13000 */

#endif
