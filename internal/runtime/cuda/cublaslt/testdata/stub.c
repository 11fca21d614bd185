// A cuBLASLt over memory of the host, compiled against NVIDIA's cublasLt.h, so that the compiler checks every prototype:
// column-major products as the header describes them. It sees that the Go side passes what the header says.
#include <cublasLt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { cublasComputeType_t compute; cudaDataType_t scale; int32_t ta, tb; uint32_t epilogue; void *bias; } desc;
typedef struct { cudaDataType type; uint64_t rows, cols; int64_t ld; int32_t batch; int64_t stride; } layout;
typedef struct { uint64_t workspace; uint32_t reductions, align[4]; } preference;
static int token;
#define OK CUBLAS_STATUS_SUCCESS
#define BAD CUBLAS_STATUS_INVALID_VALUE
#define TAKE(field) (size == sizeof(field) ? (memcpy(&(field), buf, size), OK) : BAD)

size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) { *h = (cublasLtHandle_t)&token; return OK; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return (void *)h == &token ? OK : BAD; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, cudaDataType_t scale) {
  desc *x = calloc(1, sizeof *x);
  x->compute = compute; x->scale = scale; x->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  *d = (cublasLtMatmulDesc_t)x;
  if (compute == CUBLAS_COMPUTE_64F) return scale == CUDA_R_64F ? OK : BAD;
  return (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32) && scale == CUDA_R_32F ? OK : BAD;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { free(d); return OK; }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void *buf, size_t size) {
  desc *x = (desc *)d;
  switch (a) {
  case CUBLASLT_MATMUL_DESC_TRANSA: return TAKE(x->ta);
  case CUBLASLT_MATMUL_DESC_TRANSB: return TAKE(x->tb);
  case CUBLASLT_MATMUL_DESC_EPILOGUE: return TAKE(x->epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return TAKE(x->bias);
  default: return BAD;
  }
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld) {
  layout *x = calloc(1, sizeof *x);
  x->type = type; x->rows = rows; x->cols = cols; x->ld = ld; x->batch = 1;
  *l = (cublasLtMatrixLayout_t)x;
  return ld >= (int64_t)rows ? OK : BAD;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { free(l); return OK; }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t a, const void *buf, size_t size) {
  layout *x = (layout *)l;
  switch (a) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return TAKE(x->batch);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return TAKE(x->stride);
  default: return BAD;
  }
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p) {
  *p = (cublasLtMatmulPreference_t)calloc(1, sizeof(preference));
  return OK;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { free(p); return OK; }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t a, const void *buf, size_t size) {
  preference *x = (preference *)p;
  switch (a) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return TAKE(x->workspace);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return TAKE(x->reductions);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return TAKE(x->align[0]);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return TAKE(x->align[1]);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return TAKE(x->align[2]);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return TAKE(x->align[3]);
  default: return BAD;
  }
}

static uint64_t rows(const layout *l, int t) { return t ? l->cols : l->rows; }
static uint64_t cols(const layout *l, int t) { return t ? l->rows : l->cols; }
static int fit(const desc *o, const layout *a, const layout *b, const layout *c, const layout *d) {
  return memcmp(c, d, sizeof *c) == 0 && rows(a, o->ta) == d->rows && cols(b, o->tb) == d->cols && cols(a, o->ta) == rows(b, o->tb) &&
         a->type == b->type && a->batch == d->batch && b->batch == d->batch;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t o, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t p, int n,
                                              cublasLtMatmulHeuristicResult_t r[], int *found) {
  preference *x = (preference *)p;
  if ((void *)h != &token || n < 2 || !fit((desc *)o, (layout *)a, (layout *)b, (layout *)c, (layout *)d)) return BAD;
  for (int i = 0; i < 4; i++)
    if (x->align[i] < 2 || x->align[i] > 256) return BAD;
  if (x->reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) return BAD;
  memset(r, 0, 2 * sizeof *r);
  r[0].state = CUBLAS_STATUS_NOT_SUPPORTED;
  r[1].algo.data[7] = 4711;
  r[1].workspaceSize = x->workspace < 512 ? x->workspace : 512;
  r[1].wavesCount = 0.5f;
  *found = 2;
  return OK;
}

static double get(const void *p, int64_t i, cudaDataType t) {
  uint32_t u;
  float f;
  if (t == CUDA_R_64F) return ((const double *)p)[i];
  if (t == CUDA_R_32F) return ((const float *)p)[i];
  u = (uint32_t)((const uint16_t *)p)[i] << 16;
  memcpy(&f, &u, 4);
  return f;
}
static void put(void *p, int64_t i, cudaDataType t, double v) {
  uint32_t u;
  float f = (float)v;
  if (t == CUDA_R_64F) { ((double *)p)[i] = v; return; }
  if (t == CUDA_R_32F) { ((float *)p)[i] = f; return; }
  memcpy(&u, &f, 4);
  ((uint16_t *)p)[i] = (uint16_t)((u + 0x8000u) >> 16);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t o, const void *alpha, const void *A, cublasLtMatrixLayout_t Ad, const void *B,
                              cublasLtMatrixLayout_t Bd, const void *beta, const void *C, cublasLtMatrixLayout_t Cd, void *D, cublasLtMatrixLayout_t Dd,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, cudaStream_t stream) {
  desc *x = (desc *)o;
  layout *a = (layout *)Ad, *b = (layout *)Bd, *d = (layout *)Dd;
  if ((void *)h != &token || !fit(x, a, b, (layout *)Cd, d) || C != D || algo->data[7] != 4711 || bytes != 512 || stream != (cudaStream_t)77) return BAD;
  memset(workspace, 0xff, bytes);
  double one = get(alpha, 0, x->scale), zero = get(beta, 0, x->scale);
  if (one != 1 || zero != 0) return BAD;
  for (int64_t z = 0; z < d->batch; z++)
    for (uint64_t i = 0; i < d->rows; i++)
      for (uint64_t j = 0; j < d->cols; j++) {
        double s = 0;
        for (uint64_t k = 0; k < cols(a, x->ta); k++)
          s += get(A, z * a->stride + (x->ta ? i * a->ld + k : k * a->ld + i), a->type) * get(B, z * b->stride + (x->tb ? k * b->ld + j : j * b->ld + k), b->type);
        if (x->epilogue & CUBLASLT_EPILOGUE_BIAS) s += get(x->bias, i, d->type);
        if (x->epilogue & CUBLASLT_EPILOGUE_RELU && s < 0) s = 0;
        put(D, z * d->stride + j * d->ld + i, d->type, s);
      }
  return OK;
}

// Memory for the test, at addresses that Go does not know.
void *stub_alloc(size_t n) { return aligned_alloc(256, (n + 255) / 256 * 256); }
void stub_store(void *p, size_t i, int type, uint64_t bits) { double v; memcpy(&v, &bits, 8); put(p, i, type, v); }
void stub_load(void *p, size_t i, int type, double *v) { *v = get(p, i, type); }
