// Operations of curve.cuh and edwards.cuh for the probe. T is a group. Affine
// points travel in gnark-crypto's layout, other operands as raw representatives;
// results are canonical.
#pragma once
#include "../../thread/edwards.cuh"
#include "../../thread/law.cuh"
#include "ops_field.cuh"

namespace pippin::probe {

using bn254_g1 = g1<curves::bn254>;
using bn254_g2 = g2<curves::bn254>;
using bls12_377_g1 = g1<curves::bls12_377>;
using bls12_377_g2 = g2<curves::bls12_377>;
using bls12_381_g1 = g1<curves::bls12_381>;
using bls12_381_g2 = g2<curves::bls12_381>;
using bw6_761_g1 = g1<curves::bw6_761>;
using bw6_761_g2 = g2<curves::bw6_761>;

template <class T>
using F = typename T::field;
template <class T>
constexpr int W = T::field::words;

template <class T>
PIPPIN_HD affine<F<T>> get_affine(const uint32_t* x) {
  return load_affine<F<T>>(x);
}
template <class T>
PIPPIN_HD xyzz<F<T>> get_xyzz(const uint32_t* x) {
  return load_xyzz<F<T>>(x);
}
// load_jacobian reads canonical coordinates; any representative is one here.
template <class T>
PIPPIN_HD jacobian<F<T>> get_jacobian(const uint32_t* x) {
  return load_jacobian<F<T>>(x);
}

OP_T(group_constants, 1, 3 * W<T>, F<T>::store(r, T::b());
     store_affine(r + W<T>, T::generator());)
OP_T(affine_infinity, 1, 2 * W<T>, store_affine(r, pippin::affine_infinity<F<T>>());)
OP_T(xyzz_infinity, 1, 4 * W<T>, store_xyzz(r, pippin::xyzz_infinity<F<T>>());)
OP_T(jacobian_infinity, 1, 3 * W<T>, store_jacobian(r, pippin::jacobian_infinity<F<T>>());)
OP_T(affine_is_infinity, 2 * W<T>, 1, r[0] = is_infinity(get_affine<T>(x));)
OP_T(xyzz_is_infinity, 4 * W<T>, 1, r[0] = is_infinity(get_xyzz<T>(x));)
OP_T(jacobian_is_infinity, 3 * W<T>, 1, r[0] = is_infinity(get_jacobian<T>(x));)
OP_T(affine_is_on_curve, 2 * W<T>, 1, r[0] = is_on_curve(get_affine<T>(x), T::b());)
OP_T(affine_neg, 2 * W<T>, 2 * W<T>, store_affine(r, neg(get_affine<T>(x)));)
OP_T(xyzz_neg, 4 * W<T>, 4 * W<T>, store_xyzz(r, neg(get_xyzz<T>(x)));)
OP_T(jacobian_neg, 3 * W<T>, 3 * W<T>, store_jacobian(r, neg(get_jacobian<T>(x)));)
OP_T(affine_neg_if, 2 * W<T> + 1, 2 * W<T>,
     store_affine(r, neg_if(x[2 * W<T>] != 0, get_affine<T>(x)));)
OP_T(affine_to_xyzz, 2 * W<T>, 4 * W<T>, store_xyzz(r, to_xyzz(get_affine<T>(x)));)
OP_T(affine_to_jacobian, 2 * W<T>, 3 * W<T>, store_jacobian(r, to_jacobian(get_affine<T>(x)));)
OP_T(xyzz_to_jacobian, 4 * W<T>, 3 * W<T>, store_jacobian(r, to_jacobian(get_xyzz<T>(x)));)
OP_T(xyzz_to_affine, 4 * W<T>, 2 * W<T>, store_affine(r, to_affine(get_xyzz<T>(x)));)
OP_T(jacobian_to_affine, 3 * W<T>, 2 * W<T>, store_affine(r, to_affine(get_jacobian<T>(x)));)
OP_T(affine_dbl, 2 * W<T>, 4 * W<T>, store_xyzz(r, dbl(get_affine<T>(x)));)
OP_T(xyzz_dbl, 4 * W<T>, 4 * W<T>, store_xyzz(r, dbl(get_xyzz<T>(x)));)
OP_T(jacobian_dbl, 3 * W<T>, 3 * W<T>, store_jacobian(r, dbl(get_jacobian<T>(x)));)
OP_T(xyzz_add_affine, 6 * W<T>, 4 * W<T>,
     store_xyzz(r, add(get_xyzz<T>(x), get_affine<T>(x + 4 * W<T>)));)
// The same through memory as a backend's kernels leave it: raw representatives.
OP_T(xyzz_add_affine_raw, 6 * W<T>, 4 * W<T>,
     store_xyzz_raw(r, add(get_xyzz<T>(x), get_affine<T>(x + 4 * W<T>)));)
OP_T(xyzz_add, 8 * W<T>, 4 * W<T>, store_xyzz(r, add(get_xyzz<T>(x), get_xyzz<T>(x + 4 * W<T>)));)
OP_T(jacobian_add_affine, 5 * W<T>, 3 * W<T>,
     store_jacobian(r, add(get_jacobian<T>(x), get_affine<T>(x + 3 * W<T>)));)
OP_T(jacobian_add, 6 * W<T>, 3 * W<T>,
     store_jacobian(r, add(get_jacobian<T>(x), get_jacobian<T>(x + 3 * W<T>)));)
OP_T(affine_eq, 4 * W<T>, 1, r[0] = eq(get_affine<T>(x), get_affine<T>(x + 2 * W<T>));)
OP_T(xyzz_eq, 8 * W<T>, 1, r[0] = eq(get_xyzz<T>(x), get_xyzz<T>(x + 4 * W<T>));)
OP_T(affine_chord_denominator, 4 * W<T>, W<T>,
     F<T>::store(r, chord_denominator(get_affine<T>(x), get_affine<T>(x + 2 * W<T>)));)
OP_T(affine_add_with, 4 * W<T>, 2 * W<T>, const auto a = get_affine<T>(x);
     const auto b = get_affine<T>(x + 2 * W<T>);
     store_affine(r, add_with(a, b, F<T>::inv(chord_denominator(a, b))));)
OP_T(field_batch_inverse, 5 * W<T>, 5 * W<T>, typename F<T>::elem a[5];
     PIPPIN_UNROLL for (int i = 0; i < 5; i++) a[i] = F<T>::load_raw(x + i * W<T>);
     batch_inverse<F<T>>(a);
     PIPPIN_UNROLL for (int i = 0; i < 5; i++) F<T>::store(r + i * W<T>, a[i]);)

// The law of the group, with its slow path; what it stores is raw.
template <class T>
using L = xyzz_law<F<T>, outlined<F<T>>>;
static_assert(Law<L<bn254_g1>> && Law<L<bls12_377_g2>>);

template <class T>
PIPPIN_HD void law_step(uint32_t* r, const uint32_t* x, bool minus) {
  auto s = L<T>::load_sum(x);
  L<T>::add(s, L<T>::neg_if(minus, L<T>::load(x + 4 * W<T>)), [&] {
    L<T>::add_equal(r, x + 4 * W<T>, minus);
    s = L<T>::load_sum(r);
  });
  L<T>::store_sum(r, s);
}
OP_T(law_zero, 1, 4 * W<T>, L<T>::store_sum(r, L<T>::zero());)
OP_T(law_add, 6 * W<T>, 4 * W<T>, law_step<T>(r, x, false);)
OP_T(law_sub, 6 * W<T>, 4 * W<T>, law_step<T>(r, x, true);)
OP_T(law_add_sums, 8 * W<T>, 4 * W<T>, auto s = L<T>::load_sum(x);
     L<T>::add(s, L<T>::load_sum(x + 4 * W<T>)); L<T>::store_sum(r, s);)
OP_T(law_result, 4 * W<T>, 3 * W<T>, L<T>::store_result(r, L<T>::load_sum(x));)

// Twisted Edwards: operands and results are Weierstrass points where nothing
// else is said, so that the map is part of every operation; the extended operand
// is made with a z other than 1 by a doubling, of half the point it stands for.
template <class T>
using E = edwards<typename T::curve>;

template <class T>
PIPPIN_HD niels<F<T>> get_niels(const uint32_t* x) {
  const auto p = get_affine<T>(x);
  return E<T>::from_weierstrass(p, F<T>::inv(E<T>::denominator(p)));
}
template <class T>
PIPPIN_HD extended<F<T>> get_extended(const uint32_t* x) {
  return E<T>::to_extended(get_niels<T>(x));
}
template <class T>
PIPPIN_HD void put_extended(uint32_t* r, const extended<F<T>>& p) {
  store_affine(r, E<T>::to_weierstrass(p));
}
OP_T(edwards_constants, 1, 3 * W<T>, F<T>::store(r, E<T>::scale());
     F<T>::store(r + W<T>, E<T>::x_factor()); F<T>::store(r + 2 * W<T>, E<T>::two_d());)
OP_T(edwards_neutral, 1, 4 * W<T>, store_extended_raw(r, E<T>::neutral());)
OP_T(edwards_denominator, 2 * W<T>, W<T>, F<T>::store(r, E<T>::denominator(get_affine<T>(x)));)
OP_T(edwards_from_weierstrass, 2 * W<T>, 3 * W<T>, store_niels(r, get_niels<T>(x));)
OP_T(edwards_to_weierstrass, 4 * W<T>, 2 * W<T>,
     put_extended<T>(r, load_extended<F<T>>(x));)
OP_T(edwards_to_jacobian, 4 * W<T>, 3 * W<T>,
     store_jacobian(r, E<T>::to_jacobian(load_extended<F<T>>(x)));)
// Every operation is followed by an addition, which alone reads t: -2a + a.
OP_T(edwards_neg, 2 * W<T>, 2 * W<T>,
     put_extended<T>(r, E<T>::add(E<T>::neg(E<T>::dbl(get_extended<T>(x))), get_niels<T>(x)));)
OP_T(edwards_neg_niels, 3 * W<T>, 3 * W<T>, store_niels(r, E<T>::neg(load_niels<F<T>>(x)));)
// (2a + b) + b, (2a + 2b) + b and 4a + a.
OP_T(edwards_add_niels, 4 * W<T>, 2 * W<T>, const auto b = get_niels<T>(x + 2 * W<T>);
     put_extended<T>(r, E<T>::add(E<T>::add(E<T>::dbl(get_extended<T>(x)), b), b));)
OP_T(edwards_add, 4 * W<T>, 2 * W<T>,
     const auto s = E<T>::add(E<T>::dbl(get_extended<T>(x)),
                              E<T>::dbl(get_extended<T>(x + 2 * W<T>)));
     put_extended<T>(r, E<T>::add(s, get_niels<T>(x + 2 * W<T>)));)
OP_T(edwards_dbl, 2 * W<T>, 2 * W<T>,
     put_extended<T>(r, E<T>::add(E<T>::dbl(E<T>::dbl(get_extended<T>(x))), get_niels<T>(x)));)

// Its law: raw representatives of an extended sum and a prepared point; the result
// has been in memory.
template <class T>
using LE = edwards_law<typename T::curve>;
static_assert(Law<LE<bls12_377_g1>>);

template <class T>
PIPPIN_HD void put_result(uint32_t* r, const extended<F<T>>& s) {
  uint32_t memory[LE<T>::sum_words];
  LE<T>::store_sum(memory, s);
  LE<T>::store_result(r, LE<T>::load_sum(memory));
}
template <class T>
PIPPIN_HD void edwards_step(uint32_t* r, const uint32_t* x, bool minus) {
  auto s = LE<T>::load_sum(x);
  LE<T>::add(s, LE<T>::neg_if(minus, LE<T>::load(x + 4 * W<T>)), [] {});
  put_result<T>(r, s);
}
OP_T(edwards_law_add, 7 * W<T>, 3 * W<T>, edwards_step<T>(r, x, false);)
OP_T(edwards_law_sub, 7 * W<T>, 3 * W<T>, edwards_step<T>(r, x, true);)
OP_T(edwards_law_add_sums, 8 * W<T>, 3 * W<T>, auto s = LE<T>::zero(); LE<T>::add(s, LE<T>::load_sum(x));
     LE<T>::add(s, LE<T>::load_sum(x + 4 * W<T>)); put_result<T>(r, s);)

}  // namespace pippin::probe
