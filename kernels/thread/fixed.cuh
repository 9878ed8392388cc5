// fixed.cuh: products modulo p by a factor that is known long before, such as a root of unity.
// floor(w R / p) is computed beforehand. Then the quotient of a w by p is the upper half of one
// product, and the remainder comes from the lower halves of two.
//
// Contract of the whole file
//   modulus  as in mont.cuh; p <= R/2
//   range    see each function
//   order    little-endian limbs
//   domain   a factor is a plain integer. a w stands in the form that a stands in,
//            plain or Montgomery
//   aliasing operands and results are values
//   carry    none enters or leaves
//   time     independent of data
//   scope    one thread
//   cost     in multiply-adds; 3N^2/2 + 5N/2 - 1 for each product, of which 2N need
//            only their low word. A Montgomery product has 2N^2 + N
//   source   Shoup's NTL, in words; ranges by Harvey 2014. Lower and upper halves
//            in the columns of mp.cuh are ours
#pragma once
#include "field.cuh"

namespace pippin {
namespace mp {

// factor is w < p and floor(w R / p).
template <int N>
struct factor {
  num<N> value, quotient;
};

namespace detail {

// Rows J to N-1 of a b, from limb N-2 on. Row J has the products of b[J] and a[N-2-J], .. (in
// row N-1 a[0], ..). As in product_rows every chain ends on a word that the row before opened
// with its carry, or opens one.
//
//      N = 4     limb   2     3     4     5     6     7
//      J=0            [-20--]
//                           [-30--]
//      J=1            [-11--]     [-31--]
//                           [-21--]
//      J=2            [-02--]     [-22--]
//                           [-12--]     [-32--]
//      J=3                        [-13--]     [-33--]
//                           [-03--]     [-23--]
template <int J, int N, int W>
PIPPIN_HD void high_rows(columns<W>& c, const num<N>& a, const num<N>& b) {
  constexpr bool last = J == N - 1;
  constexpr int first = last ? 0 : N - 2 - J;           // limb of a at ev[0], or, in the last row, at od[0]
  constexpr int E = last ? N / 2 : (J + 3) / 2;         // products in ev
  constexpr int O = last ? (N + 1) / 2 : (J + 2) / 2;   // and in od
  uint64_t* ev = c.ev + last;
  if constexpr (J == 0) {
    c.ev[0] = ptx::mul_wide(a[first], b[0]);
    c.od[0] = ptx::mul_wide(a[first + 1], b[0]);
    c.ev[1] = 0;
  } else if constexpr (J % 2 == 1) {
    carry::mad_row_fit<E>(ev, a, first + last, b[J]);
    c.od[O] = carry::mad_row<O>(c.od, a, first + !last, b[J]);
  } else {
    ev[E] = carry::mad_row<E>(ev, a, first + last, b[J]);
    carry::mad_row_fit<O>(c.od, a, first + !last, b[J]);
  }
  if constexpr (!last) high_rows<J + 1, N>(c, a, b);
}

// c += a b, only the limbs below N.
template <int J, int N, int W, class X>
PIPPIN_HD void add_low_rows(columns<W>& c, const X& a, const num<N>& b) {
  if constexpr (J < N) {
    product_row<J, (N + 1) / 2, N, false>(c, a, 0, b[J]);
    product_row<J + 1, N / 2, N, false>(c, a, 1, b[J]);
    add_low_rows<J + 1, N>(c, a, b);
  }
}

// The limbs of R - p, for an odd p.
template <Modulus M>
struct negated {
  M m;
  PIPPIN_HD uint32_t operator[](int i) const { return i == 0 ? 0u - m[0] : ~m[i]; }
};

}  // namespace detail

// The upper half of a b, without the carries from limbs below N-2: a q with q <= a
// b / R < q + 1 + N / 2^32. Cost: (N^2 + 3N)/2 - 1.
template <int N>
PIPPIN_HD num<N> mul_high(const num<N>& a, const num<N>& b) {
  static_assert(N >= 2);
  detail::columns<N + 2> c;
  detail::high_rows<0, N>(c, a, b);
  num<N + 1> even, odd, r;
  PIPPIN_UNROLL
  for (int i = 0; i <= N; i++) {
    even[i] = detail::limb(c.ev, i + 1);
    odd[i] = detail::limb(c.od, i);
  }
  carry::add_fit<N + 1>(r.w, even, odd);
  return slice<1, N>(r);
}

// The factor w / R mod p, which multiplies by w in Montgomery form. It is a reduction that
// keeps the multiples of p: w + q p = (w / R mod p) R. Range: w < p. Cost: N^2 + N.
template <Modulus M>
PIPPIN_HD factor<M::limbs> make_factor(const num<M::limbs>& w, const M& m) {
  constexpr int N = M::limbs;
  factor<N> f = {w, {}};
  PIPPIN_LOOP
  for (int j = 0; j < N; j++) {
    const uint32_t q = f.value[0] * m.np0();
    uint64_t sum = 0;
    PIPPIN_UNROLL
    for (int i = 0; i < N; i++) {
      sum += (uint64_t)q * m[i] + f.value[i];
      if (i > 0) f.value[i - 1] = ptx::lo32(sum);
      sum >>= 32;
    }
    f.value[N - 1] = ptx::lo32(sum);
    PIPPIN_UNROLL
    for (int i = 0; i < N - 1; i++) f.quotient[i] = f.quotient[i + 1];
    f.quotient[N - 1] = q;
  }
  return f;
}

// a w mod p without the last subtraction. It is below p + a p / R + p / 2^24, and so below 2p.
// Range: a <= R - R / 2^24. Cost: 3N^2/2 + 5N/2 - 1.
template <Modulus M>
PIPPIN_HD num<M::limbs> mul_fixed_lazy(const num<M::limbs>& a, const factor<M::limbs>& f, const M& m) {
  constexpr int N = M::limbs;
  static_assert(!detail::full<M>, "a product below 2p needs a spare bit above p");
  const num<N> q = mul_high(a, f.quotient);
  detail::columns<2 * N> c;
  detail::product_rows<0, N, N, N>(c, a, f.value);
  detail::add_low_rows<0, N>(c, detail::negated<M>{m}, q);
  return detail::merge<N>(c);
}

}  // namespace mp

// a w, below 2p, for any range of a that ends below R - R / 2^24. Cost: as mp::mul_fixed_lazy.
template <class C, int A>
PIPPIN_HD fe<C, 2> mul(const fe<C, A>& a, const mp::factor<C::limbs>& w) {
  static_assert(multiple<C, A>::compute().w[C::limbs - 1] < 0xffffff00u, "the range of a comes too near to R");
  return {mp::mul_fixed_lazy(a.v, w, static_modulus<C>{})};
}

}  // namespace pippin
