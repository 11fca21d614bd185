// An NCCL over host memory, compiled against NVIDIA's nccl.h, so that the compiler checks every prototype. Sums are done
// when a group ends, and need all ranks in one process. It sees that the Go side passes what the header says.
#include <nccl.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

struct ncclComm { int rank, total, blocking, pending; };
typedef struct { const void *send; void *recv; size_t n; ncclDataType_t type; ncclComm_t c; void *stream; } job;
static job jobs[64];
static int count, depth, live;
static pthread_t owner;

ncclResult_t ncclGetVersion(int *v) { *v = NCCL_VERSION_CODE; return ncclSuccess; }
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  for (int i = 0; i < NCCL_UNIQUE_ID_BYTES; i++) id->internal[i] = (char)(i * 7 + 1);
  return ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t r) { return r == ncclInvalidArgument ? "invalid argument" : "stub error"; }
const char *ncclGetLastError(ncclComm_t c) { return c ? "not NULL" : "said by the stub"; }
ncclResult_t ncclGroupStart() { owner = pthread_self(); depth++; return ncclSuccess; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t *c, int total, ncclUniqueId id, int rank, ncclConfig_t *config) {
  ncclConfig_t want = NCCL_CONFIG_INITIALIZER;
  if (!depth || !pthread_equal(owner, pthread_self())) return ncclInvalidUsage;
  for (int i = 0; i < NCCL_UNIQUE_ID_BYTES; i++)
    if (id.internal[i] != (char)(i * 7 + 1)) return ncclInvalidArgument;
  if (config->size != want.size || config->magic != want.magic || config->version > want.version || config->cgaClusterSize != want.cgaClusterSize ||
      config->minCTAs != want.minCTAs || config->maxCTAs != want.maxCTAs || config->netName != want.netName || config->splitShare != want.splitShare) return ncclInvalidArgument;
  if (rank < 0 || rank >= total) return ncclInvalidArgument;
  *c = calloc(1, sizeof **c);
  (*c)->rank = rank; (*c)->total = total; (*c)->blocking = config->blocking; (*c)->pending = config->blocking ? 0 : 3;
  live++;
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c, cudaStream_t stream) {
  if (!depth || op != ncclSum || count == 64 || (size_t)stream != (size_t)c->rank + 1) return ncclInvalidArgument;
  jobs[count++] = (job){send, recv, n, type, c, stream};
  return ncclSuccess;
}
#define ADD(T) for (size_t i = 0; i < jobs[0].n; i++) { T sum = 0; for (int k = 0; k < count; k++) sum += ((T *)jobs[k].send)[i]; for (int k = 0; k < count; k++) ((T *)jobs[k].recv)[i] = sum; }
ncclResult_t ncclGroupEnd() {
  if (--depth || !count) return depth < 0 ? ncclInvalidUsage : ncclSuccess;
  if (count != jobs[0].c->total) return ncclInvalidUsage;
  switch (jobs[0].type) {
  case ncclFloat32: ADD(float) break;
  case ncclFloat64: ADD(double) break;
  case ncclInt64: ADD(long long) break;
  default: return ncclInvalidArgument;
  }
  count = 0;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *r) {
  *r = c->pending < 0 ? ncclRemoteError : c->pending ? ncclInProgress : ncclSuccess;
  if (c->pending > 0) c->pending--;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t c) { c->pending = 2; return c->blocking ? ncclSuccess : ncclInProgress; }
ncclResult_t ncclCommAbort(ncclComm_t c) { free(c); live--; return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t c) { free(c); live--; return ncclSuccess; }
int stub_live(void) { return live; }
