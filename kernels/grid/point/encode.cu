// encode.cu: points in gnark-crypto's encodings. Compiled for one curve and group.
//
// An encoding has the coordinates as integers, the highest byte first, of Fp2 the
// coefficient of u before the other. Compressed there is x alone. The highest bits, two or
// three as far as they are free, are flags.
#include "group.cuh"

namespace pippin::grid {

using base_params = curve::fp;
using base_field = prime_field<base_params>;
using cold_base = outlined<base_field>;
using element = base_field::elem;
constexpr int limbs = base_field::words, parts = words / limbs;

constexpr uint32_t flag_bits = 32 * limbs - base_params::bits < 3 ? 2 : 3;
constexpr uint32_t flag_smallest = flag_bits == 2 ? 2 : 4, flag_largest = flag_bits == 2 ? 3 : 5;
constexpr uint32_t flag_infinity = flag_bits == 2 ? 1 : 6;
// Uncompressed, infinity has no flag where there are two bits: it is zeros.
constexpr uint32_t flag_raw_infinity = flag_bits == 2 ? 0 : 2;

// The bytes of a word in the other order.
__device__ __forceinline__ uint32_t turned(uint32_t w) {
  return w >> 24 | (w >> 8 & 0xff00) | (w << 8 & 0xff0000) | w << 24;
}

// What roots of Fp are taken with, p - 1 = 2^s q with q odd: the digits of (q - 1)/2, one a
// bit, 0 or odd below 16; 1/2; and a number to the power q that is no square.
struct root_table {
  const int8_t* digits;
  uint64_t places, s;
  element half, generator;
};

// x^e, e the number of the digits. Cost: places S, and a fifth as many M.
PIPPIN_CALLED element power_of(const element& x, const int8_t* digits, uint64_t places) {
  using F = std::conditional_t<(limbs > 12), cold_base, base_field>;
  element odd[8];
  odd[0] = x;
  const element square = cold_base::sqr(x);
#pragma unroll 1
  for (int i = 1; i < 8; i++) odd[i] = cold_base::mul(odd[i - 1], square);
  element r = F::one();
#pragma unroll 1
  for (uint64_t place = places; place-- > 0;) {
    r = F::sqr(r);
    const int digit = digits[place];
    if (digit != 0) r = F::mul(r, odd[digit >> 1]);
  }
  return r;
}

// r^2 = a; false if there is no root. Cost: a power, and s^2/2 S at most.
// Source: Tonelli 1891, Shanks 1973.
PIPPIN_CALLED bool root_of(element& r, const element& a, const root_table& t) {
  using F = cold_base;
  if (F::is_zero(a)) {
    r = a;
    return true;
  }
  const element w = power_of(a, t.digits, t.places);
  r = F::mul(a, w);
  element rest = F::mul(r, w), g = t.generator;
  uint64_t order = t.s;  // g has order 2^order
#pragma unroll 1
  while (!F::eq(rest, F::one())) {
    uint64_t m = 0;
    element u = rest;
#pragma unroll 1
    for (; m < order && !F::eq(u, F::one()); m++) u = F::sqr(u);
    if (m == order) return false;
#pragma unroll 1
    for (uint64_t k = m + 1; k < order; k++) g = F::sqr(g);
    r = F::mul(r, g);
    g = F::sqr(g);
    rest = F::mul(rest, g);
    order = m;
  }
  return true;
}

__device__ __forceinline__ bool square_root(base_field, element& r, const element& a, const root_table& t) { return root_of(r, a, t); }

// Of a0 + a1 u: x0 = sqrt((a0 +- sqrt(norm))/2), x1 = a1/(2 x0). Cost: up to three roots
// and an inverse.
template <Field B, int U>
__device__ __forceinline__ bool square_root(fp2<B, U>, typename fp2<B, U>::elem& r, const typename fp2<B, U>::elem& a,
                                               const root_table& t) {
  using F = cold_base;
  using E = fp2<B, U>;
  if (F::is_zero(a.c1)) {
    element x;
    if (root_of(x, a.c0, t)) {
      r = {x, F::zero()};
      return true;
    }
    const element minus = F::mul(a.c0, F::inv(E::minus_u_squared(F::one())));
    if (!root_of(x, F::neg(minus), t)) return false;
    r = {F::zero(), x};
    return true;
  }
  element norm, x0;
  if (!root_of(norm, F::add(F::sqr(a.c0), E::minus_u_squared(F::sqr(a.c1))), t)) return false;
  if (!root_of(x0, F::mul(F::add(a.c0, norm), t.half), t) && !root_of(x0, F::mul(F::sub(a.c0, norm), t.half), t)) return false;
  r = {x0, F::mul(a.c1, F::inv(F::dbl(x0)))};
  return true;
}
// Whether the integer of a is above that of -a.
__device__ __forceinline__ bool is_largest(const element& a) {
  return mp::less(base_field::to_integer(base_field::neg(a)), base_field::to_integer(a));
}
template <class E>
__device__ __forceinline__ bool is_largest_of(const E& a) {
  if constexpr (parts == 1) {
    return is_largest(a);
  } else {
    return base_field::is_zero(a.c1) ? is_largest(a.c0) : is_largest(a.c1);
  }
}

// The element that the bytes at src are, `flags` of the highest bits not counted; good
// becomes false if it is not below p.
__device__ __forceinline__ element read_base(const uint32_t* src, uint32_t flags, bool& good) {
  mp::num<limbs> v;
  PIPPIN_UNROLL
  for (int i = 0; i < limbs; i++) v[i] = turned(src[limbs - 1 - i]);
  v[limbs - 1] &= 0xffffffffu >> flags;
  good &= carry::less<limbs>(v, static_modulus<base_params>{}) != 0;
  return base_field::from_integer(v);
}
template <class E>
__device__ __forceinline__ E read_element(const uint32_t* src, uint32_t flags, bool& good) {
  if constexpr (parts == 1) {
    return read_base(src, flags, good);
  } else {
    const element high = read_base(src, flags, good);
    return {read_base(src + limbs, 0, good), high};
  }
}
__device__ __forceinline__ void write_base(uint32_t* dst, const element& a, uint32_t flags) {
  const mp::num<limbs> v = base_field::to_integer(a);
  PIPPIN_UNROLL
  for (int i = 0; i < limbs; i++) dst[limbs - 1 - i] = turned(i == limbs - 1 ? v[i] | flags << (32 - flag_bits) : v[i]);
}
template <class E>
__device__ __forceinline__ void write_element(uint32_t* dst, const E& a, uint32_t flags) {
  if constexpr (parts == 1) {
    write_base(dst, a, flags);
  } else {
    write_base(dst, a.c1, flags);
    write_base(dst + limbs, a.c0, 0);
  }
}

// The other words and bits of an encoding of n words are zero.
__device__ __forceinline__ bool only_flags(const uint32_t* src, int n) {
  uint32_t any = turned(src[0]) << flag_bits;
#pragma unroll 1
  for (int i = 1; i < n; i++) any |= src[i];
  return any == 0;
}

// to[i] = the point that encoding i is; bad: the least base + i of what is none. Compressed
// ones are on the curve then. digits: as root_table has them. constants: 1/2, the generator
// of root_table, and b of the curve's equation as a coordinate. The code does not know b, so
// that groups over one field share it.
PIPPIN_KERNEL((128), decode)
(const uint32_t* from, uint64_t n, flag compressed, uint32_t* to, const uint32_t* digits, uint64_t places, uint64_t s,
 const uint32_t* constants, uint64_t base, uint32_t* bad) {
  using F = cold_field;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int size = compressed ? words : affine_words;
  const uint32_t* const src = from + i * size;
  const uint32_t flags = turned(src[0]) >> (32 - flag_bits);
  affine<F> p = affine_infinity<F>();
  bool good = true;
  if (compressed) {
    if (flags == flag_infinity) {
      good = only_flags(src, size);
    } else if (flags == flag_smallest || flags == flag_largest) {
      p.x = read_element<field::elem>(src, flag_bits, good);
      if (good) {
        const root_table t = {reinterpret_cast<const int8_t*>(digits), places, s, base_field::load(constants),
                              base_field::load(constants + limbs)};
        const auto right = F::add(F::mul(F::sqr(p.x), p.x), F::load(constants + 2 * limbs));
        good = square_root(field{}, p.y, right, t);
        p.y = F::select(is_largest_of(p.y) != (flags == flag_largest), F::neg(p.y), p.y);
      }
    } else {
      good = false;
    }
  } else if (flags == 0) {
    p.x = read_element<field::elem>(src, 0, good);
    p.y = read_element<field::elem>(src + words, 0, good);
  } else {
    good = flags == flag_raw_infinity && only_flags(src, size);
  }
  if (!good) {
    atomicMin(bad, (uint32_t)(base + i));
    p = affine_infinity<F>();
  }
  store_affine(to + i * affine_words, p);
}

// to[i] = the encoding of point i.
PIPPIN_KERNEL((128), encode)
(const uint32_t* from, uint64_t n, flag compressed, uint32_t* to) {
  using F = cold_field;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const affine<F> p = load_affine<F>(from + i * affine_words);
  const bool none = is_infinity(p);
  if (compressed) {
    write_element(to + i * words, p.x, none ? flag_infinity : is_largest_of(p.y) ? flag_largest : flag_smallest);
  } else {
    write_element(to + i * affine_words, p.x, none ? flag_raw_infinity : 0);
    write_element(to + i * affine_words + words, p.y, 0);
  }
}

}  // namespace pippin::grid
