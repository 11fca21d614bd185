// What every program starts with. No #include: NVRTC compiles it as it is.
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
struct __align__(16) quad { u64 low, high; };

#define KERNEL extern "C" __global__ void
// Every kernel over elements is right for any grid.
#define EACH(i, n) for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < (n); i += (i64)gridDim.x * blockDim.x)

#define INF __int_as_float(0x7f800000)
#define LOWEST __int_as_float(0xff7fffff)

__device__ inline float bf16_to_f32(u16 v) { return __uint_as_float((u32)v << 16); }

// Rounds to the nearest, ties to even; NaN stays NaN.
__device__ inline u16 f32_to_bf16(float x) {
  u32 u = __float_as_uint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (u16)((u >> 16) | 0x40u);
  return (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

// NaN where either is.
__device__ inline float max_nan(float a, float b) { return (a > b || a != a) ? a : b; }
__device__ inline float min_nan(float a, float b) { return (a < b || a != a) ? a : b; }

struct Sum { __device__ static float id() { return 0.f; } __device__ static float of(float a, float b) { return a + b; } };
struct Max { __device__ static float id() { return -INF; } __device__ static float of(float a, float b) { return max_nan(a, b); } };
struct Min { __device__ static float id() { return INF; } __device__ static float of(float a, float b) { return min_nan(a, b); } };
struct Prod { __device__ static float id() { return 1.f; } __device__ static float of(float a, float b) { return a * b; } };

// All 32 threads of a warp get the same bits: every step adds the same two numbers in both threads.
template <class Op> __device__ float warp_all(float v) {
  for (int o = 16; o > 0; o >>= 1) v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}

// A group of threads that does one row: a warp, or a whole block.
struct Warp {
  static const int size = 32;
  __device__ static int lane() { return threadIdx.x & 31; }
  __device__ static i64 first() { return (blockIdx.x * (i64)blockDim.x + threadIdx.x) >> 5; }
  __device__ static i64 step() { return ((i64)gridDim.x * blockDim.x) >> 5; }
  template <class Op> __device__ static float all(float v) { return warp_all<Op>(v); }
  __device__ static void sync() { __syncwarp(); }
};

// Blocks have 256 threads.
struct Block {
  static const int size = 256;
  __device__ static int lane() { return threadIdx.x; }
  __device__ static i64 first() { return blockIdx.x; }
  __device__ static i64 step() { return gridDim.x; }
  template <class Op> __device__ static float all(float v) {
    __shared__ float part[8];
    v = warp_all<Op>(v);
    __syncthreads(); // part may still be read
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = part[0];
    for (int i = 1; i < 8; i++) v = Op::of(v, part[i]);
    return v;
  }
  __device__ static void sync() { __syncthreads(); }
};

// Notes what is wrong, if it is the first: that operation op was given an index, at a position, that is none of size.
__device__ inline void fault_at(i64 *fault, i64 op, i64 index, i64 position, i64 size) {
  if (atomicCAS((u64 *)fault, 0ull, (u64)(op + 1))) return;
  fault[1] = index;
  fault[2] = position;
  fault[3] = size;
}

// Whether something was wrong: then variables stay as they are.
__device__ inline bool faulted(const i64 *fault) { return fault && fault[0] != 0; }
