// What nccl.h needs of CUDA's header, which itself needs more than NVIDIA's Python packages carry.
#include <stddef.h>
#define __CUDA_BF16_TYPES_EXIST__
typedef struct CUstream_st *cudaStream_t;
