// dft.cuh: discrete Fourier transforms of 2, 4 and 8 field elements that one
// thread holds.
//
// Contract of the whole file
//   roots    R is a generated struct of kernels/curves/*_roots.cuh: i = w^2 and
//            the halves of w + w^3 and w - w^3, for w of order 8, and the same
//            of 1/w (`inverse`), in Montgomery form below p
//   range    operands and results are `loose`, below 4p where 4p <= R leaves a
//            product of them below 2p, else below p
//   order    forward: natural in, X_j at the place of j's bits reversed; inverse:
//            the other way, without division by the length
//   aliasing in place
//   time     independent of data
//   scope    one thread
//   cost     in products: 0, 1, 4 for 2, 4, 8 elements
//   source   Winograd 1978 for the 4 products of 8 elements; ranges are ours
#pragma once
#include "../../thread/field.cuh"

namespace pippin::grid::dft {

// What additions accept, and what they may leave.
template <class C>
constexpr int tight_bound = prime_field<C>::bound;
template <class C>
constexpr int loose_bound = C::headroom >= 4 ? 4 : tight_bound<C>;
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
  if constexpr (loose_bound<C> == 2 * tight_bound<C>) {
    return add_lazy(a, b);
  } else {
    return sum<C>(a, b);
  }
}
template <class C>
PIPPIN_HD loose<C> difference_loose(const tight<C>& a, const tight<C>& b) {
  if constexpr (loose_bound<C> == 2 * tight_bound<C>) {
    return sub_lazy(a, b);
  } else {
    return difference<C>(a, b);
  }
}

// a b for b below p.
template <class C>
PIPPIN_HD tight<C> product(const loose<C>& a, const fe<C, 1>& b) {
  return reduce<tight_bound<C>>(mul(a, b));
}

namespace detail {
template <class C, class W>
PIPPIN_HD fe<C, 1> constant(const W& word) {
  fe<C, 1> r;
  PIPPIN_UNROLL
  for (int i = 0; i < C::limbs; i++) r.v[i] = word(i);
  return r;
}
}  // namespace detail

// The constants of w, or of 1/w.
template <class C, class R, bool Inverse>
struct constants {
  PIPPIN_HD static fe<C, 1> i() {
    return detail::constant<C>([](int k) { return Inverse ? R::inverse_i(k) : R::i(k); });
  }
  PIPPIN_HD static fe<C, 1> half_sum() {
    return detail::constant<C>([](int k) { return Inverse ? R::inverse_half_sum(k) : R::half_sum(k); });
  }
  PIPPIN_HD static fe<C, 1> half_difference() {
    return detail::constant<C>([](int k) { return Inverse ? R::inverse_half_difference(k) : R::half_difference(k); });
  }
};

// Two elements; its own inverse.
template <class C>
PIPPIN_HD void two(loose<C>& x0, loose<C>& x1) {
  const tight<C> a = tighten<C>(x0), b = tighten<C>(x1);
  x0 = sum_loose<C>(a, b);
  x1 = difference_loose<C>(a, b);
}

//   x0 --+--- a0 --+--- X0
//   x1 --|-+- a1 --+--- X2
//   x2 --+-|- a2 --+--- X1
//   x3 ----+- a3 i-+--- X3
template <class C, class R>
PIPPIN_HD void four(loose<C>& x0, loose<C>& x1, loose<C>& x2, loose<C>& x3) {
  const tight<C> y0 = tighten<C>(x0), y1 = tighten<C>(x1), y2 = tighten<C>(x2), y3 = tighten<C>(x3);
  const tight<C> a3 = product<C>(difference_loose<C>(y1, y3), constants<C, R, false>::i());
  const tight<C> a0 = sum<C>(y0, y2), a1 = sum<C>(y1, y3), a2 = difference<C>(y0, y2);
  x0 = sum_loose<C>(a0, a1);
  x1 = difference_loose<C>(a0, a1);
  x2 = sum_loose<C>(a2, a3);
  x3 = difference_loose<C>(a2, a3);
}

// The way back of four.
template <class C, class R>
PIPPIN_HD void four_inverse(loose<C>& x0, loose<C>& x1, loose<C>& x2, loose<C>& x3) {
  const tight<C> y0 = tighten<C>(x0), y1 = tighten<C>(x1), y2 = tighten<C>(x2), y3 = tighten<C>(x3);
  const tight<C> a3 = product<C>(difference_loose<C>(y2, y3), constants<C, R, true>::i());
  const tight<C> a0 = sum<C>(y0, y1), a1 = difference<C>(y0, y1), a2 = sum<C>(y2, y3);
  x0 = sum_loose<C>(a0, a2);
  x2 = difference_loose<C>(a0, a2);
  x1 = sum_loose<C>(a1, a3);
  x3 = difference_loose<C>(a1, a3);
}

// Eight elements. Of the odd half, with d_k = x_k - x_(k+4),
//   X1, X5 = (d0 + i d2) +- p,  p = w d1 + w^3 d3,
//   X3, X7 = (d0 - i d2) +- q,  q = w^3 d1 + w d3,
// and p, q = (w + w^3)/2 (d1 + d3) +- (w - w^3)/2 (d1 - d3): two products.
template <class C, class R>
PIPPIN_HD void eight(loose<C>* x) {
  using K = constants<C, R, false>;
  tight<C> y[8];
  PIPPIN_UNROLL
  for (int k = 0; k < 8; k++) y[k] = tighten<C>(x[k]);
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

// The way back of eight: its butterflies in the opposite order. With v = 1/w,
// d1 and d3 are v p + v^3 q and v^3 p + v q.
template <class C, class R>
PIPPIN_HD void eight_inverse(loose<C>* x) {
  using K = constants<C, R, true>;
  tight<C> y[8];
  PIPPIN_UNROLL
  for (int k = 0; k < 8; k++) y[k] = tighten<C>(x[k]);
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

}  // namespace pippin::grid::dft
