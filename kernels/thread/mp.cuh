// mp.cuh: fixed-width integers of N 32-bit limbs in the registers of one thread, 1 <= N <= 64.
// A width that is no multiple of 32 takes the next limb (131 bits: 5 limbs). Nothing here needs
// spare bits, so 128 or 256 bits work like any other width.
//
// Contract of the whole file
//   range    any value below 2^(32N) unless a function says otherwise
//   order    little-endian limbs
//   domain   plain integers; signed functions read two's complement
//   aliasing operands and results are values: r = f(r, r) is fine
//   carry    none enters or leaves; a carry that matters is a result, 0 or 1
//   time     no branch and no index depends on data
//   scope    one thread, arrays indexed by constants after unrolling
//   cost     in multiply-adds (32x32+64 -> 64 bits); additions are named where
//            there are no products
#pragma once
#include "carry.cuh"

namespace pippin::mp {

// num is a number of N limbs.
template <int N>
struct num {
  static_assert(1 <= N && N <= 128, "1 to 64 limbs, and their double-width products");
  static constexpr int limbs = N;
  uint32_t w[N];
  PIPPIN_HD uint32_t& operator[](int i) { return w[i]; }
  PIPPIN_HD const uint32_t& operator[](int i) const { return w[i]; }
};

// with_carry is a result and the carry or borrow that left it.
template <int N>
struct with_carry {
  num<N> value;
  uint32_t carry;
};

// How many limbs a value of that many bits needs.
PIPPIN_HD constexpr int limbs_for(int bits) { return (bits + 31) / 32; }

// 0, and a single word. Cost: N moves.
template <int N>
PIPPIN_HD num<N> from_word(uint32_t x) {
  num<N> r;
  r[0] = x;
  PIPPIN_UNROLL
  for (int i = 1; i < N; i++) r[i] = 0;
  return r;
}
template <int N>
PIPPIN_HD num<N> zero() {
  return from_word<N>(0);
}

// The low M limbs of a, or a with zeros above it. Cost: none.
template <int M, int N>
PIPPIN_HD num<M> resize(const num<N>& a) {
  num<M> r;
  PIPPIN_UNROLL
  for (int i = 0; i < M; i++) r[i] = i < N ? a[i < N ? i : 0] : 0;
  return r;
}

// Limbs First .. First+M-1 of a. Cost: none.
template <int First, int M, int N>
PIPPIN_HD num<M> slice(const num<N>& a) {
  static_assert(First >= 0 && First + M <= N);
  num<M> r;
  PIPPIN_UNROLL
  for (int i = 0; i < M; i++) r[i] = a[First + i];
  return r;
}

// a + b mod 2^(32N). Cost: N additions.
template <int N>
PIPPIN_HD num<N> add(const num<N>& a, const num<N>& b) {
  num<N> r;
  carry::add_fit<N>(r.w, a, b);
  return r;
}

// a + b and its carry: value + carry 2^(32N) = a + b. Cost: N+1 additions.
template <int N>
PIPPIN_HD with_carry<N> add_carry(const num<N>& a, const num<N>& b) {
  with_carry<N> r;
  r.carry = carry::add<N>(r.value.w, a, b);
  return r;
}

// a + b + in with its carry, in being 0 or 1. Cost: N+2 additions.
template <int N>
PIPPIN_HD with_carry<N> add_carry(const num<N>& a, const num<N>& b, uint32_t in) {
  with_carry<N> r;
  r.carry = carry::add_in<N>(r.value.w, a, b, in);
  return r;
}

// a + b exactly, one limb wider. Cost: N+1 additions.
template <int N>
PIPPIN_HD num<N + 1> add_exact(const num<N>& a, const num<N>& b) {
  num<N + 1> r;
  r[N] = carry::add<N>(r.w, a, b);
  return r;
}

// a - b mod 2^(32N). For a < b that is the two's complement of b - a. Cost: N additions.
template <int N>
PIPPIN_HD num<N> sub(const num<N>& a, const num<N>& b) {
  num<N> r;
  carry::sub_fit<N>(r.w, a, b);
  return r;
}

// a - b and its borrow: value - carry 2^(32N) = a - b. Cost: N+1 additions.
template <int N>
PIPPIN_HD with_carry<N> sub_borrow(const num<N>& a, const num<N>& b) {
  with_carry<N> r;
  r.carry = carry::sub<N>(r.value.w, a, b);
  return r;
}

// a - b - in with its borrow, in being 0 or 1. Cost: N+2 additions.
template <int N>
PIPPIN_HD with_carry<N> sub_borrow(const num<N>& a, const num<N>& b, uint32_t in) {
  with_carry<N> r;
  r.carry = carry::sub_in<N>(r.value.w, a, b, in);
  return r;
}

// Whether a = 0. Cost: N logic operations.
template <int N>
PIPPIN_HD bool is_zero(const num<N>& a) {
  uint32_t x = a[0];
  PIPPIN_UNROLL
  for (int i = 1; i < N; i++) x |= a[i];
  return x == 0;
}

// Whether a = b; b may be a modulus. Cost: N logic operations.
template <int N, class B>
PIPPIN_HD bool eq(const num<N>& a, const B& b) {
  uint32_t x = a[0] ^ b[0];
  PIPPIN_UNROLL
  for (int i = 1; i < N; i++) x |= a[i] ^ b[i];
  return x == 0;
}

// Whether a < b. Cost: N additions.
template <int N>
PIPPIN_HD bool less(const num<N>& a, const num<N>& b) {
  return carry::less<N>(a, b) != 0;
}

// -1, 0 or 1 as a is below, equal to or above b. Cost: N additions, N logic.
template <int N>
PIPPIN_HD int cmp(const num<N>& a, const num<N>& b) {
  const int below = (int)carry::less<N>(a, b);
  return eq(a, b) ? 0 : 1 - 2 * below;
}

// which ? a : b of words. Cost: one select.
PIPPIN_HD uint32_t select(bool which, uint32_t a, uint32_t b) { return which ? a : b; }

// which ? a : b. Cost: N selects.
template <int N>
PIPPIN_HD num<N> select(bool which, const num<N>& a, const num<N>& b) {
  num<N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) r[i] = which ? a[i] : b[i];
  return r;
}

// a 2^s mod 2^(32N), for 0 <= s < 32N known only at run time. Cost: N funnel shifts, and N
// selects for each bit of the limb count.
template <int N>
PIPPIN_HD num<N> shl(num<N> a, uint32_t s) {
  PIPPIN_UNROLL
  for (int step = 1; step < N; step *= 2) {
    const bool move = (s / 32) & step;
    PIPPIN_UNROLL
    for (int i = N - 1; i >= 0; i--) {
      const uint32_t from = i >= step ? a[i >= step ? i - step : 0] : 0;
      a[i] = move ? from : a[i];
    }
  }
  PIPPIN_UNROLL
  for (int i = N - 1; i > 0; i--) a[i] = ptx::funnel_l(a[i - 1], a[i], s % 32);
  a[0] = ptx::funnel_l(0, a[0], s % 32);
  return a;
}

namespace detail {
// shr, with fill as the word that comes in from above: 0, or the sign.
template <int N>
PIPPIN_HD num<N> shift_down(num<N> a, uint32_t s, uint32_t fill) {
  PIPPIN_UNROLL
  for (int step = 1; step < N; step *= 2) {
    const bool move = (s / 32) & step;
    PIPPIN_UNROLL
    for (int i = 0; i < N; i++) {
      const uint32_t from = i + step < N ? a[i + step < N ? i + step : 0] : fill;
      a[i] = move ? from : a[i];
    }
  }
  PIPPIN_UNROLL
  for (int i = 0; i < N - 1; i++) a[i] = ptx::funnel_r(a[i], a[i + 1], s % 32);
  a[N - 1] = ptx::funnel_r(a[N - 1], fill, s % 32);
  return a;
}
}  // namespace detail

// floor(a / 2^s), 0 <= s < 32N known only at run time. Cost: as shl.
template <int N>
PIPPIN_HD num<N> shr(const num<N>& a, uint32_t s) {
  return detail::shift_down(a, s, 0);
}

// 2a mod 2^(32N). Cost: N funnel shifts.
template <int N>
PIPPIN_HD num<N> shl1(num<N> a) {
  PIPPIN_UNROLL
  for (int i = N - 1; i > 0; i--) a[i] = ptx::funnel_l(a[i - 1], a[i], 1);
  a[0] <<= 1;
  return a;
}

// floor(a / 2). Cost: N funnel shifts.
template <int N>
PIPPIN_HD num<N> shr1(num<N> a) {
  PIPPIN_UNROLL
  for (int i = 0; i < N - 1; i++) a[i] = ptx::funnel_r(a[i], a[i + 1], 1);
  a[N - 1] >>= 1;
  return a;
}

namespace detail {

// columns are the two accumulators of a product. They have double words at even limbs (ev[k] at
// limb 2k) and at odd limbs (od[k] at limb 2k+1).
template <int Words>
struct columns {
  uint64_t ev[(Words + 1) / 2 + 1];
  uint64_t od[(Words + 1) / 2 + 1];
};

// Limb i of a double-word accumulator.
PIPPIN_HD uint32_t limb(const uint64_t* acc, int i) {
  return i % 2 == 0 ? ptx::lo32(acc[i / 2]) : ptx::hi32(acc[i / 2]);
}

// A row of the product, with the carry that may leave it: x[off], x[off+2], .. (Count of them)
// times b, from limb Pos on, as far as limbs below NR are touched. Carry says that the sum may
// run into the double word above. That word is new, so it becomes the carry.
template <int Pos, int Count, int NR, bool Carry, int W, class X>
PIPPIN_HD void product_row(columns<W>& c, const X& x, int off, uint32_t b) {
  constexpr int room = NR > Pos ? (NR - Pos + 1) / 2 : 0;
  constexpr int len = Count < room ? Count : room;
  uint64_t* acc = (Pos % 2 == 0 ? c.ev : c.od) + Pos / 2;
  if constexpr (len > 0) {
    if constexpr (Carry && Pos + 2 * len < NR) {
      acc[len] = carry::mad_row<len>(acc, x, off, b);
    } else {
      carry::mad_row_fit<len>(acc, x, off, b);
    }
  }
}

template <int J, int NB, int NA, int NR, int W, class X, class Y>
PIPPIN_HD void product_rows(columns<W>& c, const X& a, const Y& b) {
  if constexpr (J < NB) {
    constexpr int E = (NA + 1) / 2, O = NA / 2;
    if constexpr (J == 0) {
      constexpr int e = E < (NR + 1) / 2 ? E : (NR + 1) / 2;
      constexpr int o = O < NR / 2 ? O : NR / 2;
      carry::mul_row<e>(c.ev, a, 0, b[0]);
      carry::mul_row<o>(c.od, a, 1, b[0]);
      // The word at limb NA, on which the next row's shorter chain ends.
      if constexpr (NA % 2 == 0) {
        c.ev[E] = 0;
      } else {
        c.od[O] = 0;
      }
    } else {
      // One chain ends on the word that the row before opened with its carry, so it cannot
      // overflow. The other chain opens the next such word.
      product_row<J, E, NR, NA % 2 == 0>(c, a, 0, b[J]);
      if constexpr (O > 0) product_row<J + 1, O, NR, NA % 2 == 1>(c, a, 1, b[J]);
      // With one limb there is no second chain to carry the word up.
      if constexpr (NA == 1) (J % 2 == 0 ? c.od : c.ev)[(J + 1) / 2] = 0;
    }
    product_rows<J + 1, NB, NA, NR>(c, a, b);
  }
}

// ev + od 2^32 as NR words.
template <int NR, int W>
PIPPIN_HD num<NR> merge(const columns<W>& c) {
  num<NR> lo, hi, r;
  PIPPIN_UNROLL
  for (int i = 0; i < NR; i++) {
    lo[i] = limb(c.ev, i);
    hi[i] = i == 0 ? 0 : limb(c.od, i - (i > 0));
  }
  carry::add_fit<NR>(r.w, lo, hi);
  return r;
}

}  // namespace detail

// a * b mod 2^(32 NR): schoolbook in even and odd columns. NR = NA+NB gives the whole product.
// A smaller NR is exact if the operands are known to be short (131 x 131 bits: NR = 9);
// otherwise the product is truncated (NR = NA: the low half).
// Cost: NA NB for the whole product.
template <int NR, int NA, int NB>
PIPPIN_HD num<NR> mul_low(const num<NA>& a, const num<NB>& b) {
  static_assert(1 <= NR && NR <= NA + NB);
  detail::columns<NA + NB> c;
  detail::product_rows<0, NB, NA, NR>(c, a, b);
  return detail::merge<NR>(c);
}

// The whole product of two numbers. Cost: NA NB.
template <int NA, int NB>
PIPPIN_HD num<NA + NB> mul(const num<NA>& a, const num<NB>& b) {
  return mul_low<NA + NB>(a, b);
}

namespace detail {
template <int D, int N, int W>
PIPPIN_HD void diagonals(columns<W>& c, const num<N>& a) {
  if constexpr (D >= 1) {
    carry::diagonal<N - D>((D % 2 == 0 ? c.ev : c.od) + D / 2, a, D);
    diagonals<D - 1>(c, a);
  }
}
}  // namespace detail

// a^2. The products of two different limbs are summed by diagonals, doubled, and
// the squares of the limbs added:
//
//      limb   0     1     2     3     4     5     6     7
//      d=3                    [-03--]
//      d=2              [-02--]     [-13--]
//      d=1        [-01--]     [-12--]     [-23--]
//      x2, then [-00--]   [-11--]     [-22--]     [-33--]
//
// Cost: N(N+1)/2.
template <int N>
PIPPIN_HD num<2 * N> sqr(const num<N>& a) {
  num<2 * N> t;
  if constexpr (N == 1) {
    t = zero<2>();
  } else {
    detail::columns<2 * N> c;
    // Words that no diagonal reaches.
    c.ev[0] = 0;
    c.ev[N - 1] = 0;
    c.od[N - 1] = 0;
    detail::diagonals<N - 1>(c, a);
    t = shl1(detail::merge<2 * N>(c));
  }
  uint64_t acc[N];
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) acc[i] = ptx::pack(t[2 * i], t[2 * i + 1]);
  carry::add_squares<N>(acc, a);
  PIPPIN_UNROLL
  for (int i = 0; i < 2 * N; i++) t[i] = detail::limb(acc, i);
  return t;
}

// -a mod 2^(32N) in two's complement. So -(-2^(32N-1)) is itself. Cost: N additions.
template <int N>
PIPPIN_HD num<N> neg(const num<N>& a) {
  return sub(zero<N>(), a);
}

// Whether a, read as two's complement, is negative. Cost: one operation.
template <int N>
PIPPIN_HD bool is_negative(const num<N>& a) {
  return (int32_t)a[N - 1] < 0;
}

// The absolute value as an unsigned number. So it is right for 2^(32N-1) too.
// Cost: N additions, N selects.
template <int N>
PIPPIN_HD num<N> abs(const num<N>& a) {
  return select(is_negative(a), neg(a), a);
}

// a with its sign carried into M >= N limbs. Cost: M-N moves.
template <int M, int N>
PIPPIN_HD num<M> sign_extend(const num<N>& a) {
  static_assert(M >= N);
  const uint32_t s = is_negative(a) ? 0xffffffffu : 0;
  num<M> r;
  PIPPIN_UNROLL
  for (int i = 0; i < M; i++) r[i] = i < N ? a[i < N ? i : 0] : s;
  return r;
}

// floor(a / 2^s) of a two's complement number, 0 <= s < 32N. Cost: as shr.
template <int N>
PIPPIN_HD num<N> sar(const num<N>& a, uint32_t s) {
  return detail::shift_down(a, s, is_negative(a) ? 0xffffffffu : 0);
}

// Whether a < b as two's complement. Cost: N additions.
template <int N>
PIPPIN_HD bool less_signed(const num<N>& a, const num<N>& b) {
  const bool below = carry::less<N>(a, b) != 0;
  return is_negative(a) == is_negative(b) ? below : is_negative(a);
}

// The whole product of two numbers in two's complement, in 2N limbs: the unsigned product,
// minus 2^(32N) b if a is negative, and minus 2^(32N) a if b is. Cost: N^2, and 2N additions.
template <int N>
PIPPIN_HD num<2 * N> mul_signed(const num<N>& a, const num<N>& b) {
  const num<2 * N> t = mul(a, b);
  num<N> top = slice<N, N>(t);
  top = sub(top, select(is_negative(a), b, zero<N>()));
  top = sub(top, select(is_negative(b), a, zero<N>()));
  num<2 * N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < 2 * N; i++) r[i] = i < N ? t[i] : top[i < N ? 0 : i - N];
  return r;
}

// a * b by one level of Karatsuba with differences, N >= 2: with B = 2^(32L), a = a0 + a1 B,
// b = b0 + b1 B,
//   a b = a0 b0 + (a0 b0 + a1 b1 - (a0 - a1)(b0 - b1)) B + a1 b1 B^2.
// The differences have L limbs and a sign. So no product grows by a limb, as (a0 + a1)(b0 + b1)
// would. L = ceil(N/2). Cost: 2 L^2 + (N-L)^2, and about 8N additions. On an H200 it overtakes
// mul between 12 and 16 limbs: it was measured 2 % slower at 12, 9 % faster at 16, 20 % faster
// at 32. Source: Karatsuba and Ofman 1962, in the form with |a0 - a1|.
template <int N>
PIPPIN_HD num<2 * N> mul_karatsuba(const num<N>& a, const num<N>& b) {
  static_assert(N >= 2);
  constexpr int L = (N + 1) / 2, H = N - L;
  const num<L> a0 = slice<0, L>(a), b0 = slice<0, L>(b);
  const num<L> a1 = resize<L>(slice<L, H>(a)), b1 = resize<L>(slice<L, H>(b));
  const with_carry<L> da = sub_borrow(a0, a1), db = sub_borrow(b0, b1);
  const num<L> ma = select(da.carry != 0, neg(da.value), da.value);
  const num<L> mb = select(db.carry != 0, neg(db.value), db.value);
  const num<2 * L> low = mul(a0, b0), mid = mul(ma, mb);
  const num<2 * H> high = mul(slice<L, H>(a), slice<L, H>(b));
  // s = low + high - (+-mid), in [0, 2^(64L+1)).
  num<2 * L + 1> s = add_exact(low, resize<2 * L>(high));
  const num<2 * L + 1> m = resize<2 * L + 1>(mid);
  s = select(da.carry != db.carry, add(s, m), sub(s, m));
  // low + high B^2 fills the 2N limbs without overlap. s is added from limb L on.
  num<2 * N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < 2 * N; i++) r[i] = i < 2 * L ? low[i < 2 * L ? i : 0] : high[i < 2 * L ? 0 : i - 2 * L];
  constexpr int rest = 2 * N - L;
  const num<rest> t = add(slice<L, rest>(r), resize<rest>(s));
  PIPPIN_UNROLL
  for (int i = L; i < 2 * N; i++) r[i] = t[i < L ? 0 : i - L];
  return r;
}

}  // namespace pippin::mp
