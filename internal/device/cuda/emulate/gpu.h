// CUDA's threads on one processor thread: blocks one after the other, the threads of a block as coroutines that switch at
// barriers and shuffles. A coroutine does threads one after the other as long as they do not wait.
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
static const size_t stack_bytes = 128 << 10;
static void (*entry)(void *);
static void *argument;
static void loop();

#if defined(__x86_64__) && defined(__ELF__)
// The registers that a call keeps, and the stack: a switch without the system call of swapcontext.
extern "C" __attribute__((visibility("hidden"))) void gpu_switch_stacks(void **save, void *to);
asm(R"(
.text
.hidden gpu_switch_stacks
gpu_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
struct Context {
  void *sp;
  void start(char *stack) {
    void **top = (void **)(((uintptr_t)stack + stack_bytes) & ~(uintptr_t)15);
    *--top = 0;              // where loop would return to: it never does
    *--top = (void *)loop;
    sp = top - 6;
  }
};
static void change(Context &from, Context &to) { gpu_switch_stacks(&from.sp, to.sp); }
#else
struct Context {
  ucontext_t at;
  void start(char *stack) {
    getcontext(&at);
    at.uc_stack.ss_sp = stack;
    at.uc_stack.ss_size = stack_bytes;
    at.uc_link = 0;
    makecontext(&at, loop, 0);
  }
};
static void change(Context &from, Context &to) { swapcontext(&from.at, &to.at); }
#endif

struct Coroutine { Context at; char *stack; int thread; }; // thread: the one that waits in it, -1 for none
static Coroutine *all;
static int have, count, next, now, current; // coroutines; threads, the next to start, the present one; the present coroutine
static Context home;
static uint32_t lanes[1024];

static void be(int i) {
  now = i;
  threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
}

// What every coroutine does: threads, as long as there are any.
static void loop() {
  for (;;) {
    while (next < count) {
      all[current].thread = next;
      be(next++);
      entry(argument);
    }
    all[current].thread = -1;
    change(all[current].at, home);
  }
}

// Gives the other threads of the block their turn until all are here, or done.
static void barrier() { change(all[current].at, home); }

static void resume(int c) {
  current = c;
  change(home, all[c].at);
}

static void run_block(int n) {
  count = n;
  next = 0;
  int used = 0;
  while (next < n) {
    if (used == have) {
      all = (Coroutine *)realloc((void *)all, ++have * sizeof(Coroutine));
      all[used].stack = (char *)malloc(stack_bytes);
    }
    all[used].at.start(all[used].stack);
    resume(used++);
  }
  for (bool any = true; any;) {
    any = false;
    for (int c = 0; c < used; c++) {
      if (all[c].thread < 0) continue;
      be(all[c].thread);
      resume(c);
      any |= all[c].thread >= 0;
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
