// Operations of field.cuh, fixed.cuh and fp2.cuh for the probe. T is a field; elements
// travel as raw representatives, except in the two operations named after load
// and store.
#pragma once
#include "../../curves/bls12_377.cuh"
#include "../../curves/bls12_381.cuh"
#include "../../curves/bn254.cuh"
#include "../../curves/bw6_761.cuh"
#include "../../thread/fixed.cuh"
#include "../../thread/fp2.cuh"
#include "ops_mp.cuh"

namespace pippin::probe {

using bn254_fp = prime_field<curves::bn254_fp>;
using bn254_fr = prime_field<curves::bn254_fr>;
using bn254_fp2 = fp2<bn254_fp, curves::bn254::u_squared>;
using bls12_377_fp = prime_field<curves::bls12_377_fp>;
using bls12_377_fr = prime_field<curves::bls12_377_fr>;
using bls12_377_fp2 = fp2<bls12_377_fp, curves::bls12_377::u_squared>;
using bls12_381_fp = prime_field<curves::bls12_381_fp>;
using bls12_381_fr = prime_field<curves::bls12_381_fr>;
using bls12_381_fp2 = fp2<bls12_381_fp, curves::bls12_381::u_squared>;
using bw6_761_fp = prime_field<curves::bw6_761_fp>;
using bw6_761_fr = prime_field<curves::bw6_761_fr>;

// Of the loops: elements in the same range, so that the model is the field's.
using bn254_fp_loop = loop_field<curves::bn254_fp>;
using bls12_377_fp_loop = loop_field<curves::bls12_377_fp>;
using bls12_381_fp_loop = loop_field<curves::bls12_381_fp>;
using bw6_761_fp_loop = loop_field<curves::bw6_761_fp>;

static_assert(Field<bn254_fp> && Field<bn254_fp_loop> && Field<bn254_fp2> && Field<bls12_377_fp2> && Field<bls12_381_fr>);

// Results of type T::elem from operands a, b, c of type T::elem.
#define OP_FIELD(name, operands, ...)                                           \
  OP_T(name, operands * T::words, T::words, [[maybe_unused]] const auto a = T::load_raw(x); \
       [[maybe_unused]] const auto b = T::load_raw(x + (operands > 1 ? T::words : 0));      \
       T::store_raw(r, __VA_ARGS__);)
OP_FIELD(field_zero, 1, T::zero())
OP_FIELD(field_one, 1, T::one())
OP_FIELD(field_add, 2, T::add(a, b))
OP_FIELD(field_sub, 2, T::sub(a, b))
OP_FIELD(field_neg, 1, T::neg(a))
OP_FIELD(field_dbl, 1, T::dbl(a))
OP_FIELD(field_mul, 2, T::mul(a, b))
OP_FIELD(field_sqr, 1, T::sqr(a))
OP_T(field_mul_sub, 4 * T::words, T::words,
     T::store_raw(r, T::mul_sub(T::load_raw(x), T::load_raw(x + T::words), T::load_raw(x + 2 * T::words),
                                T::load_raw(x + 3 * T::words)));)
OP_FIELD(fp2_mul_wide, 2, T::mul_wide(a, b))
OP_FIELD(field_inv, 1, T::inv(a))
OP_FIELD(field_raw, 1, a)
OP_T(field_is_zero, T::words, 1, r[0] = T::is_zero(T::load_raw(x));)
OP_T(field_eq, 2 * T::words, 1, r[0] = T::eq(T::load_raw(x), T::load_raw(x + T::words));)
OP_T(field_select, 2 * T::words + 1, T::words,
     T::store_raw(r, T::select(x[2 * T::words] != 0, T::load_raw(x), T::load_raw(x + T::words)));)
OP_T(field_load, T::words, T::words, T::store_raw(r, T::load(x));)
OP_T(field_store, T::words, T::words, T::store(r, T::load_raw(x));)
OP_T(fp2_minus_u_squared, T::words, T::words, auto a = T::load_raw(x);
     a.c0 = T::minus_u_squared(a.c0); a.c1 = T::minus_u_squared(a.c1); T::store_raw(r, a);)
OP_T(field_to_integer, T::words, T::words, put(r, T::to_integer(T::load_raw(x)));)
OP_T(field_from_integer, T::words, T::words,
     T::store_raw(r, T::from_integer(get<T::words>(x)));)

// Typed ranges: operands in the widest range for which the result still fits.
template <class T>
constexpr int half_room = T::params::headroom / 2;
template <class T>
constexpr int root_room = T::params::headroom >= 144 ? 12 : T::params::headroom >= 9   ? 3
                                                        : T::params::headroom >= 4 ? 2
                                                                                   : 1;
template <int M, class T>
PIPPIN_HD fe<typename T::params, M> get_fe(const uint32_t* x) {
  return {get<T::words>(x)};
}
OP_T(fe_add_lazy, 2 * T::words, T::words, constexpr int M = half_room<T>;
     put(r, add_lazy(get_fe<M, T>(x), get_fe<M, T>(x + T::words)).v);)
OP_T(fe_sub_lazy, 2 * T::words, T::words, constexpr int M = half_room<T>;
     put(r, sub_lazy(get_fe<M, T>(x), get_fe<M, T>(x + T::words)).v);)
OP_T(fe_sub, 2 * T::words, T::words, constexpr int M = half_room<T>;
     put(r, pippin::sub(get_fe<M, T>(x), get_fe<M, T>(x + T::words)).v);)
// The second operand has the wider range, so that the order is exchanged; and
// then the first.
OP_T(fe_mul, 2 * T::words, 2 * T::words, constexpr int M = T::params::headroom;
     constexpr int one = 1;
     put(r, pippin::mul(get_fe<one, T>(x), get_fe<M, T>(x + T::words)).v);
     put(r + T::words, pippin::mul(get_fe<M, T>(x + T::words), get_fe<one, T>(x)).v);)
// The second operand is made a factor, and so divided by R.
OP_T(fe_mul_fixed, 2 * T::words, T::words, constexpr int M = T::params::headroom;
     const auto w = mp::make_factor(get<T::words>(x + T::words), static_modulus<typename T::params>{});
     put(r, pippin::mul(get_fe<M, T>(x), w).v);)
// Of a field's own product, which is that of fe_mul or of loop_field. The one limb of headroom
// that is left is loop_field's.
OP_T(field_product, 2 * T::words, 2 * T::words, constexpr int M = T::params::headroom - 1; constexpr int one = 1;
     put(r, T::product(get_fe<one, T>(x), get_fe<M, T>(x + T::words)).v);
     put(r + T::words, T::product(get_fe<M, T>(x + T::words), get_fe<one, T>(x)).v);)
OP_T(fe_sqr, T::words, T::words, put(r, pippin::sqr(get_fe<root_room<T>, T>(x)).v);)
OP_T(fe_reduce, T::words, 2 * T::words, const auto a = get_fe<T::params::headroom, T>(x);
     put(r, reduce<1>(a).v); put(r + T::words, reduce<2>(a).v);)
OP_T(fe_widen, T::words, T::words, put(r, widen<2>(get_fe<1, T>(x)).v);)
OP_T(fe_is_zero, T::words, 1, constexpr int M = T::params::headroom < 5 ? T::params::headroom : 5;
     r[0] = pippin::is_zero(get_fe<M, T>(x));)

}  // namespace pippin::probe
