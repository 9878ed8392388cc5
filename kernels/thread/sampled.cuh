// sampled.cuh: products of numbers in samples of 52 bits, in double precision.
//
// A sample is an integer of 0 to 2^52, in a double; a number is the sum of its
// samples, sample j times 2^(52j). The product of two samples has 104 bits, of which
// two fused multiply-adds give the upper and the lower 52, each in the fraction bits
// of a double whose exponent is known beforehand:
//
//      hi = a b + 2^104                 rounded towards zero: 2^104 + 2^52 floor(a b / 2^52)
//      lo = a b + (2^104 + 2^52 - hi)   exact: 2^52 + (a b mod 2^52)
//
// The bits of hi and lo, read as integers, are the halves below a constant, their
// exponents 0x467 and 0x433 in the top 12 bits: columns of products are summed as
// 64-bit integers, which begin with the negative of all the exponents that will be
// added, so that nothing is masked.
//
// Contract of the whole file
//   range    samples 0 to 2^52, both included: of 2^52 times 2^52 the upper half is
//            2^52, which counts on into the exponent as it should, and the lower 0
//   order    sample 0 is the lowest
//   time     independent of data
//   scope    one thread
//   cost     a product: 3 operations of double precision, and two 64-bit additions
//            or, with hi and lo of two products of a column together, one of three
//            operands
//   source   seed 002, section I, figures 3 to 6; rounding towards zero is asked for
//            by the instruction
#pragma once
#include "ptx.cuh"

namespace pippin::sampled {

constexpr int sample_bits = 52;
constexpr uint64_t low_mask = (1ull << sample_bits) - 1;
constexpr double two52 = 4503599627370496.0, two104 = two52 * two52;
constexpr uint64_t exponent_hi = 0x467ull << sample_bits, exponent_lo = 0x433ull << sample_bits;

PIPPIN_HD uint64_t bits_of(double x) {
#if defined(__CUDA_ARCH__)
  return (uint64_t)__double_as_longlong(x);
#else
  return __builtin_bit_cast(uint64_t, x);
#endif
}
PIPPIN_HD double double_of(uint64_t x) {
#if defined(__CUDA_ARCH__)
  return __longlong_as_double((long long)x);
#else
  return __builtin_bit_cast(double, x);
#endif
}

// a b + c rounded towards zero. The host's twin takes integers below 2^106 in
// absolute value, as all values here are, and needs no rounding mode: it forms the
// sum exactly and cuts it to 53 bits.
PIPPIN_HD double fma_rz(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rz(a, b, c);
#else
  const __int128 s = (__int128)a * (__int128)b + (__int128)c;
  const unsigned __int128 u = (unsigned __int128)(s < 0 ? -s : s);
  const uint64_t upper = (uint64_t)(u >> 64);
  const int bits = upper ? 128 - __builtin_clzll(upper) : u ? 64 - __builtin_clzll((uint64_t)u) : 0;
  const int cut = bits > 53 ? bits - 53 : 0;
  const double r = (double)(u >> cut << cut);
  return s < 0 ? -r : r;
#endif
}

// A sample from an integer of 0 to 2^52. Cost: an addition and one of double precision.
PIPPIN_HD double from_integer(uint64_t x) { return double_of(x + exponent_lo) - two52; }

// The bits of both halves of a b.
struct halves {
  uint64_t hi, lo;
};
PIPPIN_HD halves product(double a, double b) {
  const double hi = fma_rz(a, b, two104);
  return {bits_of(hi), bits_of(fma_rz(a, b, (two104 + two52) - hi))};
}

// a b mod 2^52. Cost: 3.
PIPPIN_HD double product_low(double a, double b) {
  const double hi = fma_rz(a, b, two104);
  return fma_rz(a, b, two104 - hi);
}

// What columns begin with that will have so many upper and lower halves added.
PIPPIN_HD constexpr uint64_t exponents(uint64_t his, uint64_t los) { return 0 - (his * exponent_hi + los * exponent_lo); }

// sums += v t: L columns, and the one above them. Cost: L products; L+1 64-bit
// additions, L-1 of them of three operands.
template <int L>
PIPPIN_HD void add_row(uint64_t* sums, const double* v, double t) {
  uint64_t above = 0;
  PIPPIN_UNROLL
  for (int j = 0; j < L; j++) {
    const halves h = product(v[j], t);
    sums[j] += h.lo + above;
    above = h.hi;
  }
  sums[L] += above;
}

// -1/x mod 2^52 of an odd x, as a sample.
PIPPIN_HD double minus_inverse(uint64_t x) {
  uint64_t y = x;  // right to 3 bits; each step doubles them
  PIPPIN_UNROLL
  for (int i = 0; i < 5; i++) y *= 2 - x * y;
  return from_integer((0 - y) & low_mask);
}

}  // namespace pippin::sampled
