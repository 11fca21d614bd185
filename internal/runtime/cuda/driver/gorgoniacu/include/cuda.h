// CUDA 13 changed the prototypes behind five names that gorgonia.org/cu v0.9.6 calls; the driver keeps the old entry points.
#include_next <cuda.h>
#if CUDA_VERSION >= 13000 && !defined(GOESTIMATOR_CUDA_H)
#define GOESTIMATOR_CUDA_H
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuCtxCreate
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#define cuCtxCreate cuCtxCreate_v2
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *, unsigned int, CUdevice);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUdevice);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
CUresult CUDAAPI cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
#endif
