// ptx.cuh: the carry and multiply-add instructions of the GPU, one function each.
//
// On the device every function is one PTX statement on the condition-code register. On the host
// it is the same operation in plain C++ on an explicit bit. That bit lives in a value of type
// `carry`, which is empty on the device. So one source serves both, and a sanitizer can watch
// the arithmetic.
//
// Contract of the whole file
//   range    any 32-bit (64-bit where the name says so) words
//   carry    `_cc` at the end writes the carry, a `c` after the verb (addc,
//            subc, madc_wide) reads it; a carry is 0 or 1; for sub it is the borrow
//   scope    one thread; only carry.cuh calls the functions that take a carry
//   cost     one instruction; mad and mul: one multiply-add
//   source   PTX ISA 8.x, "Extended-Precision Integer Arithmetic"
#pragma once
#include <cstdint>

// Always inlined on the device. On the host that would cost the compiler minutes and gain a
// test nothing.
#if defined(__CUDA_ARCH__)
#define PIPPIN_HD __host__ __device__ __forceinline__
#elif defined(__CUDACC__)
#define PIPPIN_HD __host__ __device__ inline
#else
#define PIPPIN_HD inline
#endif

// On the device loops over limbs are unrolled, because a limb array must be in registers, and
// loops over bits are not. On the host all stay loops.
#if defined(__CUDA_ARCH__)
#define PIPPIN_UNROLL _Pragma("unroll")
#define PIPPIN_LOOP _Pragma("unroll 1")
#else
#define PIPPIN_UNROLL
#define PIPPIN_LOOP
#endif

namespace pippin::ptx {

// carry stands for the carry flag between two links of a chain.
struct carry {
#if !defined(__CUDA_ARCH__)
  uint32_t bit = 0;
#endif
};

// Halves of a 64-bit word, and back.
PIPPIN_HD uint32_t lo32(uint64_t x) { return (uint32_t)x; }
PIPPIN_HD uint32_t hi32(uint64_t x) { return (uint32_t)(x >> 32); }
PIPPIN_HD uint64_t pack(uint32_t lo, uint32_t hi) { return (uint64_t)hi << 32 | lo; }

#if defined(__CUDA_ARCH__)

#define PIPPIN_PTX_3(name, op)                                                          \
  PIPPIN_HD uint32_t name(carry&, uint32_t a, uint32_t b) {                             \
    uint32_t r;                                                                         \
    asm volatile(op " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));                         \
    return r;                                                                           \
  }
// The product and the 64-bit addition in one statement. ptxas always fuses this form into
// IMAD.WIDE.U32.X, but a pair mad.lo.cc, madc.hi.cc only sometimes.
#define PIPPIN_PTX_WIDE(name, op)                                                       \
  PIPPIN_HD uint64_t name(carry&, uint32_t a, uint32_t b, uint64_t c) {                 \
    uint64_t r;                                                                         \
    asm volatile("{ .reg .u64 t; mul.wide.u32 t, %1, %2; " op " %0, %3, t; }"           \
                 : "=l"(r)                                                              \
                 : "r"(a), "r"(b), "l"(c));                                             \
    return r;                                                                           \
  }

#else

namespace twin {
// The host's arithmetic: s is a sum of a few words. Its low word is the result, and the next
// bit is the carry.
PIPPIN_HD uint32_t sum(carry& f, uint64_t s, bool write) {
  if (write) f.bit = (uint32_t)(s >> 32) & 1;
  return (uint32_t)s;
}
PIPPIN_HD uint64_t sum64(carry& f, unsigned __int128 s, bool write) {
  if (write) f.bit = (uint32_t)(s >> 64) & 1;
  return (uint64_t)s;
}
// An op's text says what it does: `c` reads the carry, `.cc` writes it.
constexpr bool has(const char* op, const char* part) {
  for (; *op; ++op) {
    const char *a = op, *b = part;
    while (*b && *a == *b) ++a, ++b;
    if (!*b) return true;
  }
  return false;
}
}  // namespace twin

#define PIPPIN_PTX_3(name, op)                                                          \
  PIPPIN_HD uint32_t name(carry& f, uint32_t a, uint32_t b) {                           \
    constexpr bool in = twin::has(op, "addc") || twin::has(op, "subc");                 \
    constexpr bool out = twin::has(op, ".cc");                                          \
    const uint64_t c = in ? f.bit : 0;                                                  \
    return twin::sum(f, twin::has(op, "sub") ? (uint64_t)a - b - c : (uint64_t)a + b + c, out); \
  }
#define PIPPIN_PTX_WIDE(name, op)                                                       \
  PIPPIN_HD uint64_t name(carry& f, uint32_t a, uint32_t b, uint64_t c) {               \
    constexpr bool in = twin::has(op, "addc"), out = twin::has(op, ".cc");              \
    return twin::sum64(f, (unsigned __int128)((uint64_t)a * b) + c + (in ? f.bit : 0), out); \
  }

#endif

// a + b, a + b + carry; a - b, a - b - borrow.
PIPPIN_PTX_3(add_cc, "add.cc.u32")
PIPPIN_PTX_3(addc_cc, "addc.cc.u32")
PIPPIN_PTX_3(addc, "addc.u32")
PIPPIN_PTX_3(sub_cc, "sub.cc.u32")
PIPPIN_PTX_3(subc_cc, "subc.cc.u32")
PIPPIN_PTX_3(subc, "subc.u32")
// c + a*b on 64 bits, plus the carry.
PIPPIN_PTX_WIDE(mad_wide_cc, "add.cc.u64")
PIPPIN_PTX_WIDE(madc_wide_cc, "addc.cc.u64")
PIPPIN_PTX_WIDE(madc_wide, "addc.u64")

#undef PIPPIN_PTX_3
#undef PIPPIN_PTX_WIDE

// Low word of a*b.
PIPPIN_HD uint32_t mul_lo(uint32_t a, uint32_t b) { return a * b; }

// Low word of a*b + c, always by a multiply-add. If b is 1 or -1 that is one instruction, where
// a compiler would negate and select.
PIPPIN_HD uint32_t mad_lo(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDA_ARCH__)
  uint32_t r;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
#else
  return a * b + c;
#endif
}

// a & b, always by that instruction. It also tells whether the result is 0, where a compiler
// would shift a single bit down to look at it.
PIPPIN_HD uint32_t and_b32(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  uint32_t r;
  asm("and.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
#else
  return a & b;
#endif
}

// All bits of v in reverse.
PIPPIN_HD uint32_t reversed(uint32_t v) {
#if defined(__CUDA_ARCH__)
  return __brev(v);
#else
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i);
  return r;
#endif
}

// The lowest `bits` bits of v, 0 to 32 of them, in reverse.
PIPPIN_HD uint32_t reversed(uint32_t v, uint32_t bits) { return bits == 0 ? 0 : reversed(v) >> (32 - bits); }

// High word of a*b.
PIPPIN_HD uint32_t mul_hi(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }

// The whole of a*b.
PIPPIN_HD uint64_t mul_wide(uint32_t a, uint32_t b) { return (uint64_t)a * b; }

// The upper word of (hi:lo) << s, 0 <= s <= 31.
PIPPIN_HD uint32_t funnel_l(uint32_t lo, uint32_t hi, uint32_t s) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(lo, hi, s);
#else
  return (uint32_t)(pack(lo, hi) << s >> 32);
#endif
}

// The lower word of (hi:lo) >> s, 0 <= s <= 31.
PIPPIN_HD uint32_t funnel_r(uint32_t lo, uint32_t hi, uint32_t s) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(lo, hi, s);
#else
  return (uint32_t)(pack(lo, hi) >> s);
#endif
}

}  // namespace pippin::ptx
