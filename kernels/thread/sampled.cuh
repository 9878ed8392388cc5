// sampled.cuh: products of numbers in samples of 52 bits, in double precision.
//
// A sample is an integer from 0 to 2^52, in a double. A number is the sum of its samples,
// sample j times 2^(52j). The product of two samples has 104 bits. Two fused multiply-adds give
// its upper and its lower 52 bits, each in the fraction bits of a double whose exponent is
// known beforehand:
//
//      hi = a b + 2^104                 rounded towards zero: 2^104 + 2^52 floor(a b / 2^52)
//      lo = a b + (2^104 + 2^52 - hi)   exact: 2^52 + (a b mod 2^52)
//
// Read as integers, the bits of hi and lo are the halves plus a constant: their exponents 0x467
// and 0x433 in the top 12 bits. So columns of products are summed as 64-bit integers. They
// begin with minus all the exponents that will be added, so that nothing need be masked.
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
#include <utility>

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

// A sample from an integer of 0 to 2^52. Cost: an integer addition and one operation of double
// precision.
PIPPIN_HD double from_integer(uint64_t x) { return double_of(x + exponent_lo) - two52; }

// The bits of both halves of a b. The host's twin takes them from the whole product. Rounding
// towards zero makes both halves exact, so both give the same bits.
struct halves {
  uint64_t hi, lo;
};
PIPPIN_HD halves product(double a, double b) {
#if defined(__CUDA_ARCH__)
  const double hi = __fma_rz(a, b, two104);
  return {bits_of(hi), bits_of(__fma_rz(a, b, (two104 + two52) - hi))};
#else
  const unsigned __int128 ab = (unsigned __int128)(int64_t)a * (uint64_t)(int64_t)b;
  return {exponent_hi + (uint64_t)(ab >> sample_bits), exponent_lo + ((uint64_t)ab & low_mask)};
#endif
}

// The bits of the upper half of a b. Cost: 1.
PIPPIN_HD uint64_t product_high(double a, double b) {
#if defined(__CUDA_ARCH__)
  return bits_of(__fma_rz(a, b, two104));
#else
  return product(a, b).hi;
#endif
}

// What a column begins with to which that many upper and lower halves will be added.
PIPPIN_HD constexpr uint64_t exponents(uint64_t his, uint64_t los) { return 0 - (his * exponent_hi + los * exponent_lo); }

// sums += v t: L columns. Returns what belongs to the column above them.
// Cost: L products; L 64-bit additions of three operands.
template <int L>
PIPPIN_HD uint64_t add_row(uint64_t* sums, const double* v, double t) {
  uint64_t above = 0;
  PIPPIN_UNROLL
  for (int j = 0; j < L; j++) {
    const halves h = product(v[j], t);
    sums[j] += h.lo + above;
    above = h.hi;
  }
  return above;
}

// The 2L columns of a^2, each minus the exponents that it will have added: `later` of a column,
// an even number. Products of two different samples are summed once and doubled. They come in
// pairs, so that one addition takes two of them.
//
//      column     0     1     2     3     4     5         L = 3
//      twice          a0a1  a0a2  a1a2
//      once     a0a0        a1a1        a2a2              and upper halves one to the right
//
// put(c, sum) gets one column after the other. Cost: L(L+1)/2 products.
template <int L>
struct squares {
  // How many products of two samples have their lower half in column c.
  PIPPIN_HD static constexpr int pairs(int c) { return c < 1 || c > 2 * L - 3 ? 0 : (c - 1) / 2 - (c < L ? 0 : c - L + 1) + 1; }
  template <class Later>
  PIPPIN_HD static constexpr uint64_t begin(int c, const Later& later) {
    return exponents(pairs(c - 1), pairs(c)) - (0 - (exponents(c % 2, 1 - c % 2) + later(c))) / 2;
  }

  // Column C. sum is what it has so far, next what the column above has, and above the upper
  // half of the last square.
  template <int C, class Later, class Put>
  PIPPIN_HD static void column(const double* a, uint64_t& sum, uint64_t& above, const Later& later, const Put& put) {
    constexpr int from = C < L ? 0 : C - L + 1, n = pairs(C);
    uint64_t next = begin(C + 1, later);
    PIPPIN_UNROLL
    for (int k = 0; k < n / 2; k++) {
      const int i = from + 2 * k;
      const halves g = product(a[i], a[C - i]), h = product(a[i + 1], a[C - i - 1]);
      sum += g.lo + h.lo;
      next += g.hi + h.hi;
    }
    if constexpr (n % 2 == 1) {
      constexpr int i = (C - 1) / 2;
      const halves h = product(a[i], a[C - i]);
      sum += h.lo;
      next += h.hi;
    }
    if constexpr (C % 2 == 0) {
      const halves h = product(a[C / 2], a[C / 2]);
      put.template operator()<C>(sum + sum + h.lo);
      above = h.hi;
    } else {
      put.template operator()<C>(sum + sum + above);
    }
    sum = next;
  }

  template <class Later, class Put, int... C>
  PIPPIN_HD static void all(const double* a, const Later& later, const Put& put, std::integer_sequence<int, C...>) {
    uint64_t sum = begin(0, later), above = 0;
    (column<C>(a, sum, above, later, put), ...);
  }
};

// Column C of a b, of K and L samples. sum is what it has so far, next what the column above
// gets. Cost: as many products as the column has.
template <int K, int L, int C>
PIPPIN_HD void product_column(const double* a, const double* b, uint64_t& sum, uint64_t& next) {
  constexpr int from = C < L ? 0 : C - L + 1, n = (C < K ? C : K - 1) - from + 1;
  PIPPIN_UNROLL
  for (int k = 0; k < n / 2; k++) {
    const int i = from + 2 * k;
    const halves g = product(a[i], b[C - i]), h = product(a[i + 1], b[C - i - 1]);
    sum += g.lo + h.lo;
    next += g.hi + h.hi;
  }
  if constexpr (n % 2 == 1) {
    const halves h = product(a[from + n - 1], b[C - from - n + 1]);
    sum += h.lo;
    next += h.hi;
  }
}

// The K + L columns of a b, of K and L samples. Cost: K L products.
template <int K, int L>
struct products {
  PIPPIN_HD static constexpr int pairs(int c) { return c < 0 || c > K + L - 2 ? 0 : (c < K ? c : K - 1) - (c < L ? 0 : c - L + 1) + 1; }
  template <int... C>
  PIPPIN_HD static void all(uint64_t* columns, const double* a, const double* b, std::integer_sequence<int, C...>) {
    uint64_t sum = exponents(0, 1);
    ((columns[C] = sum, sum = exponents(pairs(C), pairs(C + 1)), product_column<K, L, C>(a, b, columns[C], sum)), ...);
    columns[K + L - 1] = sum;
  }
};

// -1/x mod 2^52 of an odd x.
PIPPIN_HD uint64_t minus_inverse(uint64_t x) {
  uint64_t y = x;  // right to 3 bits; each step doubles them
  PIPPIN_UNROLL
  for (int i = 0; i < 5; i++) y *= 2 - x * y;
  return (0 - y) & low_mask;
}

}  // namespace pippin::sampled
