// A cuBLAS over memory of the host, compiled against NVIDIA's header.
#include <cublas_v2.h>
#include <stddef.h>

static int token, ready;

cublasStatus_t cublasCreate_v2(cublasHandle_t *h) { *h = (cublasHandle_t)&token; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasDestroy_v2(cublasHandle_t h) { return (void *)h == &token ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) { ready = (void *)h == &token && s == (cudaStream_t)77; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *p, size_t n) { ready = ready && p && n; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t m) { return m == CUBLAS_DEFAULT_MATH ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED; }

cublasStatus_t cublasSgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float *alpha, const float *a,
                              int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
  if (!ready || *alpha != 1 || *beta != 0) return CUBLAS_STATUS_INVALID_VALUE;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int l = 0; l < k; l++) s += (double)a[ta == CUBLAS_OP_N ? (size_t)l * lda + i : (size_t)i * lda + l] * b[tb == CUBLAS_OP_N ? (size_t)j * ldb + l : (size_t)l * ldb + j];
      c[(size_t)j * ldc + i] = (float)s;
    }
  return CUBLAS_STATUS_SUCCESS;
}
