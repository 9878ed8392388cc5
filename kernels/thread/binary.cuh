// binary.cuh: polynomials over GF(2) and the fields GF(2^n), one thread for each product. field
// has an n from 32 to 2048 that is compiled in, short_field any n up to 256.
//
// Contract of the whole file
//   range    any words; elements of a field have degree below n
//   order    little-endian words of 64 bits: bit i of word w is the coefficient of
//            x^(64w+i)
//   modulus  x^n + x^k3 + x^k2 + x^k1 + 1, NTL's default (BuildSparseIrred): those of
//            field have k3 < 20, so that one word holds what a reduction overflows by
//   aliasing operands and results are different memory, unless a function says
//   time     no branch and no index depends on data
//   scope    one thread, arrays indexed by constants after unrolling
//   cost     in clmad: a carry-less product's low or high word, xored with a
//            third operand; half the rate of an addition on sm_90
//   source   PTX ISA, clmad; seed 001, section 5, for sparse polynomials. There a
//            reduction is two products by r1; with k3 < 64 the second is a few
//            shifts, done before the first (see reduce)
#pragma once
#include "ptx.cuh"

namespace pippin::gf2 {

#if defined(__CUDA_ARCH__)
// The low and the high word of a times b, without carries, plus c.
PIPPIN_HD uint64_t clmad_lo(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t r;
  asm("clmad.lo.u64 %0, %1, %2, %3;" : "=l"(r) : "l"(a), "l"(b), "l"(c));
  return r;
}
PIPPIN_HD uint64_t clmad_hi(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t r;
  asm("clmad.hi.u64 %0, %1, %2, %3;" : "=l"(r) : "l"(a), "l"(b), "l"(c));
  return r;
}
#else
PIPPIN_HD uint64_t clmad_lo(uint64_t a, uint64_t b, uint64_t c) {
  for (int i = 0; i < 64; i++) c ^= b >> i & 1 ? a << i : 0;
  return c;
}
PIPPIN_HD uint64_t clmad_hi(uint64_t a, uint64_t b, uint64_t c) {
  for (int i = 1; i < 64; i++) c ^= b >> i & 1 ? a >> (64 - i) : 0;
  return c;
}
#endif

// r = a b of W words each, or r += a b with Add. r has 2W words. From two words up, if W is
// even, it works in halves by Karatsuba. The middle product is accumulated by clmad itself onto
// what it is added to:
//
//      r   [   l0   |   l1   |   h0   |   h1   ]     l = a0 b0, h = a1 b1
//      +            [ l0+l1+h0 | l1+h0+h1 ]          formed first
//      +            [ (a0+a1)  (b0+b1)    ]          added by its own clmads
//
// Least is the width from which on it is Karatsuba, not schoolbook. Schoolbook needs no
// instructions but clmads. Cost: 2 for W = 1; 6, and 8 words of xors, for W = 2; then 3 times
// as much for each doubling.
template <int W, bool Add = false, int Least = W == 2 ? 2 : 4>
PIPPIN_HD void product(uint64_t* r, const uint64_t* a, const uint64_t* b) {
  if constexpr (W < Least || W % 2 == 1) {
    if constexpr (!Add) {
      PIPPIN_UNROLL
      for (int i = 0; i < 2 * W; i++) r[i] = 0;
    }
    PIPPIN_UNROLL
    for (int i = 0; i < W; i++) {
      PIPPIN_UNROLL
      for (int j = 0; j < W; j++) {
        r[i + j] = clmad_lo(a[i], b[j], r[i + j]);
        r[i + j + 1] = clmad_hi(a[i], b[j], r[i + j + 1]);
      }
    }
  } else {
    constexpr int H = W / 2;
    uint64_t low[W], high[W], sa[H], sb[H];
    product<H, false, Least>(low, a, b);
    product<H, false, Least>(high, a + H, b + H);
    PIPPIN_UNROLL
    for (int i = 0; i < H; i++) {
      sa[i] = a[i] ^ a[H + i];
      sb[i] = b[i] ^ b[H + i];
      const uint64_t inner = low[H + i] ^ high[i];
      const uint64_t second = inner ^ low[i], third = inner ^ high[H + i];
      r[i] = Add ? r[i] ^ low[i] : low[i];
      r[H + i] = Add ? r[H + i] ^ second : second;
      r[W + i] = Add ? r[W + i] ^ third : third;
      r[W + H + i] = Add ? r[W + H + i] ^ high[H + i] : high[H + i];
    }
    product<H, true, Least>(r + H, sa, sb);
  }
}

// r = a^2, of 2 W words. Cost: 2 W.
template <int W>
PIPPIN_HD void square(uint64_t* r, const uint64_t* a) {
  PIPPIN_UNROLL
  for (int i = 0; i < W; i++) {
    r[2 * i] = clmad_lo(a[i], a[i], 0);
    r[2 * i + 1] = clmad_hi(a[i], a[i], 0);
  }
}

// Views of words in memory, for operands that are too wide for registers: the words from the
// F-th on, and the sums of the words of two halves.
template <class V, int F>
struct from {
  V v;
  PIPPIN_HD uint64_t operator[](int i) const { return v[i + F]; }
};
template <class V, int H>
struct halves {
  V v;
  PIPPIN_HD uint64_t operator[](int i) const { return v[i] ^ v[i + H]; }
};

// r += a b, of W words each, at each of the places At of r. W is a power of two and at least
// Leaf. It is Karatsuba down to products of Leaf words, and only these have their operands in
// registers. Each half product is added wherever it belongs:
//   low at 0 and H, high at H and 2H, (a0+a1)(b0+b1) at H.
template <int W, int Leaf, int... At, class A, class B>
  requires(W == Leaf || (W > Leaf && W % 2 == 0))
PIPPIN_HD void add_product(uint64_t* r, const A& a, const B& b) {
  if constexpr (W == Leaf) {
    uint64_t x[W], y[W], p[2 * W];
    PIPPIN_UNROLL
    for (int i = 0; i < W; i++) x[i] = a[i], y[i] = b[i];
    product<W>(p, x, y);
    PIPPIN_UNROLL
    for (int i = 0; i < 2 * W; i++) ((r[At + i] ^= p[i]), ...);
  } else {
    constexpr int H = W / 2;
    add_product<H, Leaf, At..., (At + H)...>(r, a, b);
    add_product<H, Leaf, (At + H)..., (At + 2 * H)...>(r, from<A, H>{a}, from<B, H>{b});
    add_product<H, Leaf, (At + H)...>(r, halves<A, H>{a}, halves<B, H>{b});
  }
}

// sparse is the modulus of GF(2^n).
template <int N>
struct sparse;
template <>
struct sparse<32> {
  static constexpr int k[3] = {7, 3, 2};
};
template <>
struct sparse<64> {
  static constexpr int k[3] = {4, 3, 1};
};
template <>
struct sparse<96> {
  static constexpr int k[3] = {10, 9, 6};
};
template <>
struct sparse<128> {
  static constexpr int k[3] = {7, 2, 1};
};
template <>
struct sparse<192> {
  static constexpr int k[3] = {7, 2, 1};
};
template <>
struct sparse<256> {
  static constexpr int k[3] = {10, 5, 2};
};
template <>
struct sparse<512> {
  static constexpr int k[3] = {8, 5, 2};
};
template <>
struct sparse<1024> {
  static constexpr int k[3] = {19, 6, 1};
};
template <>
struct sparse<2048> {
  static constexpr int k[3] = {19, 14, 13};
};

// field is GF(2^N), N a multiple of 32. An element has `words` words. For N = 32 and 96 its
// last word ends with 32 zeros.
template <int N>
struct field {
  static constexpr int bits = N, words = (N + 63) / 64;
  static constexpr int k3 = sparse<N>::k[0], k2 = sparse<N>::k[1], k1 = sparse<N>::k[2];
  static constexpr uint64_t tail = 1ull << k3 | 1ull << k2 | 1ull << k1 | 1;

  // By how much x^N times h overflows N bits after one multiplication by the tail: below 2^k3.
  // `top` is the top word of h, of Top bits.
  template <int Top>
  PIPPIN_HD static uint64_t overflow(uint64_t top) {
    return top >> (Top - k3) ^ top >> (Top - k2) ^ top >> (Top - k1);
  }

  // r = t mod the modulus, t of 2 words words. With t = l + h x^N it is
  //   l + h tail + o tail,  o the overflow of h tail,  = l + (h + o) tail.
  // So o is added to h first, and there is no second round. Cost: 2 words - 1.
  PIPPIN_HD static void reduce(uint64_t* r, const uint64_t* t) {
    if constexpr (N == 32) {
      const uint64_t h = t[0] >> 32;
      r[0] = (uint32_t)clmad_lo(h ^ overflow<32>(h), tail, t[0]);
    } else if constexpr (N % 64 == 0) {
      uint64_t h = t[words] ^ overflow<64>(t[2 * words - 1]);
      r[0] = clmad_lo(h, tail, t[0]);
      PIPPIN_UNROLL
      for (int i = 1; i < words; i++) {
        const uint64_t c = clmad_hi(h, tail, t[i]);
        h = t[words + i];
        r[i] = clmad_lo(h, tail, c);
      }
    } else {
      static_assert(N == 96);
      const uint64_t top = t[2] >> 32;
      const uint64_t h = ptx::pack(ptx::hi32(t[1]), ptx::lo32(t[2])) ^ overflow<32>(top);
      r[0] = clmad_lo(h, tail, t[0]);
      r[1] = (uint32_t)clmad_lo(top, tail, clmad_hi(h, tail, t[1]));
    }
  }

  // The whole product, 2 words words.
  PIPPIN_HD static void product(uint64_t* t, const uint64_t* a, const uint64_t* b) {
    if constexpr (N == 32) {
      t[0] = clmad_lo(a[0], b[0], 0);
      t[1] = 0;
    } else {
      gf2::product<words>(t, a, b);
    }
  }

  // r = a b; r may be a or b. Cost: product and reduce; for N = 128 one less.
  PIPPIN_HD static void mul(uint64_t* r, const uint64_t* a, const uint64_t* b) {
    if constexpr (N == 128) return mul_of_two(r, a, b);
    uint64_t t[2 * words];
    product(t, a, b);
    reduce(r, t);
  }

  // mul for N = 128. There xors, clmads and their reading of registers take about the same
  // time, so the order of operations keeps each of them few: low and high meet in one
  // accumulator m = l1 + h0, and the overflow of the reduction's low word is computed by
  // shifts.
  //
  //      l0 | m + l0 + (middle)_0 | m + h1 + (middle)_1 | h1
  //
  // Cost: 8 clmads, about 20 xors and shifts of 32 bits.
  PIPPIN_HD static void mul_of_two(uint64_t* r, const uint64_t* a, const uint64_t* b) {
    const uint64_t l0 = clmad_lo(a[0], b[0], 0), h1 = clmad_hi(a[1], b[1], 0), m = clmad_lo(a[1], b[1], clmad_hi(a[0], b[0], 0));
    const uint64_t sa = a[0] ^ a[1], sb = b[0] ^ b[1];
    const uint64_t h = clmad_hi(sa, sb, m) ^ h1 ^ overflow<64>(h1);
    r[1] = clmad_lo(h1, tail, clmad_lo(sa, sb, m)) ^ l0 ^ overflow<64>(h);
    r[0] = clmad_lo(h, tail, l0);
  }

  // r = a^2; r may be a. In a square no two different coefficients meet.
  // Cost: 2 words and reduce.
  PIPPIN_HD static void sqr(uint64_t* r, const uint64_t* a) {
    uint64_t t[2 * words];
    gf2::square<words>(t, a);
    reduce(r, t);
  }

  // a = a b, both in memory, which the product overwrites. It is for elements that are too wide
  // for registers. Half products are formed one after the other. The middle one is first, since
  // the others are added to it. The low one then takes the place of the halves from which it
  // was made.
  //
  //      a [ a0 | a1 ]  b [ b0 | b1 ]   m = (a0+a1)(b0+b1)
  //      a [ l0 | a1 ]  b [ l1 | b1 ]   l = a0 b0, m += l
  //                                     h = a1 b1, m += h
  //      a b = l + m x^(64H) + h x^(128H), reduced word by word into a
  //
  // Cost: three products of half the words, and reduce.
  PIPPIN_HD static void mul_in_memory(uint64_t* a, uint64_t* b) {
    constexpr int H = words / 2, leaf = 8;
    uint64_t m[words] = {}, p[words] = {};
    add_product<H, leaf, 0>(m, halves<const uint64_t*, H>{a}, halves<const uint64_t*, H>{b});
    add_product<H, leaf, 0>(p, a, b);
    PIPPIN_UNROLL
    for (int i = 0; i < words; i++) {
      m[i] ^= p[i];
      (i < H ? a : b)[i % H] = p[i];
      p[i] = 0;
    }
    add_product<H, leaf, 0>(p, a + H, b + H);
    PIPPIN_UNROLL
    for (int i = 0; i < words; i++) m[i] ^= p[i];
    PIPPIN_UNROLL
    for (int i = 0; i < H; i++) p[i] ^= m[H + i];
    uint64_t h = p[0] ^ overflow<64>(p[words - 1]), below = 0;
    PIPPIN_UNROLL
    for (int i = 0; i < words; i++) {
      const uint64_t low = i < H ? a[i % H] : b[i % H] ^ m[i < H ? 0 : i - H];
      if (i > 0) h = p[i];
      a[i] = clmad_lo(h, tail, i > 0 ? clmad_hi(below, tail, low) : low);
      below = h;
    }
  }

  // a = a^2 in memory. Each word of the result is made from two words of the element, so that
  // registers hold no more than that. Cost: that of sqr.
  PIPPIN_HD static void sqr_in_memory(uint64_t* a) {
    static_assert(N % 128 == 0);
    uint64_t x[words];
    PIPPIN_UNROLL
    for (int i = 0; i < words; i++) x[i] = a[i];
    const auto square = [&](int i) { return i % 2 == 0 ? clmad_lo(x[i / 2], x[i / 2], 0) : clmad_hi(x[i / 2], x[i / 2], 0); };
    uint64_t h = square(words) ^ overflow<64>(square(2 * words - 1)), below = 0;
    PIPPIN_UNROLL
    for (int i = 0; i < words; i++) {
      if (i > 0) h = square(words + i);
      a[i] = clmad_lo(h, tail, i > 0 ? clmad_hi(below, tail, square(i)) : square(i));
      below = h;
    }
  }
};

// short_field is GF(2^n) for any n whose elements have N words of 32 bits. The modulus is
// x^n + tail, where the tail has a degree k with 2 k <= n + 1. An element has `words` words of
// 64 bits, the tail `tails`.
template <int N>
struct short_field {
  static constexpr int words = (N + 1) / 2, tails = (words + 1) / 2;
  uint64_t tail[tails];
  uint32_t above;  // n - 64 (words - 1), 1 to 64

  // r += a b. r has at most R words.
  template <int A, int B, int R>
  PIPPIN_HD static void add_product(uint64_t* r, const uint64_t* a, const uint64_t* b) {
    PIPPIN_UNROLL
    for (int i = 0; i < A; i++) {
      PIPPIN_UNROLL
      for (int j = 0; j < B; j++) {
        if (i + j < R) r[i + j] = clmad_lo(a[i], b[j], r[i + j]);
        if (i + j + 1 < R) r[i + j + 1] = clmad_hi(a[i], b[j], r[i + j + 1]);
      }
    }
  }

  // r = t / x^n, of C words; t has words + C.
  template <int C>
  PIPPIN_HD void quotient(uint64_t* r, const uint64_t* t) const {
    PIPPIN_UNROLL
    for (int i = 0; i < C; i++) r[i] = t[words - 1 + i] >> (above - 1) >> 1 | t[words + i] << (64 - above);
  }

  // r = t mod the modulus, for t of degree at most 2n - 2. With t = l + h x^n and h
  // tail = m + o x^n it is l + m + o tail. o has degree k - 2, so o tail has degree n - 1 at
  // most. Cost: 2 words tails, and twice the words of o tail.
  PIPPIN_HD void reduce(uint64_t* r, const uint64_t* t) const {
    uint64_t h[words], m[words + tails] = {}, o[tails];
    quotient<words>(h, t);
    add_product<words, tails, words + tails>(m, h, tail);
    quotient<tails>(o, m);
    PIPPIN_UNROLL
    for (int i = 0; i < words; i++) r[i] = t[i] ^ m[i];
    add_product<tails, tails, words>(r, o, tail);
    r[words - 1] &= ~0ull >> (64 - above);
  }

  // r = a b; r may be a or b.
  PIPPIN_HD void mul(uint64_t* r, const uint64_t* a, const uint64_t* b) const {
    uint64_t t[2 * words];
    gf2::product<words>(t, a, b);
    reduce(r, t);
  }

  // r = a^2; r may be a.
  PIPPIN_HD void sqr(uint64_t* r, const uint64_t* a) const {
    uint64_t t[2 * words];
    gf2::square<words>(t, a);
    reduce(r, t);
  }
};

// c = 1/x in GF(2^n), and 0 for 0, by Itoh and Tsujii. With c(m) = x^(2^m - 1),
// c(2m) = c(m)^(2^m) c(m) and c(m+1) = c(m)^2 x, along the bits of n-1 from the top; the
// inverse is c(n-1)^2. The caller holds c, which is x at first, and knows where elements lie.
// square(k) squares c k times. multiply(by_x, k) does that too, and then multiplies by x, or by
// the c from before. Cost: n-1 squares, about 1.5 log2 n products.
template <class Multiply, class Square>
PIPPIN_HD void inverse(uint32_t n, const Multiply& multiply, const Square& square) {
  int top = 0;
  while ((n - 1) >> (top + 1)) top++;
  uint32_t m = 1;
  PIPPIN_LOOP
  for (int step = 2 * top - 1; step >= 0; step--) {
    const bool by_x = step % 2 == 0;
    if (by_x && !((n - 1) >> (step / 2) & 1)) continue;
    const uint32_t squares = by_x ? 1 : m;
    multiply(by_x, squares);
    m += squares;
  }
  square(1);
}

// The inverse of a short element, c = 1/x, in registers. F has mul and sqr.
template <int Words, class F>
PIPPIN_HD void inverse_in_registers(const F& f, uint32_t n, uint64_t* c) {
  uint64_t x[Words], was[Words];
  PIPPIN_UNROLL
  for (int i = 0; i < Words; i++) x[i] = c[i];
  const auto square = [&](uint32_t squares) {
    PIPPIN_LOOP
    for (uint32_t k = 0; k < squares; k++) f.sqr(c, c);
  };
  inverse(
      n,
      [&](bool by_x, uint32_t squares) {
        PIPPIN_UNROLL
        for (int i = 0; i < Words; i++) was[i] = by_x ? x[i] : c[i];
        square(squares);
        f.mul(c, c, was);
      },
      square);
}

}  // namespace pippin::gf2
