// integer.cuh: arithmetic modulo odd numbers of T W words of 32 bits, T threads of a
// warp a number, W words a thread. Contract: that of lanes.cuh, and
//   range    operands and results below p, p odd; R = 2^(32 T W). No bit of p is spare
//   order    member m of a group has the words m W .. m W + W-1
//   domain   mul and sqr: operands stand for x R mod p
//   time     no branch and no index depends on data
//   cost     in multiply-adds a thread
//   source   Montgomery 1985, a word at a time; CGBN (NVIDIA) for the place of the
//            words, contiguous in a thread, and for one broadcast of q a row; SSLShader
//            (Jang et al., NSDI 2011) for carries that wait until a product's end
//
// A row of a product adds a b_i and q p, and moves all down by a word:
//
//      member      0             1             2             3
//      words   [0 .. W-1]    [0 .. W-1]    [0 .. W-1]    [0 .. W-1]   + what is above
//               |      ^------/      ^------/      ^------/      ^- 0
//               0, since q clears it
//
// Members hand no carries on meanwhile. What member m has, S, is its W words and two above
// them. With S below 3 2^(32W) before a row, it is below (2^33 + 1) 2^(32W) after both
// products, so that the upper of the two is at most 2; moved down, below
// (2 + 2^-32) 2^(32W); and with the word that comes from the next member below
// 3 2^(32W) again. A square's reduction begins with S below 2T 2^(32W), which the first row
// brings below that. At the end what is above the W words, a few bits, goes to the next
// member, and then carries of one bit through all.
#pragma once
#include "../thread/mont.cuh"
#include "lookahead.cuh"

namespace pippin::warp {

// v, of which the compiler knows nothing: what follows from it is computed where it is
// needed, and not kept in registers over a loop.
__device__ __forceinline__ uint32_t fresh(uint32_t v) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(v));
#endif
  return v;
}

// modular is the threads of one number. A block's shared memory has a column of pairs of
// words for each of its Threads, and one of zeros: in its first W/2 rows the second
// factor of a product, in W/2 rows more p, and in W rows what members hand each other in
// a square.
template <int T, int W, int Threads>
struct modular {
  static_assert(T >= 2 && T <= 32 && (T & (T - 1)) == 0 && W % 4 == 0 && W >= 4);
  using num = mp::num<W>;
  static constexpr uint32_t words = T * W;
  static constexpr uint32_t columns = Threads + 1, zeros = Threads;
  static constexpr uint32_t room = columns * 2 * W;      // pairs of shared memory
  static constexpr int half = W / 2;                     // pairs of a thread's words
  static constexpr uint32_t moduli = half, squares = W;  // rows

  uint32_t member, first;   // this lane's place, and the lane of member 0
  uint64_t* pairs;          // member 0's column
  const uint64_t* nothing;  // the column of zeros
  uint32_t minus_inverse;   // -1/p mod 2^32

  // The group of a thread, without its modulus. All threads of the block call.
  __device__ __forceinline__ static modular of(uint32_t thread, uint64_t* room) {
    for (uint32_t r = thread; r < half; r += Threads) room[r * columns + zeros] = 0;
    __syncthreads();
    modular g;
    g.member = thread % T;
    g.first = thread % size - g.member;
    g.pairs = room + (thread - g.member);
    g.nothing = room + zeros;
    return g;
  }

  __device__ __forceinline__ void take(const num& p) {
    put(moduli, p);
    minus_inverse = from(mp::detail::minus_inverse(p[0] | 1), 0);
  }
  __device__ __forceinline__ num modulus() const { return get(moduli, member); }

  // What a member has, member T being member 0. Cost: a shuffle.
  __device__ __forceinline__ uint32_t from(uint32_t v, uint32_t m) const { return __shfl_sync(all, v, first + m % T); }

  // The members for which v is not 0. Cost: a ballot.
  __device__ __forceinline__ uint32_t where(uint32_t v) const {
    return __ballot_sync(all, v != 0) >> first & (uint32_t)((1ull << T) - 1);
  }

  __device__ __forceinline__ static uint32_t or_of(const num& a) {
    uint32_t x = a[0];
    PIPPIN_UNROLL
    for (int i = 1; i < W; i++) x |= a[i];
    return x;
  }
  __device__ __forceinline__ static uint32_t and_of(const num& a) {
    uint32_t x = a[0];
    PIPPIN_UNROLL
    for (int i = 1; i < W; i++) x &= a[i];
    return x;
  }

  // The number v of one word.
  __device__ __forceinline__ num small(uint32_t v) const { return mp::from_word<W>(member == 0 ? v : 0); }

  // The carry that enters this member, where members make carries or hand them on, never
  // both; leaves: what leaves this one. The last member's is the number's, and enters no
  // other group. Cost: two ballots.
  __device__ __forceinline__ uint32_t entering(uint32_t makes, uint32_t hands_on, uint32_t& leaves) const {
    const uint32_t inner = member != T - 1;
    uint32_t out;
    const uint32_t g = __ballot_sync(all, (makes & inner) != 0), h = __ballot_sync(all, (hands_on & inner) != 0);
    const uint32_t in = carries_into(g, h, 0, out) >> (first + member) & 1;
    leaves = makes | (hands_on & in);
    return in;
  }

  // v + carry 2^(32W) of all members as one number, v that of this one, carry 0 or 1.
  __device__ __forceinline__ num carried(const num& v, uint32_t carry, uint32_t& leaves) const {
    const uint32_t in = entering(carry, and_of(v) == 0xffffffffu, leaves);
    return mp::add(v, mp::from_word<W>(in));
  }
  // The same with a borrow.
  __device__ __forceinline__ num borrowed(const num& v, uint32_t borrow, uint32_t& leaves) const {
    const uint32_t in = entering(borrow, or_of(v) == 0, leaves);
    return mp::sub(v, mp::from_word<W>(in));
  }

  // v, and `over` 2^(32 T W) of the last member, below 2p: less p where it is not below.
  __device__ __forceinline__ num reduced(const num& v, uint32_t over) const {
    const mp::with_carry<W> d = mp::sub_borrow(v, modulus());
    uint32_t borrow;
    const num less = borrowed(d.value, d.carry, borrow);
    const uint32_t keep = 0u - from(borrow & ~over, T - 1);
    num r;
    PIPPIN_UNROLL
    for (int i = 0; i < W; i++) r[i] = (v[i] & keep) | (less[i] & ~keep);
    return r;
  }

  // Whether a is below p, told to all members.
  __device__ __forceinline__ uint32_t below(const num& a) const {
    const mp::with_carry<W> d = mp::sub_borrow(a, modulus());
    uint32_t borrow;
    borrowed(d.value, d.carry, borrow);
    return from(borrow, T - 1);
  }

  // a + b mod p. Cost: 4 ballots, a shuffle, about 6 W additions.
  __device__ __forceinline__ num add(const num& a, const num& b) const {
    const mp::with_carry<W> s = mp::add_carry(a, b);
    uint32_t over;
    const num v = carried(s.value, s.carry, over);
    return reduced(v, over);
  }

  // a - b mod p. Cost: as add.
  __device__ __forceinline__ num sub(const num& a, const num& b) const {
    const mp::with_carry<W> d = mp::sub_borrow(a, b);
    uint32_t borrow, over;
    const num v = borrowed(d.value, d.carry, borrow);
    const uint32_t back = 0u - from(borrow, T - 1);
    num p = modulus();
    PIPPIN_UNROLL
    for (int i = 0; i < W; i++) p[i] &= back;
    const mp::with_carry<W> s = mp::add_carry(v, p);
    return carried(s.value, s.carry, over);
  }

  // A pair of words of a member's column, and numbers in it from a row on.
  __device__ __forceinline__ uint64_t& pair(uint32_t row, uint32_t m) const { return pairs[row * columns + m]; }
  template <int N>
  __device__ __forceinline__ void put(uint32_t row, const mp::num<N>& a) const {
    PIPPIN_UNROLL
    for (int k = 0; k < N / 2; k++) pair(row + k, member) = ptx::pack(a[2 * k], a[2 * k + 1]);
  }
  __device__ __forceinline__ static num read(const uint64_t* from) {
    num r;
    PIPPIN_UNROLL
    for (int k = 0; k < half; k++) {
      const uint64_t v = from[k * columns];
      r[2 * k] = ptx::lo32(v);
      r[2 * k + 1] = ptx::hi32(v);
    }
    return r;
  }
  __device__ __forceinline__ num get(uint32_t row, uint32_t m) const { return read(&pair(row, m)); }
  // All members have written when one reads what is another's, and read before one
  // writes again.
  __device__ __forceinline__ static void settle() { __syncwarp(); }
  // Makes b the second factor of products.
  __device__ __forceinline__ void give(const num& b) const {
    settle();
    put(0, b);
    settle();
  }

  // sum is S of this member in double words, ev at even and od at odd words, which change
  // roles from row to row; top is the word above od's last.
  struct sum {
    uint64_t x[half], y[half];
    uint32_t top;
  };

  // S = S / 2^32 + a b, with the next member's lowest word, which is 0 of member 0.
  __device__ __forceinline__ void row(uint64_t* ev, uint64_t* od, uint32_t& top, const num& a, uint32_t b) const {
    const uint64_t tail = ptx::pack(from(ptx::lo32(od[0]), member + 1), top);
    top = carry::shift_row<half, true, true>(ev[0], od, a, 1, b, tail);
    top += carry::mad_row_above<half, true>(ev, a, 0, b, od[half - 1]);
  }
  // S += q p, which clears the lowest word of all.
  __device__ __forceinline__ void clear(uint64_t* ev, uint64_t* od, uint32_t& top, const num& p) const {
    const uint32_t q = from(ptx::mul_lo(ptx::lo32(ev[0]), minus_inverse), 0);
    top += carry::mad_row<half>(od, p, 1, q);
    top += carry::mad_row_above<half, true>(ev, p, 0, q, od[half - 1]);
  }
  // S = S / 2^32 + q p, which clears the lowest word of all.
  __device__ __forceinline__ void clear_next(uint64_t* ev, uint64_t* od, uint32_t& top, const num& p) const {
    const uint32_t q = from(ptx::mul_lo(ptx::lo32(ev[0]) + ptx::hi32(od[0]), minus_inverse), 0);
    row(ev, od, top, p, q);
  }

  // The residue that all members' S / 2^32 are, and what is added to it, below 2p
  // together. What goes to the next member is a few bits, so that its sum carries one at
  // most.
  __device__ __forceinline__ num finish(const sum& s, const num& high, uint32_t high_carry) const {
    const mp::with_carry<W> v = mp::detail::mont_result<true, W>(s.y, s.x, s.top, from(ptx::lo32(s.y[0]), member + 1));
    const mp::with_carry<W> w = mp::add_carry(v.value, high);
    const uint32_t above = v.carry + w.carry + high_carry, of_last = from(above, member + T - 1);
    const mp::with_carry<W> u = mp::add_carry(w.value, mp::from_word<W>(member == 0 ? 0 : of_last));
    uint32_t leaves;
    const num r = carried(u.value, u.carry, leaves);
    return reduced(r, above + leaves);
  }

  // a b / R mod p of the b that was given. Cost: 2 T W^2 + T W, 2 T W shuffles; T W/2
  // double words of shared memory.
  __device__ __forceinline__ num mul(const num& a) const {
    const num p = modulus();
    sum s = {};
    PIPPIN_LOOP
    for (uint32_t owner = 0; owner < T; owner++) {
#pragma unroll(W < 16 ? 2 : 1)
      for (uint32_t k = 0; k < half; k++) {
        const uint64_t b = pair(k, owner);
        row(s.x, s.y, s.top, a, ptx::lo32(b));
        clear(s.x, s.y, s.top, p);
        row(s.y, s.x, s.top, a, ptx::hi32(b));
        clear(s.y, s.x, s.top, p);
      }
    }
    return finish(s, mp::zero<W>(), 0);
  }

  // part is W columns of a square: of at most 2T halves of products, the carry is their
  // number at most.
  struct part {
    num value;
    uint32_t carry;
  };

  // Adds half a product, at `from` in shared memory, twice where Twice.
  template <bool Twice>
  __device__ __forceinline__ static void collect_half(part& to, const uint64_t* from) {
    num v = read(from);
    if constexpr (Twice) {
      to.carry += v[W - 1] >> 31;
      v = mp::shl1(v);
    }
    const mp::with_carry<W> s = mp::add_carry(to.value, v);
    to.value = s.value;
    to.carry += s.carry;
  }

  // Adds to part number `block` of the square what is its of products of members t and
  // t + d, for each t, which are at parts k, the lower half, and k + 1: k = 2t + d, or
  // 2t + d - T where t + d is past the last member. So k is as odd as d.
  template <bool Twice>
  __device__ __forceinline__ void collect(part& to, uint32_t block, uint32_t d) const {
    block = fresh(block);
    const uint32_t upper = (block ^ d) & 1;
    const int32_t k = (int32_t)(block - upper), n = T;
    const int32_t t = (k - (int32_t)d) >> 1, wrapped = t + n / 2;
    const bool there = t >= 0 && t + (int32_t)d < n, there_too = wrapped + (int32_t)d >= n && wrapped < n;
    const uint32_t row = squares + upper * half;
    collect_half<Twice>(to, there ? &pair(row, t) : nothing);
    collect_half<Twice>(to, there_too ? &pair(row, wrapped) : nothing);
  }

  // S = S / 2^32 + a b without another member's words: below 2^(32(W+1)) if it was.
  __device__ __forceinline__ static void product_row(uint64_t* ev, uint64_t* od, const num& a, uint32_t b) {
    uint32_t none = 0;
    mp::detail::mont_row<false, W>(ev, od, none, a, b);
  }

  // The product of a and `Pairs` pairs of words in shared memory, from row `at` of a
  // square's on.
  template <int Pairs>
  __device__ __forceinline__ void product(const num& a, const uint64_t* b, uint32_t at) const {
    uint64_t x[half] = {}, y[half] = {};
#pragma unroll 2
    for (uint32_t k = 0; k < Pairs; k++) {
      const uint64_t v = b[k * columns];
      product_row(x, y, a, ptx::lo32(v));
      const uint32_t low = ptx::lo32(x[0]);
      product_row(y, x, a, ptx::hi32(v));
      pair(squares + at + k, member) = ptx::pack(low, ptx::lo32(y[0]));
    }
    put(squares + at + Pairs, mp::detail::mont_result<false, W>(y, x, 0, 0).value);
  }

  // a^2 / R mod p. The factor that was given is gone. The square's T (T+1) / 2 products
  // of two members' words are made by all alike: each member's own square, its words by
  // those of the member d after it for each d below T/2, and half of those for T/2, which
  // two members share. What is added up of them by part: a member has the parts m and
  // m + T. The lower parts are reduced, then the upper ones added.
  // Cost: W(W+1)/2 + W^2 (T-1)/2 and T W^2 + T W; 2 T W shuffles, and about
  // 3 W (T/2 + 1) double words of shared memory.
  __device__ __forceinline__ num sqr(const num& a) const {
    part low = {mp::zero<W>(), 0}, high = {mp::zero<W>(), 0};
    settle();
    put(0, a);
    put(squares, mp::sqr(a));
    settle();
    collect<false>(low, member, 0);
    collect<false>(high, member + T, 0);
    PIPPIN_LOOP
    for (uint32_t d = 1; d < T / 2; d++) {
      settle();
      product<half>(a, &pair(0, (member + d) % T), 0);
      settle();
      collect<true>(low, member, d);
      collect<true>(high, member + T, d);
    }
    {
      // The words of the first T/2 members by the lower or the upper half of those of the
      // others.
      const uint32_t t = member % (T / 2), upper = member / (T / 2);
      settle();
      product<half / 2>(get(0, t), &pair(upper * (half / 2), t + T / 2), upper * (half / 2));
      PIPPIN_UNROLL
      for (int k = 0; k < half / 2; k++) pair(squares + (upper ? 0 : W - half / 2) + k, member) = 0;
      settle();
      collect<true>(low, member, T / 2);
      collect<true>(high, member + T, T / 2);
    }
    sum s = {};
    PIPPIN_UNROLL
    for (int k = 0; k < half; k++) s.x[k] = ptx::pack(low.value[2 * k], low.value[2 * k + 1]);
    s.top = low.carry;
    const num p = modulus();
    PIPPIN_LOOP
    for (uint32_t i = 0; i < words; i += 4) {
      PIPPIN_UNROLL
      for (int k = 0; k < 2; k++) {
        clear_next(s.x, s.y, s.top, p);
        clear_next(s.y, s.x, s.top, p);
      }
    }
    return finish(s, high.value, high.carry);
  }
};

}  // namespace pippin::warp
