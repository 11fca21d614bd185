// CUDA's threads on one processor thread: blocks one after the other, the threads of a block as coroutines that switch at
// barriers and shuffles.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <ucontext.h>
#include <utility>

struct dim3_ { unsigned x, y, z; };
static dim3_ threadIdx, blockIdx, blockDim, gridDim;

#define __global__ static
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

namespace gpu {
struct Thread { ucontext_t at; dim3_ id; bool done; char *stack; };
static const size_t stack_bytes = 128 << 10;
static Thread *threads;
static int have, now;
static ucontext_t home;
static uint32_t lanes[1024];
static void (*entry)(void *);
static void *argument;

static void body() {
  entry(argument);
  threads[now].done = true;
  swapcontext(&threads[now].at, &home);
}

// Gives the other threads of the block their turn until all are here, or done.
static void barrier() { swapcontext(&threads[now].at, &home); }

static void run_block(int n) {
  if (n > have) {
    threads = (Thread *)realloc((void *)threads, n * sizeof(Thread));
    for (; have < n; have++) threads[have].stack = (char *)malloc(stack_bytes);
  }
  for (int i = 0; i < n; i++) {
    Thread &t = threads[i];
    getcontext(&t.at);
    t.at.uc_stack.ss_sp = t.stack;
    t.at.uc_stack.ss_size = stack_bytes;
    t.at.uc_link = 0;
    t.done = false;
    t.id = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
    makecontext(&t.at, body, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (now = 0; now < n; now++) {
      if (threads[now].done) continue;
      threadIdx = threads[now].id;
      swapcontext(&home, &threads[now].at);
      any |= !threads[now].done;
    }
  }
}

template <class... A, size_t... I> void run(void (*k)(A...), const uint64_t *cells, std::index_sequence<I...>) {
  auto f = [&] {
    k([&]() -> A {
      A a;
      memcpy((void *)&a, cells + I, sizeof(A));
      return a;
    }()...);
  };
  entry = [](void *p) { (*(decltype(f) *)p)(); };
  argument = &f;
  for (unsigned z = 0; z < gridDim.z; z++)
    for (unsigned y = 0; y < gridDim.y; y++)
      for (unsigned x = 0; x < gridDim.x; x++) {
        blockIdx = {x, y, z};
        run_block(blockDim.x * blockDim.y * blockDim.z);
      }
}

template <class... A> void launch(void (*k)(A...), const uint64_t *cells) { run(k, cells, std::index_sequence_for<A...>{}); }
} // namespace gpu

static inline void __syncthreads() { gpu::barrier(); }

// All 32 threads of a warp must be here; the other warps wait along.
template <class T> T __shfl_xor_sync(unsigned, T v, int with) {
  static_assert(sizeof(T) == 4, "32 bits");
  int me = gpu::now;
  memcpy(&gpu::lanes[me], &v, 4);
  gpu::barrier();
  T got;
  memcpy(&got, &gpu::lanes[(me & ~31) | ((me ^ with) & 31)], 4);
  gpu::barrier();
  return got;
}

static inline float __int_as_float(int v) { float f; memcpy(&f, &v, 4); return f; }
static inline float __uint_as_float(unsigned v) { float f; memcpy(&f, &v, 4); return f; }
static inline unsigned __float_as_uint(float f) { unsigned v; memcpy(&v, &f, 4); return v; }
static inline int __float_as_int(float f) { int v; memcpy(&v, &f, 4); return v; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline unsigned long long atomicCAS(unsigned long long *p, unsigned long long old, unsigned long long v) {
  unsigned long long was = *p;
  if (was == old) *p = v;
  return was;
}
