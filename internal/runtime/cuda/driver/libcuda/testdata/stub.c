// A libcuda over host memory, compiled against NVIDIA's cuda.h, so that the compiler checks every prototype. Streams work
// at once; the one kernel is drivertest's add_int. It sees that the Go side passes what the header says.
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { int kind; CUdeviceptr a, b; const void *ha; void *hb; size_t n; unsigned char v; int args[2]; unsigned threads; } node;
struct CUstream_st { int capturing, count; node nodes[64]; };
struct CUgraph_st { int count; node nodes[64]; };
struct CUgraphExec_st { int count; node nodes[64]; };
struct CUevent_st { int recorded, timing; struct timespec at; };
static int contexts[2], function_token, module_token;
static __thread CUcontext current;
static size_t used;
static const size_t memory = (size_t)8 << 30;

#define BLOCKS 4096
static struct { char *p; size_t n; int device; } blocks[BLOCKS];
static volatile int lock;
static void enter(void) { while (__sync_lock_test_and_set(&lock, 1)); }
static void leave(void) { __sync_lock_release(&lock); }
static void *give(size_t n, int device) {
  char *p = 0;
  enter();
  for (int i = 0; i < BLOCKS && !p; i++)
    if (!blocks[i].p) { p = aligned_alloc(256, (n + 255) / 256 * 256); blocks[i].p = p; blocks[i].n = n; blocks[i].device = device; }
  leave();
  return p;
}
static int take(void *p, int device, size_t *n) {
  int found = 0;
  enter();
  for (int i = 0; i < BLOCKS; i++)
    if (p && blocks[i].p == p && blocks[i].device == device) { *n = blocks[i].n; free(p); blocks[i].p = 0; found = 1; }
  leave();
  return found;
}
static int inside(CUdeviceptr a, size_t n) {
  int ok = 0;
  enter();
  for (int i = 0; i < BLOCKS; i++) {
    CUdeviceptr s = (CUdeviceptr)(size_t)blocks[i].p;
    if (s && blocks[i].device && a >= s && a + n <= s + blocks[i].n) ok = 1;
  }
  leave();
  return ok;
}
#define NEED_CONTEXT if (!current) return CUDA_ERROR_INVALID_CONTEXT

CUresult CUDAAPI cuInit(unsigned int flags) { return flags ? CUDA_ERROR_INVALID_VALUE : getenv("STUB_NO_DEVICE") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }
CUresult CUDAAPI cuDriverGetVersion(int *v) { *v = 12040; return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetCount(int *n) { *n = 2; return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGet(CUdevice *d, int i) { if (i < 0 || i > 1) return CUDA_ERROR_INVALID_DEVICE; *d = i; return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetName(char *s, int n, CUdevice d) { strncpy(s, d ? "Stub 1" : "Stub 0", n); return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *n, CUdevice d) { *n = memory; return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
  switch (a) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 9; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = 0; break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 132; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 227 << 10; break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *v = 1980000; break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *v = 3201000; break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *v = 6144; break;
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: *v = 1; break;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { *c = (CUcontext)&contexts[d]; return CUDA_SUCCESS; }
static int known(CUcontext c) { return c == (CUcontext)&contexts[0] || c == (CUcontext)&contexts[1]; }
CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice d) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxSetCurrent(CUcontext c) { if (!known(c)) return CUDA_ERROR_INVALID_CONTEXT; current = c; return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
  NEED_CONTEXT;
  if (n > memory - used) return CUDA_ERROR_OUT_OF_MEMORY;
  *p = (CUdeviceptr)(size_t)give(n, 1); __sync_fetch_and_add(&used, n); return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr p) { size_t n; NEED_CONTEXT; if (!take((void *)(size_t)p, 1, &n)) return CUDA_ERROR_INVALID_VALUE; __sync_fetch_and_sub(&used, n); return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemGetInfo_v2(size_t *f, size_t *t) { NEED_CONTEXT; *f = memory - used; *t = memory; return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemHostAlloc(void **p, size_t n, unsigned int flags) { NEED_CONTEXT; if (flags != CU_MEMHOSTALLOC_PORTABLE) return CUDA_ERROR_INVALID_VALUE; *p = give(n, 0); return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemFreeHost(void *p) { size_t n; NEED_CONTEXT; return take(p, 0, &n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

enum { UP, DOWN, WITHIN, SET, ADD };
static void work(const node *w) {
  char *a = (char *)(size_t)w->a;
  switch (w->kind) {
  case UP: memcpy(a, w->ha, w->n); break;
  case DOWN: memcpy(w->hb, a, w->n); break;
  case WITHIN: memmove(a, (char *)(size_t)w->b, w->n); break;
  case SET: memset(a, w->v, w->n); break;
  case ADD: for (int i = 0; i < w->args[1] && i < (int)w->threads; i++) ((int *)a)[i] += w->args[0]; break;
  }
}
static CUresult issue(CUstream s, node w) {
  NEED_CONTEXT;
  if (s->capturing) { s->nodes[s->count++] = w; return CUDA_SUCCESS; }
  work(&w);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream h) { return inside(d, n) ? issue(h, (node){.kind = UP, .a = d, .ha = s, .n = n}) : CUDA_ERROR_INVALID_VALUE; }
CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream h) { return inside(s, n) ? issue(h, (node){.kind = DOWN, .a = s, .hb = d, .n = n}) : CUDA_ERROR_INVALID_VALUE; }
CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h) { return inside(d, n) && inside(s, n) ? issue(h, (node){.kind = WITHIN, .a = d, .b = s, .n = n}) : CUDA_ERROR_INVALID_VALUE; }
static int enabled[2];
CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer) { *can = d != peer; return (d | peer) & ~1 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  NEED_CONTEXT;
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (!known(peer) || peer == current) return CUDA_ERROR_INVALID_CONTEXT;
  return enabled[current == (CUcontext)&contexts[1]]++ ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr d, CUcontext to, CUdeviceptr s, CUcontext from, size_t n, CUstream h) {
  if (!known(to) || !known(from) || to != current || from == to) return CUDA_ERROR_INVALID_CONTEXT;
  return inside(d, n) && inside(s, n) ? issue(h, (node){.kind = WITHIN, .a = d, .b = s, .n = n}) : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream h) { return inside(d, n) ? issue(h, (node){.kind = SET, .a = d, .v = v, .n = n}) : CUDA_ERROR_INVALID_VALUE; }

CUresult CUDAAPI cuStreamCreate(CUstream *s, unsigned int flags) { NEED_CONTEXT; if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE; *s = calloc(1, sizeof **s); return CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamDestroy_v2(CUstream s) { NEED_CONTEXT; free(s); return CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamSynchronize(CUstream s) { NEED_CONTEXT; return s->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamWaitEvent(CUstream s, CUevent e, unsigned int flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode m) { NEED_CONTEXT; if (m != CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE; s->capturing = 1; s->count = 0; return CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamEndCapture(CUstream s, CUgraph *g) { NEED_CONTEXT; *g = malloc(sizeof **g); (*g)->count = s->count; memcpy((*g)->nodes, s->nodes, sizeof s->nodes); s->capturing = 0; return CUDA_SUCCESS; }
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long flags) { if (flags) return CUDA_ERROR_INVALID_VALUE; *e = malloc(sizeof **e); memcpy(*e, g, sizeof **e); return CUDA_SUCCESS; }
CUresult CUDAAPI cuGraphLaunch(CUgraphExec e, CUstream s) { NEED_CONTEXT; for (int i = 0; i < e->count; i++) issue(s, e->nodes[i]); return CUDA_SUCCESS; }
CUresult CUDAAPI cuGraphDestroy(CUgraph g) { free(g); return CUDA_SUCCESS; }
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec e) { free(e); return CUDA_SUCCESS; }

CUresult CUDAAPI cuEventCreate(CUevent *e, unsigned int flags) { *e = calloc(1, sizeof **e); (*e)->timing = !(flags & CU_EVENT_DISABLE_TIMING); return CUDA_SUCCESS; }
CUresult CUDAAPI cuEventDestroy_v2(CUevent e) { free(e); return CUDA_SUCCESS; }
CUresult CUDAAPI cuEventRecord(CUevent e, CUstream s) { e->recorded = 1; clock_gettime(CLOCK_MONOTONIC, &e->at); return CUDA_SUCCESS; }
CUresult CUDAAPI cuEventSynchronize(CUevent e) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
  if (!a->recorded || !b->recorded || !a->timing || !b->timing) return CUDA_ERROR_INVALID_HANDLE;
  *ms = (b->at.tv_sec - a->at.tv_sec) * 1e3f + (b->at.tv_nsec - a->at.tv_nsec) * 1e-6f; return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned int n, CUjit_option *o, void **v) {
  NEED_CONTEXT;
  if (n != 2 || o[0] != CU_JIT_ERROR_LOG_BUFFER || o[1] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
  if (strncmp(image, ".version", 8)) { strncpy(v[0], "stub: no .version", (size_t)v[1]); return CUDA_ERROR_INVALID_PTX; }
  *m = (CUmodule)&module_token; return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleLoadData(CUmodule *m, const void *image) { NEED_CONTEXT; if (strncmp(image, ".version", 8)) return CUDA_ERROR_INVALID_PTX; *m = (CUmodule)&module_token; return CUDA_SUCCESS; }
CUresult CUDAAPI cuModuleUnload(CUmodule m) { return m == (CUmodule)&module_token ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
CUresult CUDAAPI cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) { if (strcmp(name, "add_int")) return CUDA_ERROR_NOT_FOUND; *f = (CUfunction)&function_token; return CUDA_SUCCESS; }
CUresult CUDAAPI cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { return a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || v > 227 << 10 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **p, void **extra) {
  if (f != (CUfunction)&function_token || extra || gy * gz * by * bz != 1) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr a = *(CUdeviceptr *)p[0];
  return issue(s, (node){.kind = ADD, .a = a, .args = {*(int *)p[1], *(int *)p[2]}, .threads = gx * bx});
}
CUresult CUDAAPI cuGetErrorName(CUresult e, const char **s) { *s = e == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : e == 9999 ? 0 : "CUDA_ERROR_STUB"; return CUDA_SUCCESS; }
CUresult CUDAAPI cuGetErrorString(CUresult e, const char **s) { *s = "said by the stub"; return CUDA_SUCCESS; }
