// Operations of ptx.cuh, carry.cuh and mp.cuh for the probe. The comment on an
// operation says what its results are when that is not the function's own.
#pragma once
#include "../../thread/mp.cuh"
#include "probe.cuh"

namespace pippin::probe {

using mp::num;

template <int N>
PIPPIN_HD num<N> get(const uint32_t* x) {
  num<N> a;
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) a[i] = x[i];
  return a;
}
template <int N>
PIPPIN_HD void put(uint32_t* r, const num<N>& a) {
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) r[i] = a[i];
}

// ptx: chains of three words, so that each of the three forms has its place.
OP(ptx_add, 6, 3, ptx::carry c; r[0] = ptx::add_cc(c, x[0], x[3]);
   r[1] = ptx::addc_cc(c, x[1], x[4]); r[2] = ptx::addc(c, x[2], x[5]);)
OP(ptx_sub, 6, 3, ptx::carry c; r[0] = ptx::sub_cc(c, x[0], x[3]);
   r[1] = ptx::subc_cc(c, x[1], x[4]); r[2] = ptx::subc(c, x[2], x[5]);)
// Three products with x3 at double words, plus (x4 .. x9).
OP(ptx_mad_wide, 10, 6, ptx::carry c;
   const uint64_t p = ptx::mad_wide_cc(c, x[0], x[3], ptx::pack(x[4], x[5]));
   const uint64_t q = ptx::madc_wide_cc(c, x[1], x[3], ptx::pack(x[6], x[7]));
   const uint64_t s = ptx::madc_wide(c, x[2], x[3], ptx::pack(x[8], x[9]));
   r[0] = ptx::lo32(p); r[1] = ptx::hi32(p); r[2] = ptx::lo32(q); r[3] = ptx::hi32(q);
   r[4] = ptx::lo32(s); r[5] = ptx::hi32(s);)
// mul_lo, mul_hi, mul_wide.
OP(ptx_mul, 2, 4, r[0] = ptx::mul_lo(x[0], x[1]); r[1] = ptx::mul_hi(x[0], x[1]);
   const uint64_t w = ptx::mul_wide(x[0], x[1]); r[2] = ptx::lo32(w); r[3] = ptx::hi32(w);)
// mad_lo and and_b32.
OP(ptx_plain, 3, 2, r[0] = ptx::mad_lo(x[0], x[1], x[2]); r[1] = ptx::and_b32(x[0], x[1]);)
// All bits of x0, and the lowest x1, in reverse.
OP(ptx_reversed, 2, 2, r[0] = ptx::reversed(x[0]); r[1] = ptx::reversed(x[0], x[1]);)
// funnel_l and funnel_r of (x1:x0) by x2.
OP(ptx_funnel, 3, 2, r[0] = ptx::funnel_l(x[0], x[1], x[2]);
   r[1] = ptx::funnel_r(x[0], x[1], x[2]);)

// carry: the result replaces an operand, where the contract allows it.
OP(carry_add, 2 * N, N + 1, num<N> a = get<N>(x); r[N] = carry::add<N>(a.w, a, get<N>(x + N));
   put(r, a);)
OP(carry_add_in, 2 * N + 1, N + 1, num<N> b = get<N>(x + N);
   r[N] = carry::add_in<N>(b.w, get<N>(x), b, x[2 * N]); put(r, b);)
OP(carry_add_fit, 2 * N, N, num<N> a = get<N>(x); carry::add_fit<N>(a.w, a, get<N>(x + N));
   put(r, a);)
OP(carry_sub, 2 * N, N + 1, num<N> a = get<N>(x); r[N] = carry::sub<N>(a.w, a, get<N>(x + N));
   put(r, a);)
OP(carry_sub_in, 2 * N + 1, N + 1, num<N> b = get<N>(x + N);
   r[N] = carry::sub_in<N>(b.w, get<N>(x), b, x[2 * N]); put(r, b);)
OP(carry_sub_fit, 2 * N, N, num<N> b = get<N>(x + N); carry::sub_fit<N>(b.w, get<N>(x), b);
   put(r, b);)
OP(carry_less, 2 * N, 1, r[0] = carry::less<N>(get<N>(x), get<N>(x + N));)

template <int K>
PIPPIN_HD void get_wide(uint64_t* acc, const uint32_t* x) {
  PIPPIN_UNROLL
  for (int k = 0; k < K; k++) acc[k] = ptx::pack(x[2 * k], x[2 * k + 1]);
}
template <int K>
PIPPIN_HD void put_wide(uint32_t* r, const uint64_t* acc) {
  PIPPIN_UNROLL
  for (int k = 0; k < K; k++) {
    r[2 * k] = ptx::lo32(acc[k]);
    r[2 * k + 1] = ptx::hi32(acc[k]);
  }
}

// Rows of N products: operands are 2N limbs, of which the odd ones take part, a
// word b, and the accumulator of N double words.
OP(carry_mul_row, 2 * N + 1, 2 * N, uint64_t acc[N]; const num<2 * N> a = get<2 * N>(x);
   carry::mul_row<N>(acc, a, 1, x[2 * N]); put_wide<N>(r, acc);)
OP(carry_mad_row, 4 * N + 1, 2 * N + 1, uint64_t acc[N]; get_wide<N>(acc, x + 2 * N + 1);
   r[2 * N] = carry::mad_row<N>(acc, get<2 * N>(x), 1, x[2 * N]); put_wide<N>(r, acc);)
OP(carry_mad_row_fit, 4 * N + 1, 2 * N, uint64_t acc[N]; get_wide<N>(acc, x + 2 * N + 1);
   carry::mad_row_fit<N>(acc, get<2 * N>(x), 1, x[2 * N]); put_wide<N>(r, acc);)
// One more double word of the accumulator is the one above; its low word is no
// part of the sum. The last result is the carry.
OP(carry_mad_row_above, 4 * N + 3, 2 * N + 3, uint64_t acc[N + 1];
   get_wide<N + 1>(acc, x + 2 * N + 1);
   r[2 * N + 2] = carry::mad_row_above<N, true>(acc, get<2 * N>(x), 1, x[2 * N], acc[N]);
   put_wide<N + 1>(r, acc);)
OP(carry_mad_row_above_fit, 4 * N + 3, 2 * N + 2, uint64_t acc[N + 1];
   get_wide<N + 1>(acc, x + 2 * N + 1);
   carry::mad_row_above<N, false>(acc, get<2 * N>(x), 1, x[2 * N], acc[N]);
   put_wide<N + 1>(r, acc);)
// ev0, then N+1 double words of od; od[N] stands for the tail.
OP(carry_shift_row, 4 * N + 5, 2 * N + 3, uint64_t ev[1]; uint64_t od[N + 1];
   get_wide<1>(ev, x + 2 * N + 1); get_wide<N + 1>(od, x + 2 * N + 3);
   r[2 * N + 2] = carry::shift_row<N, true, true>(ev[0], od, get<2 * N>(x), 1, x[2 * N], od[N]);
   put_wide<1>(r, ev); put_wide<N>(r + 2, od);)
OP(carry_shift_row_fit, 4 * N + 5, 2 * N + 2, uint64_t ev[1]; uint64_t od[N + 1];
   get_wide<1>(ev, x + 2 * N + 1); get_wide<N + 1>(od, x + 2 * N + 3);
   carry::shift_row<N, true, false>(ev[0], od, get<2 * N>(x), 1, x[2 * N], od[N]);
   put_wide<1>(r, ev); put_wide<N>(r + 2, od);)
OP(carry_shift_row_open, 4 * N + 5, 2 * N + 3, uint64_t ev[1]; uint64_t od[N + 1];
   get_wide<1>(ev, x + 2 * N + 1); get_wide<N + 1>(od, x + 2 * N + 3);
   r[2 * N + 2] = carry::shift_row<N, false, true>(ev[0], od, get<2 * N>(x), 1, x[2 * N], 0);
   put_wide<1>(r, ev); put_wide<N>(r + 2, od);)
// Diagonal 1 of N+1 limbs on an accumulator whose inner words are operands.
OP(carry_diagonal, 3 * N + 1, 2 * N, uint64_t acc[N]; get_wide<N>(acc, x + N + 1);
   carry::diagonal<N>(acc, get<N + 1>(x), 1); put_wide<N>(r, acc);)
OP(carry_add_squares, 3 * N, 2 * N, uint64_t acc[N]; get_wide<N>(acc, x + N);
   carry::add_squares<N>(acc, get<N>(x)); put_wide<N>(r, acc);)

// mp.
OP(mp_from_word, 1, N, put(r, mp::from_word<N>(x[0]));)
OP(mp_zero, 1, N, put(r, mp::zero<N>());)
OP(mp_resize, N, N + 2 + (N + 1) / 2, put(r, mp::resize<N + 2>(get<N>(x)));
   put(r + N + 2, mp::resize<(N + 1) / 2>(get<N>(x)));)
OP(mp_slice, N + 2, N, put(r, mp::slice<1, N>(get<N + 2>(x)));)
OP(mp_add, 2 * N, N, put(r, mp::add(get<N>(x), get<N>(x + N)));)
OP(mp_add_carry, 2 * N, N + 1, const auto s = mp::add_carry(get<N>(x), get<N>(x + N));
   put(r, s.value); r[N] = s.carry;)
OP(mp_add_carry_in, 2 * N + 1, N + 1,
   const auto s = mp::add_carry(get<N>(x), get<N>(x + N), x[2 * N]); put(r, s.value);
   r[N] = s.carry;)
OP(mp_add_exact, 2 * N, N + 1, put(r, mp::add_exact(get<N>(x), get<N>(x + N)));)
OP(mp_sub, 2 * N, N, put(r, mp::sub(get<N>(x), get<N>(x + N)));)
OP(mp_sub_borrow, 2 * N, N + 1, const auto s = mp::sub_borrow(get<N>(x), get<N>(x + N));
   put(r, s.value); r[N] = s.carry;)
OP(mp_sub_borrow_in, 2 * N + 1, N + 1,
   const auto s = mp::sub_borrow(get<N>(x), get<N>(x + N), x[2 * N]); put(r, s.value);
   r[N] = s.carry;)
OP(mp_is_zero, N, 1, r[0] = mp::is_zero(get<N>(x));)
OP(mp_eq, 2 * N, 1, r[0] = mp::eq(get<N>(x), get<N>(x + N));)
OP(mp_less, 2 * N, 1, r[0] = mp::less(get<N>(x), get<N>(x + N));)
OP(mp_cmp, 2 * N, 1, r[0] = (uint32_t)mp::cmp(get<N>(x), get<N>(x + N));)
OP(mp_select, 2 * N + 1, N, put(r, mp::select(x[2 * N] != 0, get<N>(x), get<N>(x + N)));)
OP(mp_shl, N + 1, N, put(r, mp::shl(get<N>(x), x[N]));)
OP(mp_shr, N + 1, N, put(r, mp::shr(get<N>(x), x[N]));)
OP(mp_shl1, N, N, put(r, mp::shl1(get<N>(x)));)
OP(mp_shr1, N, N, put(r, mp::shr1(get<N>(x)));)
OP(mp_mul, 2 * N, 2 * N, put(r, mp::mul(get<N>(x), get<N>(x + N)));)
// The low half, and the product of N limbs by 3.
OP(mp_mul_low, 2 * N, N, put(r, mp::mul_low<N>(get<N>(x), get<N>(x + N)));)
OP(mp_mul_by_3, N + 3, N + 3, put(r, mp::mul(get<N>(x), get<3>(x + N)));)
// N bits by N bits in the exact number of limbs.
OP(mp_mul_bits, 2 * mp::limbs_for(N), mp::limbs_for(2 * N), constexpr int L = mp::limbs_for(N);
   put(r, mp::mul_low<mp::limbs_for(2 * N)>(get<L>(x), get<L>(x + L)));)
OP(mp_sqr, N, 2 * N, put(r, mp::sqr(get<N>(x)));)
OP(mp_mul_karatsuba, 2 * N, 2 * N, put(r, mp::mul_karatsuba(get<N>(x), get<N>(x + N)));)
OP(mp_neg, N, N, put(r, mp::neg(get<N>(x)));)
OP(mp_is_negative, N, 1, r[0] = mp::is_negative(get<N>(x));)
OP(mp_abs, N, N, put(r, mp::abs(get<N>(x)));)
OP(mp_sign_extend, N, N + 2, put(r, mp::sign_extend<N + 2>(get<N>(x)));)
OP(mp_sar, N + 1, N, put(r, mp::sar(get<N>(x), x[N]));)
OP(mp_less_signed, 2 * N, 1, r[0] = mp::less_signed(get<N>(x), get<N>(x + N));)
OP(mp_mul_signed, 2 * N, 2 * N, put(r, mp::mul_signed(get<N>(x), get<N>(x + N)));)

}  // namespace pippin::probe
