// carry.cuh: bounded carry chains. A carry begins and ends inside one of these functions. What
// a function returns of it is an ordinary word, 0 or 1.
//
// Contract of the whole file
//   length   L words or K double words, a template argument, checked against
//            the longest chain that a 64-limb operand needs
//   order    little-endian: index 0 is least significant
//   operand  x is anything with operator[](int): a pointer, a num<N>, a modulus
//            whose words are compile-time constants
//   aliasing word chains may have r == a or r == b; the accumulators of a row
//            overlap no other argument
//   scope    one thread
//
// A row is one line of the multiplication in columns of 64 bits. If a*b_j were added as
// written, every product would overlap its neighbour by a word:
//
//      limb      0     1     2     3     4     5
//      x0*b   [-- ev0 --]
//      x1*b         [-- od0 --]
//      x2*b               [-- ev1 --]
//      x3*b                     [-- od1 --]
//
// So products of even limbs go to one accumulator (ev), and products of odd limbs to another
// (od, one word up). Inside each accumulator the products do not overlap. A row is then one
// chain of 64-bit multiply-adds, which ptxas turns into IMAD.WIDE.U32.X.
#pragma once
#include "ptx.cuh"

namespace pippin::carry {

constexpr int max_chain = 129;  // words: the exact sum of two 128-limb values

template <int L>
constexpr bool bounded = L >= 0 && L <= max_chain;

// r = a + b; returns the carry. Cost: L additions.
template <int L, class A, class B>
PIPPIN_HD uint32_t add(uint32_t* r, const A& a, const B& b) {
  static_assert(bounded<L> && L >= 1);
  ptx::carry c;
  r[0] = ptx::add_cc(c, a[0], b[0]);
  PIPPIN_UNROLL
  for (int i = 1; i < L; i++) r[i] = ptx::addc_cc(c, a[i], b[i]);
  return ptx::addc(c, 0, 0);
}

// r = a + b + in, in being 0 or 1; returns the carry. Cost: L+1 additions.
template <int L, class A, class B>
PIPPIN_HD uint32_t add_in(uint32_t* r, const A& a, const B& b, uint32_t in) {
  static_assert(bounded<L>);
  ptx::carry c;
  ptx::add_cc(c, in, 0xffffffffu);
  PIPPIN_UNROLL
  for (int i = 0; i < L; i++) r[i] = ptx::addc_cc(c, a[i], b[i]);
  return ptx::addc(c, 0, 0);
}

// r = a + b mod 2^(32L); for sums known to fit. Cost: L additions.
template <int L, class A, class B>
PIPPIN_HD void add_fit(uint32_t* r, const A& a, const B& b) {
  static_assert(bounded<L> && L >= 1);
  ptx::carry c;
  r[0] = ptx::add_cc(c, a[0], b[0]);
  PIPPIN_UNROLL
  for (int i = 1; i < L - 1; i++) r[i] = ptx::addc_cc(c, a[i], b[i]);
  if constexpr (L > 1) r[L - 1] = ptx::addc(c, a[L - 1], b[L - 1]);
}

// r = a - b; returns the borrow. Cost: L additions.
template <int L, class A, class B>
PIPPIN_HD uint32_t sub(uint32_t* r, const A& a, const B& b) {
  static_assert(bounded<L> && L >= 1);
  ptx::carry c;
  r[0] = ptx::sub_cc(c, a[0], b[0]);
  PIPPIN_UNROLL
  for (int i = 1; i < L; i++) r[i] = ptx::subc_cc(c, a[i], b[i]);
  return ptx::subc(c, 0, 0) & 1;
}

// r = a - b - in, in being 0 or 1; returns the borrow. Cost: L+1 additions.
template <int L, class A, class B>
PIPPIN_HD uint32_t sub_in(uint32_t* r, const A& a, const B& b, uint32_t in) {
  static_assert(bounded<L>);
  ptx::carry c;
  ptx::sub_cc(c, 0, in);
  PIPPIN_UNROLL
  for (int i = 0; i < L; i++) r[i] = ptx::subc_cc(c, a[i], b[i]);
  return ptx::subc(c, 0, 0) & 1;
}

// r = a - b mod 2^(32L); for differences known to fit. Cost: L additions.
template <int L, class A, class B>
PIPPIN_HD void sub_fit(uint32_t* r, const A& a, const B& b) {
  static_assert(bounded<L> && L >= 1);
  ptx::carry c;
  r[0] = ptx::sub_cc(c, a[0], b[0]);
  PIPPIN_UNROLL
  for (int i = 1; i < L - 1; i++) r[i] = ptx::subc_cc(c, a[i], b[i]);
  if constexpr (L > 1) r[L - 1] = ptx::subc(c, a[L - 1], b[L - 1]);
}

// Only the borrow of a - b: 1 if a < b. Cost: L additions.
template <int L, class A, class B>
PIPPIN_HD uint32_t less(const A& a, const B& b) {
  static_assert(bounded<L> && L >= 1);
  ptx::carry c;
  ptx::sub_cc(c, a[0], b[0]);
  PIPPIN_UNROLL
  for (int i = 1; i < L; i++) ptx::subc_cc(c, a[i], b[i]);
  return ptx::subc(c, 0, 0) & 1;
}

// acc[k] = x[off+2k] * b for k < K. It is the first row, with nothing to add to.
// Cost: K multiply-adds.
template <int K, class X>
PIPPIN_HD void mul_row(uint64_t* acc, const X& x, int off, uint32_t b) {
  static_assert(bounded<2 * K>);
  PIPPIN_UNROLL
  for (int k = 0; k < K; k++) acc[k] = ptx::mul_wide(x[off + 2 * k], b);
}

// acc += sum of x[off+2k] * b * 2^(64k) over k < K; returns the carry.
// Cost: K multiply-adds.
template <int K, class X>
PIPPIN_HD uint32_t mad_row(uint64_t* acc, const X& x, int off, uint32_t b) {
  static_assert(bounded<2 * K>);
  if constexpr (K == 0) return 0;
  ptx::carry c;
  acc[0] = ptx::mad_wide_cc(c, x[off], b, acc[0]);
  PIPPIN_UNROLL
  for (int k = 1; k < K; k++) acc[k] = ptx::madc_wide_cc(c, x[off + 2 * k], b, acc[k]);
  return ptx::addc(c, 0, 0);
}

// mad_row for a sum known to stay below 2^(64K). Cost: K multiply-adds.
template <int K, class X>
PIPPIN_HD void mad_row_fit(uint64_t* acc, const X& x, int off, uint32_t b) {
  static_assert(bounded<2 * K> && K >= 1);
  ptx::carry c;
  acc[0] = ptx::mad_wide_cc(c, x[off], b, acc[0]);
  PIPPIN_UNROLL
  for (int k = 1; k < K - 1; k++) acc[k] = ptx::madc_wide_cc(c, x[off + 2 * k], b, acc[k]);
  if constexpr (K > 1) acc[K - 1] = ptx::madc_wide(c, x[off + 2 * K - 2], b, acc[K - 1]);
}

// mad_row whose carry is added to the upper word of above. With Full the carry out of that word
// is returned. Otherwise the caller knows that there is none, and the result is 0. One says that
// x[off] is 1: a compiler would multiply by it all the same. Cost: K multiply-adds, K-1 with One.
template <int K, bool Full, bool One = false, class X>
PIPPIN_HD uint32_t mad_row_above(uint64_t* acc, const X& x, int off, uint32_t b, uint64_t& above) {
  static_assert(bounded<2 * K> && K >= 1);
  ptx::carry c;
  if constexpr (One) {
    const uint32_t low = ptx::add_cc(c, ptx::lo32(acc[0]), b);
    acc[0] = ptx::pack(low, ptx::addc_cc(c, ptx::hi32(acc[0]), 0));
  } else {
    acc[0] = ptx::mad_wide_cc(c, x[off], b, acc[0]);
  }
  PIPPIN_UNROLL
  for (int k = 1; k < K; k++) acc[k] = ptx::madc_wide_cc(c, x[off + 2 * k], b, acc[k]);
  if constexpr (Full) {
    const uint32_t h = ptx::addc_cc(c, ptx::hi32(above), 0);
    above = ptx::pack(ptx::lo32(above), h);
    return ptx::addc(c, 0, 0);
  } else {
    const uint32_t h = ptx::addc(c, ptx::hi32(above), 0);
    above = ptx::pack(ptx::lo32(above), h);
    return 0;
  }
}

// One row of a Montgomery step, together with the shift by a word that the step before it has
// left to do. On entry ev and od have already exchanged their roles: the low word of od[0] is
// zero and dropped, its high word belongs to the low word of ev[0], and od[k+1] belongs to
// od[k]:
//
//      before   od0.lo=0 | od0.hi |   od1   |   od2   |
//                          +        shifted down one word
//      after             | ev0.lo | ev0.hi ...
//                                 | od0     | od1     |  od[K-1] <- tail
//
// So it computes lo(ev[0]) += hi(od[0]), then od[k] = od[k+1] + x[off+2k]*b, where od[K] is
// read as tail, all in one chain. It returns the chain's carry. With Tail but not Full that is
// 0, because the caller knows that there is none. Without Tail, od has only K+1 words to read,
// and tail is not used: the last link is od[K-1] = od[K] + ..., and the carry is always
// returned. Cost: K multiply-adds.
template <int K, bool Tail, bool Full, class X>
PIPPIN_HD uint32_t shift_row(uint64_t& ev0, uint64_t* od, const X& x, int off, uint32_t b,
                             uint64_t tail) {
  static_assert(bounded<2 * K + 1>);
  ptx::carry c;
  const uint32_t low = ptx::add_cc(c, ptx::lo32(ev0), ptx::hi32(od[0]));
  ev0 = ptx::pack(low, ptx::hi32(ev0));
  PIPPIN_UNROLL
  for (int k = 0; k < K - 1; k++) od[k] = ptx::madc_wide_cc(c, x[off + 2 * k], b, od[k + 1]);
  if constexpr (K >= 1) {
    const uint64_t last = Tail ? tail : od[K];
    if constexpr (Tail && !Full) {
      od[K - 1] = ptx::madc_wide(c, x[off + 2 * K - 2], b, last);
      return 0;
    } else {
      od[K - 1] = ptx::madc_wide_cc(c, x[off + 2 * K - 2], b, last);
    }
  }
  return ptx::addc(c, 0, 0);
}

// One diagonal of a square: the products x[i]*x[i+d] for i < L, at every other word. The first
// and the last word of acc are new; those between hold the diagonal d+2. No carry can leave,
// because the last word is a product plus one. Cost: L multiply-adds.
template <int L, class X>
PIPPIN_HD void diagonal(uint64_t* acc, const X& x, int d) {
  static_assert(bounded<2 * L>);
  ptx::carry c;
  acc[0] = ptx::mul_wide(x[0], x[d]);
  if constexpr (L == 2) acc[1] = ptx::mul_wide(x[1], x[1 + d]);
  if constexpr (L >= 3) {
    acc[1] = ptx::mad_wide_cc(c, x[1], x[1 + d], acc[1]);
    PIPPIN_UNROLL
    for (int i = 2; i < L - 1; i++) acc[i] = ptx::madc_wide_cc(c, x[i], x[i + d], acc[i]);
    acc[L - 1] = ptx::madc_wide(c, x[L - 1], x[L - 1 + d], 0);
  }
}

// acc += sum of x[i]^2 * 2^(64i) over i < L; for sums known to fit.
// Cost: L multiply-adds.
template <int L, class X>
PIPPIN_HD void add_squares(uint64_t* acc, const X& x) {
  static_assert(bounded<2 * L> && L >= 1);
  ptx::carry c;
  acc[0] = ptx::mad_wide_cc(c, x[0], x[0], acc[0]);
  PIPPIN_UNROLL
  for (int i = 1; i < L - 1; i++) acc[i] = ptx::madc_wide_cc(c, x[i], x[i], acc[i]);
  if constexpr (L > 1) acc[L - 1] = ptx::madc_wide(c, x[L - 1], x[L - 1], acc[L - 1]);
}

}  // namespace pippin::carry
