// dft.cuh: discrete Fourier transforms of 2, 4 and 8 field elements that one
// thread holds.
//
// Contract of the whole file
//   roots    R is a generated struct of kernels/curves/*_roots.cuh: i = w^2 and
//            the halves of w + w^3 and w - w^3, for w of order 8, as factors
//   range    operands are `tight`, what sums accept; results are `loose`, twice as
//            far, what products accept
//   order    down: natural in, X_j at the place of j's bits reversed; up: the other
//            way, with the same w
//   memory   y[0], y[Stride], .. to x[0], x[Stride], ..
//   aliasing y and x are two arrays; y is left undefined
//   time     independent of data
//   scope    one thread
//   cost     in products: 0, 1, 4 for 2, 4, 8 elements
//   source   Winograd 1978 for the 4 products of 8 elements; ranges are ours
#pragma once
#include "../../thread/fixed.cuh"

namespace pippin::grid::dft {

// What additions accept, and what they may leave.
template <class C>
constexpr int tight_bound = prime_field<C>::bound;
template <class C>
constexpr int loose_bound = 2 * tight_bound<C>;
template <class C>
using tight = fe<C, tight_bound<C>>;
template <class C>
using loose = fe<C, loose_bound<C>>;

template <class C>
PIPPIN_HD tight<C> tighten(const loose<C>& a) {
  return reduce<tight_bound<C>>(a);
}
template <class C, int M>
PIPPIN_HD loose<C> loosen(const fe<C, M>& a) {
  return widen<loose_bound<C>>(a);
}

// Sums and differences, reduced and not.
template <class C>
PIPPIN_HD tight<C> sum(const tight<C>& a, const tight<C>& b) {
  return prime_field<C>::add(a, b);
}
template <class C>
PIPPIN_HD tight<C> difference(const tight<C>& a, const tight<C>& b) {
  return sub(a, b);
}
template <class C>
PIPPIN_HD loose<C> sum_loose(const tight<C>& a, const tight<C>& b) {
  return add_lazy(a, b);
}
template <class C>
PIPPIN_HD loose<C> difference_loose(const tight<C>& a, const tight<C>& b) {
  return sub_lazy(a, b);
}

// a b for b below p in Montgomery form, or a factor.
template <class C, class B>
PIPPIN_HD tight<C> product(const loose<C>& a, const B& b) {
  return reduce<tight_bound<C>>(mul(a, b));
}

// A factor whose words the compiler knows.
template <int N, class W>
PIPPIN_HD mp::factor<N> constant(const W& word) {
  mp::factor<N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) {
    r.value[i] = word(i);
    r.quotient[i] = word(N + i);
  }
  return r;
}

// w^2, (w + w^3)/2 and (w - w^3)/2 for w of order 8.
template <class C, class R>
struct constants {
  PIPPIN_HD static mp::factor<C::limbs> i() {
    return constant<C::limbs>([](int k) { return R::i(k); });
  }
  PIPPIN_HD static mp::factor<C::limbs> half_sum() {
    return constant<C::limbs>([](int k) { return R::half_sum(k); });
  }
  PIPPIN_HD static mp::factor<C::limbs> half_difference() {
    return constant<C::limbs>([](int k) { return R::half_difference(k); });
  }
};

// Two elements, both ways.
template <class C, int Stride>
PIPPIN_HD void two(const tight<C>* y, loose<C>* x) {
  x[0] = sum_loose<C>(y[0], y[Stride]);
  x[Stride] = difference_loose<C>(y[0], y[Stride]);
}

//   y0 --+--- a0 --+--- X0
//   y1 --|-+- a1 --+--- X2
//   y2 --+-|- a2 --+--- X1
//   y3 ----+- a3 i-+--- X3
template <class C, class R, int Stride>
PIPPIN_HD void four_down(const tight<C>* y, loose<C>* x) {
  const tight<C>&y0 = y[0], &y1 = y[Stride], &y2 = y[2 * Stride], &y3 = y[3 * Stride];
  const tight<C> a3 = product<C>(difference_loose<C>(y1, y3), constants<C, R>::i());
  const tight<C> a0 = sum<C>(y0, y2), a1 = sum<C>(y1, y3), a2 = difference<C>(y0, y2);
  x[0] = sum_loose<C>(a0, a1);
  x[Stride] = difference_loose<C>(a0, a1);
  x[2 * Stride] = sum_loose<C>(a2, a3);
  x[3 * Stride] = difference_loose<C>(a2, a3);
}

// The butterflies of four_down in the opposite order.
template <class C, class R, int Stride>
PIPPIN_HD void four_up(const tight<C>* y, loose<C>* x) {
  const tight<C>&y0 = y[0], &y1 = y[Stride], &y2 = y[2 * Stride], &y3 = y[3 * Stride];
  const tight<C> a3 = product<C>(difference_loose<C>(y2, y3), constants<C, R>::i());
  const tight<C> a0 = sum<C>(y0, y1), a1 = difference<C>(y0, y1), a2 = sum<C>(y2, y3);
  x[0] = sum_loose<C>(a0, a2);
  x[2 * Stride] = difference_loose<C>(a0, a2);
  x[Stride] = sum_loose<C>(a1, a3);
  x[3 * Stride] = difference_loose<C>(a1, a3);
}

// Eight elements. Of the odd half, with d_k = x_k - x_(k+4),
//   X1, X5 = (d0 + i d2) +- p,  p = w d1 + w^3 d3,
//   X3, X7 = (d0 - i d2) +- q,  q = w^3 d1 + w d3,
// and p, q = (w + w^3)/2 (d1 + d3) +- (w - w^3)/2 (d1 - d3): two products.
template <class C, class R>
PIPPIN_HD void eight_down(tight<C>* y, loose<C>* x) {
  using K = constants<C, R>;
  {
    const tight<C> d1 = difference<C>(y[1], y[5]), d3 = difference<C>(y[3], y[7]);
    y[1] = sum<C>(y[1], y[5]);
    y[3] = sum<C>(y[3], y[7]);
    y[5] = product<C>(sum_loose<C>(d1, d3), K::half_sum());
    y[7] = product<C>(difference_loose<C>(d1, d3), K::half_difference());
  }
  {
    const tight<C> d2 = product<C>(difference_loose<C>(y[2], y[6]), K::i());
    y[2] = sum<C>(y[2], y[6]);
    const tight<C> d0 = difference<C>(y[0], y[4]);
    y[0] = sum<C>(y[0], y[4]);
    y[4] = sum<C>(d0, d2);
    y[6] = difference<C>(d0, d2);
  }
  {
    const tight<C> p = sum<C>(y[5], y[7]), q = difference<C>(y[5], y[7]);
    x[4] = sum_loose<C>(y[4], p);
    x[5] = difference_loose<C>(y[4], p);
    x[6] = sum_loose<C>(y[6], q);
    x[7] = difference_loose<C>(y[6], q);
  }
  {
    const tight<C> b3 = product<C>(difference_loose<C>(y[1], y[3]), K::i()), b1 = sum<C>(y[1], y[3]);
    const tight<C> b0 = sum<C>(y[0], y[2]), b2 = difference<C>(y[0], y[2]);
    x[0] = sum_loose<C>(b0, b1);
    x[1] = difference_loose<C>(b0, b1);
    x[2] = sum_loose<C>(b2, b3);
    x[3] = difference_loose<C>(b2, b3);
  }
}

// The butterflies of eight_down in the opposite order: d1 and d3 are
// w p + w^3 q and w^3 p + w q.
template <class C, class R>
PIPPIN_HD void eight_up(tight<C>* y, loose<C>* x) {
  using K = constants<C, R>;
  {
    const tight<C> p = difference<C>(y[4], y[5]), q = difference<C>(y[6], y[7]);
    y[4] = sum<C>(y[4], y[5]);
    y[6] = sum<C>(y[6], y[7]);
    y[5] = product<C>(sum_loose<C>(p, q), K::half_sum());
    y[7] = product<C>(difference_loose<C>(p, q), K::half_difference());
  }
  {
    const tight<C> b3 = product<C>(difference_loose<C>(y[2], y[3]), K::i());
    const tight<C> b0 = sum<C>(y[0], y[1]), b1 = difference<C>(y[0], y[1]), b2 = sum<C>(y[2], y[3]);
    y[0] = sum<C>(b0, b2);
    y[2] = difference<C>(b0, b2);
    y[1] = sum<C>(b1, b3);
    y[3] = difference<C>(b1, b3);
  }
  {
    const tight<C> d0 = sum<C>(y[4], y[6]);
    const tight<C> d2 = product<C>(difference_loose<C>(y[4], y[6]), K::i());
    x[0] = sum_loose<C>(y[0], d0);
    x[4] = difference_loose<C>(y[0], d0);
    x[2] = sum_loose<C>(y[2], d2);
    x[6] = difference_loose<C>(y[2], d2);
  }
  {
    const tight<C> d1 = sum<C>(y[5], y[7]), d3 = difference<C>(y[5], y[7]);
    x[1] = sum_loose<C>(y[1], d1);
    x[5] = difference_loose<C>(y[1], d1);
    x[3] = sum_loose<C>(y[3], d3);
    x[7] = difference_loose<C>(y[3], d3);
  }
}

// a / 2^k for 1 <= k <= 31: the multiple of p that makes the low bits zero, and a
// shift. Below p + (a - p)/2^k: as tight as a. Cost: N multiply-adds.
template <class C>
PIPPIN_HD tight<C> divide(const tight<C>& a, uint32_t k) {
  const uint32_t q = (a.v[0] * C::np0) & ((1u << k) - 1);
  uint32_t r[C::limbs + 1];
  uint64_t carry = 0;
  PIPPIN_UNROLL
  for (int i = 0; i < C::limbs; i++) {
    carry += (uint64_t)q * C::p(i) + a.v[i];
    r[i] = (uint32_t)carry;
    carry >>= 32;
  }
  r[C::limbs] = (uint32_t)carry;
  tight<C> b;
  PIPPIN_UNROLL
  for (int i = 0; i < C::limbs; i++) b.v[i] = r[i] >> k | r[i + 1] << (32 - k);
  return b;
}

}  // namespace pippin::grid::dft
