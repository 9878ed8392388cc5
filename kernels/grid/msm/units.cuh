// units.cuh: digits modulo the six units of Z[w], w^2 + w + 1 = 0, and the points that they
// add up. internal/eisenstein says what they are and why they fit. Compiled for the header of
// a curve's, such as -DPIPPIN_UNITS=bn254_units.
//
// A scalar k becomes x + y w, less the nearest multiple of pi. A digit is a unit times
// a + b (1 + w), a > 0 and b >= 0: its bucket is b 2^bits + a - 1, and the unit is a sign
// and a power of w.
#pragma once
#include "windows.cuh"

#include PIPPIN_HEADER(PIPPIN_UNITS)

namespace pippin::grid {

using units = curves::PIPPIN_UNITS;

// An element x + y w in two's complement.
struct eisenstein {
  mp::num<4> x, y;
};

// Which corner of the cell 0, 1, 1 + w, w, times m, is nearest to x + y w: both bits are 1 + w.
// Range: 0 <= x, y <= m < 2^30, or below m = 2^30.
__device__ __forceinline__ void nearest_corner(int x, int y, int m, bool& one, bool& w) {
  const int s = 2 * x - y, t = 2 * y - x;
  const bool far = x + y > m && s > 0 && t > 0;
  one = far || (s > m && t <= 0);
  w = far || (t > m && s <= 0);
}

// A constant of the generated header as a number.
template <int N, class W>
__device__ __forceinline__ mp::num<N> number_of(const W& word) {
  mp::num<N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) r[i] = word(i);
  return r;
}

// A coordinate of k/pi, from the words of k from the third on: below 2^128, and 30 bits of its
// fraction. over is 2^286 times the coordinate of 1/pi. The words that were dropped and the
// rounding make it wrong by less than 2^-29. Cost: 5N multiplications.
template <int N>
__device__ __forceinline__ mp::num<4> quotient(const mp::num<5>& high, const mp::num<N>& over, int& fraction) {
  const mp::num<5 + N> t = mp::mul(high, over);  // the point is above bit 190
  mp::num<5> u = {};
  PIPPIN_UNROLL
  for (int i = 0; i < 5 && 4 + i < 5 + N; i++) u[i] = ptx::funnel_r(t[4 + i], 5 + i < 5 + N ? t[5 + i < 5 + N ? 5 + i : 0] : 0, 30);
  fraction = (int)(u[0] >> 2);
  return mp::slice<1, 4>(u);
}

// k less the nearest multiple of pi, or nearly so: both coordinates are below 2^126 + 2^125 for
// scalars of 254 bits, 2^127 for those of 255.
// Cost: 80 multiplications.
__device__ __forceinline__ eisenstein shortened(const mp::num<8>& k) {
  const mp::num<5> high = mp::slice<3, 5>(k);
  int u, v;
  mp::num<4> q1 = quotient(high, number_of<5>(units::over_u), u), q2 = quotient(high, number_of<3>(units::over_v), v);
  bool one, w;
  nearest_corner(u, v, 1 << 30, one, w);
  q1 = mp::add(q1, mp::from_word<4>(one));
  q2 = mp::add(q2, mp::from_word<4>(w));
  const mp::num<4> a = number_of<4>(units::pi_a);
  const mp::num<2> b = number_of<2>(units::pi_b);
  // k - (a - b w)(q1 + q2 w), w^2 = -1 - w.
  return {mp::sub(mp::sub(mp::slice<0, 4>(k), mp::mul_low<4>(a, q1)), mp::mul_low<4>(q2, b)),
          mp::sub(mp::mul_low<4>(mp::sub(q1, q2), b), mp::mul_low<4>(a, q2))};
}

// What a coordinate is cut into digits by. The number of digits tells the radix.
struct unit_radix {
  uint32_t m, bits, top, half;
  mp::num<4> offset;
  mp::num<5> over;

  __device__ __forceinline__ explicit unit_radix(uint32_t windows) {
    const auto of = [&](uint32_t ten, uint32_t eleven, uint32_t twelve) { return windows == 10 ? ten : windows == 11 ? eleven : twelve; };
    using a = units::of_10;
    using b = units::of_11;
    using c = units::of_12;
    m = of(a::m, b::m, c::m);
    bits = of(a::bits, b::bits, c::bits);
    top = of(a::top, b::top, c::top);
    half = of(a::half, b::half, c::half);
    PIPPIN_UNROLL
    for (int i = 0; i < 4; i++) offset[i] = of(a::offset(i), b::offset(i), c::offset(i));
    PIPPIN_UNROLL
    for (int i = 0; i < 5; i++) over[i] = of(a::over(i), b::over(i), c::over(i));
  }
};

constexpr int most_windows = 12;

// The words of a fraction that count when n digits of it are to come: a digit takes 13 bits, or
// 11 where there are more than 9, and half a unit of the last one is in the fraction.
PIPPIN_HD constexpr int words_for(int n) { return n <= 2 ? 1 : n <= 4 ? 2 : n <= 7 ? 3 : 4; }

// Sets c + offset to its part below m^(windows-1), as a fraction of that in 128 bits, and returns
// the rest: the highest digit, and top more.
__device__ __forceinline__ int highest_digit(mp::num<4>& c, const unit_radix& of) {
  const mp::num<9> t = mp::mul(mp::add(c, of.offset), of.over);
  const mp::num<5> v = mp::add(mp::slice<4, 5>(t), mp::from_word<5>(of.half));
  c = mp::slice<0, 4>(v);
  return (int)v[4];
}

// Takes the next digit off a fraction of n digits.
template <int n>
__device__ __forceinline__ uint32_t next_digit(mp::num<4>& f, uint32_t m) {
  constexpr int words = words_for(n);
  const mp::num<words + 1> t = mp::mul(mp::slice<4 - words, words>(f), mp::from_word<1>(m));
  PIPPIN_UNROLL
  for (int i = 0; i < words; i++) f[4 - words + i] = t[i];
  return t[words];
}

// Sets d to the digits of two fractions, n at most: x in the low half of a word, y in the high one.
template <int n>
__device__ __forceinline__ void lower_digits(uint32_t* d, mp::num<4>& x, mp::num<4>& y, uint32_t m, int count) {
  if constexpr (n > 0) {
    if (n <= count) d[n - 1] = next_digit<n>(x, m) | next_digit<n>(y, m) << 16;
    lower_digits<n - 1>(d, x, y, m, count);
  }
}

// Digits as bins_count and bins_scatter take them. What stands for a digit in its tile is its
// bucket and, from bit unit_shift on, the power of w.
struct unit_digits {
  static constexpr int unit_shift = 30;
  static constexpr uint32_t none = ~0u, minus = 1u << 29;  // of a digit that is kept: bit 29 is its sign
  __device__ __forceinline__ static uint32_t bucket(uint32_t digit) { return digit & ((1u << unit_shift) - 1); }
  // The value of an entry, but for its sign. Range: point < 2^31 / 3.
  __device__ __forceinline__ static uint32_t value(uint32_t point, uint32_t digit) { return 3 * point + (digit >> unit_shift); }

  // Where the lowest digit of scalar i is kept, of n scalars of the block's MSM; the next are n
  // words apart.
  __device__ __forceinline__ static uint64_t place(uint64_t n, digit_shape shape, uint64_t i) {
    return (uint64_t)blockIdx.y * shape.windows * n + i;
  }

  // Calls f as first does, by the digits that are kept.
  template <class Raw, class F>
  __device__ __forceinline__ static void again(uint64_t n, uint32_t each, digit_shape shape, const Raw&, const uint32_t* made, const F& f) {
    for (uint32_t k = threadIdx.x; k < each; k += blockDim.x) {
      const uint64_t i = (uint64_t)blockIdx.x * each + k;
      const uint32_t* at = made + place(n, shape, i);
      uint32_t all[most_windows];
      PIPPIN_UNROLL
      for (uint32_t row = 0; row < most_windows; row++, at += n) all[row] = row < shape.windows && i < n ? *at : none;
      PIPPIN_UNROLL
      for (uint32_t row = 0; row < most_windows; row++)
        if (row < shape.windows) f(all[row] != none, (all[row] & minus) != 0, all[row] & ~minus, row, k);
    }
  }

  // Calls f(is, minus, digit, row, k) as each_digit does: digit w is in row w, and there is one
  // set. raw(i) is scalar i of the MSM. Keeps the digits.
  template <class Raw, class F>
  __device__ __forceinline__ static void first(uint64_t n, uint32_t each, digit_shape shape, const Raw& raw, uint32_t* made, const F& f) {
    const static_modulus<prime_field<curve::fr>::params> r;
    const unit_radix of(shape.windows);
    const int m = (int)of.m, last = (int)shape.windows - 1;
    for (uint32_t k = threadIdx.x; k < each; k += blockDim.x) {
      const uint64_t i = (uint64_t)blockIdx.x * each + k;
      mp::num<8> s = {};
      if (i < n) s = mp::from_mont(raw(i), r);
      eisenstein z = shortened(s);
      const int x_top = highest_digit(z.x, of) - (int)of.top, y_top = highest_digit(z.y, of) - (int)of.top;
      uint32_t lower[most_windows - 1] = {};
      lower_digits<most_windows - 1>(lower, z.x, z.y, of.m, last);

      bool one = false, w = false;  // carries
      uint32_t* at = made + place(n, shape, i);
      const auto next = [&](int x, int y, uint32_t row, bool is_last) {
        x += one;
        y += w;
        if (!is_last) {
          nearest_corner(x, y, m, one, w);
          x -= one ? m : 0;
          y -= w ? m : 0;
        }
        // The half plane of positive digits has three sixths: (1, 1 + w), (1 + w, w), (w, -1).
        const bool lower_half = y < 0 || (y == 0 && x < 0);
        x = lower_half ? -x : x;
        y = lower_half ? -y : y;
        const int d = x - y;
        const bool first = d > 0, second = !first && x > 0;
        const uint32_t a = first ? d : second ? x : y, b = first ? y : second ? -d : -x;
        const uint32_t power = first ? 0 : second ? 2 : 1;
        const bool is = (x | y) != 0, negated = lower_half != second;
        const uint32_t digit = ((b << of.bits) + a - 1) | power << unit_shift;
        if (i < n) *at = is ? digit | (negated ? minus : 0) : none;
        at += n;
        f(is, negated, digit, row, k);
      };
      PIPPIN_UNROLL
      for (int j = 0; j < most_windows - 1; j++)
        if (j < last) next((int)(lower[j] & 0xffff), (int)(lower[j] >> 16), j, false);
      next(x_top, y_top, last, true);
    }
  }
};

#if defined(PIPPIN_GROUP)
constexpr uint32_t unit_elements = 4;  // of a point in the table: x, w x, w^2 x, y

// Where x of such a point is, in elements: 3 point + the power of w becomes 4 point + the power.
__device__ __forceinline__ uint32_t unit_place(uint32_t value) { return value + value / 3; }

// A point of the table times a power of w.
struct unit_point {
  const uint32_t* points;
  uint32_t x;  // where its x is, in elements; y is the last of four
};

// xyzz_law for such points.
template <Field F, Field Slow>
struct unit_law : xyzz_law<F, Slow> {
  using law = xyzz_law<F, Slow>;
  using law::add_equal, law::load;
  __device__ __forceinline__ static unit_point at(const uint32_t* points, uint32_t value) { return {points, unit_place(value)}; }
  template <class G>
  __device__ __forceinline__ static affine<G> coordinates(const unit_point& p) {
    return {G::load(p.points + p.x * (uint64_t)G::words), G::load(p.points + (p.x | 3) * (uint64_t)G::words)};
  }
  __device__ __forceinline__ static affine<F> load(const unit_point& p) { return coordinates<F>(p); }
  PIPPIN_CALLED static void add_equal(uint32_t* dst, const unit_point& p, bool minus) {
    store_xyzz_raw(dst, pippin::dbl(pippin::neg_if(minus, coordinates<Slow>(p))));
  }
};
#endif

}  // namespace pippin::grid
