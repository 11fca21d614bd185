// Tensor cores: d += a * b for tiles of 16 x 8 results by a warp, of words of 32 bits along the sums: two bfloat16 (16 terms),
// or one tf32 (8 terms). With g = lane/4 and t = lane%4 a thread has of a the rows g and g+8 at the word t, then both at t+4;
// of b the column g at the words t and t+4; of d row g at the columns 2t and 2t+1, then row g+8. (PTX ISA, "Matrix fragments
// for mma.m16n8k16 with floating point type" and "... m16n8k8 ... .tf32".)

#if !defined(__CUDA_ARCH__)
// The emulated GPU.
__device__ inline void add_word(float &d, u32 a, u32 b, u16) {
  d += bf16_to_f32((u16)a) * bf16_to_f32((u16)b);
  d += bf16_to_f32((u16)(a >> 16)) * bf16_to_f32((u16)(b >> 16));
}
__device__ inline void add_word(float &d, u32 a, u32 b, float) { d += __uint_as_float(a) * __uint_as_float(b); }

template <class T> __device__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  __shared__ u32 all[1024][6];
  u32 me = threadIdx.x, lane = me & 31, warp = me - lane;
  for (int i = 0; i < 4; i++) all[me][i] = a[i];
  for (int i = 0; i < 2; i++) all[me][4 + i] = b[i];
  __syncwarp();
  for (int i = 0; i < 4; i++)
    for (int w = 0; w < 8; w++) {
      u32 row = warp + (lane & ~3u) + w % 4, col = warp + (2 * (lane & 3) + i % 2) * 4 + w % 4;
      add_word(d[i], all[row][i / 2 + w / 4 * 2], all[col][4 + w / 4], T());
    }
  __syncwarp();
}

__device__ inline u32 to_tf32(float x) {
  u32 u = __float_as_uint(x);
  return (u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : (u + 0x1000u) & ~0x1fffu;
}
#elif __CUDA_ARCH__ >= 800
template <class T> __device__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]);
template <> __device__ inline void mma<u16>(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <> __device__ inline void mma<float>(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline u32 to_tf32(float x) {
  u32 u;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(x));
  return u;
}
#endif
