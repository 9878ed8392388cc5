// Digits of scalars modulo six units, in the place of grid/msm/windows.cuh.
//
// A scalar k is x + y lambda, both of half its bits: (k, 0) less the nearest multiple of pi = a - b w.
// A digit is (unit) (a + b (1 + w)), a >= 1, b >= 0: the bucket is b 2^bits + a - 1, the unit a sign and a
// power of lambda.
#pragma once
#include "constants.h"
#include "grid/msm/windows.cuh"

namespace pippin::grid {

struct six_shape {
  six::radix of;
  uint32_t bits;  // 2^bits >= m/2
};

struct eisenstein {
  mp::num<4> x, y;
};

// Which corner of the cell 0, 1, 1 + w, w (times m) is nearest to x + y w, 0 <= x, y <= m < 2^31.
__device__ __forceinline__ void corner(int x, int y, int m, bool& c1, bool& c2) {
  const int s = 2 * x - y, t = 2 * y - x;
  const bool far = (uint32_t)x + (uint32_t)y > (uint32_t)m && s > 0 && t > 0;
  c1 = far || (s > m && t <= 0);
  c2 = far || (t > m && s <= 0);
}

template <int N, class W> __device__ __forceinline__ mp::num<N> constant_of(const W& w) {
  mp::num<N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) r[i] = w(i);
  return r;
}

// k/pi's coordinate for a constant of N limbs: four limbs, and 30 bits of its fraction.
template <int N> __device__ __forceinline__ mp::num<4> over(const mp::num<5>& high, const mp::num<N>& g, int& fraction) {
  const mp::num<5 + N> t = mp::mul(high, g);
  mp::num<5> u = {};
  PIPPIN_UNROLL
  for (int i = 0; i < 5 && 4 + i < 5 + N; i++) u[i] = ptx::funnel_r(t[4 + i], 5 + i < 5 + N ? t[5 + i < 5 + N ? 5 + i : 0] : 0, 30);
  fraction = (int)(u[0] >> 2);
  return mp::slice<1, 4>(u);
}

__device__ __forceinline__ eisenstein split(const mp::num<8>& k) {
  const mp::num<5> high = mp::slice<3, 5>(k);
  int fu, fv;
  mp::num<4> q1 = over(high, constant_of<5>(six::over_u), fu), q2 = over(high, constant_of<3>(six::over_v), fv);
  bool c1, c2;
  corner(fu, fv, 1 << 30, c1, c2);
  q1 = mp::add(q1, mp::from_word<4>(c1));
  q2 = mp::add(q2, mp::from_word<4>(c2));
  const mp::num<4> a = constant_of<4>(six::pi_a);
  const mp::num<2> b = constant_of<2>(six::pi_b);
  const mp::num<4> x = mp::sub(mp::sub(mp::slice<0, 4>(k), mp::mul_low<4>(a, q1)), mp::mul_low<4>(q2, b));
  return {x, mp::sub(mp::mul_low<4>(mp::sub(q1, q2), b), mp::mul_low<4>(a, q2))};
}

constexpr int most_windows = 13;
// Limbs of a fraction of which n digits are still to come, m < 2^12.
PIPPIN_HD constexpr int limbs_of(int n) { return n <= 2 ? 1 : n <= 5 ? 2 : n <= 7 ? 3 : 4; }

// The next digit of a fraction, which n digits including it are left of.
template <int n> __device__ __forceinline__ uint32_t next_digit(mp::num<4>& f, uint32_t m) {
  constexpr int L = limbs_of(n);
  const mp::num<L + 1> t = mp::mul(mp::slice<4 - L, L>(f), mp::from_word<1>(m));
  PIPPIN_UNROLL
  for (int i = 0; i < L; i++) f[4 - L + i] = t[i];
  return t[L];
}
template <int n> __device__ __forceinline__ void all_digits(uint32_t* d, mp::num<4>& x, mp::num<4>& y, const six::radix& of) {
  if constexpr (n > 0) {
    if (n < (int)of.windows) d[n - 1] = next_digit<n>(x, of.m) | next_digit<n>(y, of.m) << 16;
    all_digits<n - 1>(d, x, y, of);
  }
}

// Calls f(is, minus, power, bucket, row, k) as each_digit does; power is the unit's power of lambda. Power: whether m is a
// power of 2, 2^Log.
template <int Log, class Raw, class F>
__device__ __forceinline__ void each_six(uint64_t n, uint32_t each, const six_shape& shape, const Raw& raw, const F& f) {
  using fr = prime_field<curve::fr>;
  const static_modulus<fr::params> r;
  const six::radix& of = shape.of;
  const int m = (int)of.m, last = (int)of.windows - 1;
  for (uint32_t k = threadIdx.x; k < each; k += blockDim.x) {
    const uint64_t i = (uint64_t)blockIdx.x * each + k;
    mp::num<8> s = {};
    if (i < n) s = mp::from_mont(raw(i), r);
    eisenstein z = split(s);
    mp::num<4> offset;
    PIPPIN_UNROLL
    for (int j = 0; j < 4; j++) offset[j] = of.offset[j];
    z.x = mp::add(z.x, offset);
    z.y = mp::add(z.y, offset);
    if (i >= n) z.x = z.y = offset;

    bool c1 = false, c2 = false;
    const auto next = [&](int x, int y, uint32_t row, bool is_last) {
      x += c1;
      y += c2;
      if (is_last) {
        x -= (int)of.top;
        y -= (int)of.top;
      } else {
        corner(x, y, m, c1, c2);
        x -= c1 ? m : 0;
        y -= c2 ? m : 0;
      }
      const bool lower = y < 0 || (y == 0 && x < 0);
      x = lower ? -x : x;
      y = lower ? -y : y;
      const int d = x - y;
      const bool first = d > 0, second = !first && x > 0;  // else the third sixth of the plane
      const uint32_t a = first ? d : second ? x : y, b = first ? y : second ? -d : -x;
      f((x | y) != 0, lower != second, first ? 0u : second ? 2u : 1u, (b << shape.bits) + a - 1, row, k);
    };
    if constexpr (Log > 0) {
      constexpr uint32_t mask = (1u << Log) - 1;
      uint64_t wx = 0, wy = 0;
      uint32_t count = 0, row = 0;
      PIPPIN_UNROLL
      for (int j = 0; j < 4; j++) {
        wx |= (uint64_t)z.x[j] << count;
        wy |= (uint64_t)z.y[j] << count;
        count += 32;
        PIPPIN_LOOP
        while (count >= Log && (int)row < last) {
          next((uint32_t)wx & mask, (uint32_t)wy & mask, row++, false);
          wx >>= Log;
          wy >>= Log;
          count -= Log;
        }
      }
      next((uint32_t)wx, (uint32_t)wy, row, true);
    } else {
      mp::num<5> g;
      PIPPIN_UNROLL
      for (int j = 0; j < 5; j++) g[j] = of.over[j];
      const auto fraction = [&](mp::num<4>& c) {
        const mp::num<9> t = mp::mul(c, g);
        const mp::num<5> v = mp::add(mp::slice<4, 5>(t), mp::from_word<5>(of.half));
        c = mp::slice<0, 4>(v);
        return v[4];
      };
      const int tx = (int)fraction(z.x), ty = (int)fraction(z.y);
      uint32_t d[most_windows - 1] = {};
      all_digits<most_windows - 1>(d, z.x, z.y, of);
      PIPPIN_UNROLL
      for (int j = 0; j < most_windows - 1; j++)
        if (j < last) next((int)(d[j] & 0xffff), (int)(d[j] >> 16), j, false);
      next(tx, ty, last, true);
    }
  }
}

}  // namespace pippin::grid
