#pragma once
// The Python packages lack the toolkit's file of this name: what C needs of it.
#define __host__
#define __device__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDAAPI

// cuda_fp16.h needs more of the toolkit, and nothing in use needs it.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
typedef struct { unsigned short x; } __half;
typedef struct { unsigned short x; } __nv_bfloat16;
