// CUDA's threads on one processor thread: blocks one after the other, the threads of a block as coroutines that switch where
// they wait for others. A coroutine does threads one after the other as long as they do not wait.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <ucontext.h>
#include <utility>

struct dim3_ { unsigned x, y, z; };
// Not zero, so that .bss holds nothing but what kernels share: see forget.
static dim3_ threadIdx = {1, 1, 1}, blockIdx = {1, 1, 1}, blockDim = {1, 1, 1}, gridDim = {1, 1, 1};

#define __global__ static
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

namespace gpu {
static const size_t stack_bytes = 128 << 10;
static void loop();
static void (*entry)(void *) = [](void *) {};
static void *argument = &argument;

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

enum Wait { runs, at_warp, at_block, done }; // where a thread is
enum Order { forward, backward, shuffled };
// What emulate.go says to.
enum Wrong { none, block_divergent, warp_divergent };

struct Thread { Wait at; int line, coroutine; };
struct State {
  Context *contexts; // of the coroutines
  char **stacks;
  int *free, have, spare; // coroutines: those that do nothing; how many there are, and how many do nothing
  Thread *threads;
  int *ready, first, last; // threads that may go on
  int count, now, order;   // threads of the block, the present one
  uint64_t random;
  Wrong wrong;
  Context home;
  uint32_t lanes[2][1024]; // what threads give their warp, every other time
  uint8_t turn[1024];
};
// Not zero: see forget.
static State s = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 1};

static void be(int i) {
  s.now = i;
  threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
}

// The next thread to go on, -1 for none: the one that is ready for longest, for shortest, or any.
static int pick() {
  if (s.first == s.last) return -1;
  if (s.order == forward) return s.ready[s.first++ % s.count];
  int *last = &s.ready[(s.last - 1) % s.count];
  if (s.order == shuffled) {
    s.random = s.random * 6364136223846793005u + 1442695040888963407u;
    int *any = &s.ready[(s.first + (s.random >> 33) % (s.last - s.first)) % s.count];
    std::swap(*any, *last);
  }
  s.last--;
  return *last;
}

static void push(int i) { s.ready[s.last++ % s.count] = i; }

// What every coroutine does: threads that have not begun, as long as there are any and none of those that wait is due.
static void loop() {
  for (;;) {
    int i = s.now;
    entry(argument);
    s.threads[i].at = done;
    s.free[s.spare++] = s.threads[i].coroutine;
    change(s.contexts[s.threads[i].coroutine], s.home);
  }
}

// Waits for the threads of the warp, or of the block, which have to come to the same line.
static void wait(Wait at, int line) {
  Thread &t = s.threads[s.now];
  t.at = at;
  t.line = line;
  change(s.contexts[t.coroutine], s.home);
}

// Lets the threads from lo to hi go on, if all of them wait at one line.
static bool release(int lo, int hi, Wait at) {
  for (int i = lo; i < hi; i++)
    if (s.threads[i].at != at || s.threads[i].line != s.threads[lo].line) return false;
  for (int i = lo; i < hi; i++) {
    s.threads[i].at = runs;
    push(i);
  }
  return true;
}

static void step(int i) {
  Thread &t = s.threads[i];
  if (t.coroutine < 0) {
    if (!s.spare) {
      s.contexts = (Context *)realloc((void *)s.contexts, (s.have + 1) * sizeof(Context));
      s.stacks = (char **)realloc((void *)s.stacks, (s.have + 1) * sizeof(char *));
      s.free = (int *)realloc((void *)s.free, (s.have + 1) * sizeof(int));
      s.stacks[s.have] = (char *)malloc(stack_bytes);
      s.contexts[s.have].start(s.stacks[s.have]);
      s.free[s.spare++] = s.have++;
    }
    t.coroutine = s.free[--s.spare];
  }
  be(i);
  change(s.home, s.contexts[t.coroutine]);
}

static void run_block(int n) {
  s.count = n;
  s.first = s.last = 0;
  for (int i = 0; i < n; i++) {
    s.threads[i] = {runs, 0, -1};
    s.turn[i] = 0;
    push(i);
  }
  for (;;) {
    for (int i; (i = pick()) >= 0;) {
      step(i);
      int warp = i & ~31;
      if (s.threads[i].at == at_warp) release(warp, warp + 32 < n ? warp + 32 : n, at_warp);
    }
    if (release(0, n, at_block)) continue;
    for (int i = 0; i < n; i++) {
      if (s.threads[i].at == at_warp) s.wrong = warp_divergent;
      if (s.threads[i].at == at_block && !s.wrong) s.wrong = block_divergent;
    }
    break;
  }
  if (!s.wrong) return;
  for (int c = 0; c < s.have; c++) s.contexts[c].start(s.stacks[c]), s.free[c] = c; // threads that wait for ever are dropped
  s.spare = s.have;
}

#if defined(__ELF__)
extern "C" __attribute__((visibility("hidden"))) char __bss_start[], _end[];
// Shared memory holds anything when a block begins: NaN, -1.
static void forget() { memset(__bss_start, 0xFF, _end - __bss_start); }
#else
static void forget() {}
#endif

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
  s.wrong = none;
  uint64_t all = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
  for (uint64_t i = 0; i < all && !s.wrong; i++) {
    uint64_t b = s.order == forward ? i : all - 1 - i;
    blockIdx = {(unsigned)(b % gridDim.x), (unsigned)(b / gridDim.x % gridDim.y), (unsigned)(b / gridDim.x / gridDim.y)};
    forget();
    run_block(blockDim.x * blockDim.y * blockDim.z);
  }
}

template <class... A> int launch(void (*k)(A...), const uint64_t *cells, const unsigned *dims) {
  static Thread threads[1024] = {{done, 0, 0}};
  static int ready[1024] = {1};
  s.threads = threads;
  s.ready = ready;
  gridDim = {dims[0], dims[1], dims[2]};
  blockDim = {dims[3], dims[4], dims[5]};
  s.order = dims[6];
  s.random = 1;
  run(k, cells, std::index_sequence_for<A...>{});
  return s.wrong;
}

template <class T> static T exchange(T v, int with, int line) {
  static_assert(sizeof(T) == 4, "32 bits");
  int me = s.now;
  uint32_t *lanes = s.lanes[s.turn[me] ^= 1];
  memcpy(&lanes[me], &v, 4);
  wait(at_warp, line);
  T got;
  memcpy(&got, &lanes[(me & ~31) | ((me ^ with) & 31)], 4);
  return got;
}
} // namespace gpu

#define __syncthreads() gpu::wait(gpu::at_block, __LINE__)
#define __syncwarp() gpu::wait(gpu::at_warp, __LINE__)
// All 32 threads of a warp must be here.
#define __shfl_xor_sync(mask, v, with) gpu::exchange(v, with, __LINE__)

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
