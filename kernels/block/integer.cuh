// integer.cuh: numbers of any length in shared memory, all threads of a block a number.
//
// Contract of the whole file
//   scope    one block of whole warps, at most max_threads; every thread calls, with
//            the same control flow, and all see what was written on return
//   memory   shared, little-endian words; `room` is the block's own
//   range    any words unless a function says otherwise
//   aliasing sums may replace an operand, products overlap nothing
//   time     lengths and moduli are public; no branch or address depends on other words
//   cost     in multiply-adds of the whole block, and barriers
//
// A sum is cut into a segment for each thread. Each adds its own, tells whether a
// carry leaves it or one that enters would go through, and one look-ahead over the
// block says into which a carry enters (warp/lookahead.cuh).
#pragma once
#include "../thread/outlined.cuh"
#include "../warp/lookahead.cuh"

namespace pippin::block {

// integers is what the threads of a block compute with.
struct integers {
  static constexpr uint32_t max_threads = 256, max_warps = max_threads / warp::size;
  static constexpr uint32_t room_words = max_threads + 2 * max_warps;
  uint32_t* room;   // room_words
  uint32_t* upper;  // of the columns of a product, their second and third words: twice as many

  // This thread's segment of n words: from first to last.
  __device__ __forceinline__ static void segment(uint32_t n, uint32_t& first, uint32_t& last) {
    const uint32_t each = (n + blockDim.x - 1) / blockDim.x;
    first = threadIdx.x * each < n ? threadIdx.x * each : n;
    last = first + each < n ? first + each : n;
  }

  // The carry that enters this thread's segment when none enters the first; out:
  // the one that leaves the last. Two barriers.
  __device__ __forceinline__ uint32_t carry_into(bool generates, bool hands_on, uint32_t& out) const {
    const uint32_t lane = threadIdx.x % warp::size, warp = threadIdx.x / warp::size, warps = blockDim.x / warp::size;
    uint32_t* const of_warps = room + max_threads;
    const uint32_t g = __ballot_sync(warp::all, generates), p = __ballot_sync(warp::all, hands_on);
    uint32_t leaves;
    warp::carries_into(g, p, 0, leaves);
    if (lane == 0) {
      of_warps[warp] = leaves;
      of_warps[max_warps + warp] = p == warp::all;
    }
    __syncthreads();
    uint32_t gs = 0, ps = 0;
    for (uint32_t k = 0; k < warps; k++) {
      gs |= of_warps[k] << k;
      ps |= of_warps[max_warps + k] << k;
    }
    uint32_t unused;
    const uint32_t into = warp::carries_into(gs, ps, 0, unused);
    out = into >> warps & 1;
    const uint32_t mine = warp::carries_into(g, p, into >> warp & 1, unused) >> lane & 1;
    __syncthreads();
    return mine;
  }

  // Adds `in` to the words from first to last; returns the carry, and whether they
  // are all ones then.
  __device__ __forceinline__ static uint32_t add_word(uint32_t* r, uint32_t first, uint32_t last, uint32_t in, bool& ones) {
    ones = true;
    for (uint32_t k = first; k < last; k++) {
      const uint64_t s = (uint64_t)r[k] + in;
      r[k] = ptx::lo32(s);
      in = ptx::hi32(s);
      ones &= r[k] == 0xffffffffu;
    }
    return in;
  }

  // Adds to each segment of r what the thread before has over, and the carries that
  // come of it. Four barriers.
  __device__ __forceinline__ void hand_on(uint32_t* r, uint32_t first, uint32_t last, uint32_t over) const {
    room[threadIdx.x] = over;
    __syncthreads();
    bool ones;
    uint32_t out;
    const uint32_t carry = add_word(r, first, last, threadIdx.x > 0 ? room[threadIdx.x - 1] : 0, ones);
    const uint32_t in = carry_into(carry != 0, ones && carry == 0, out);
    add_word(r, first, last, in, ones);
    __syncthreads();
  }

  // r = a + b, or a - b with Subtract, of n words, with b read as 0 where mask is 0 and
  // not all ones; returns the carry, or the borrow. Four barriers.
  template <bool Subtract>
  __device__ __forceinline__ uint32_t sum(uint32_t* r, const uint32_t* a, const uint32_t* b, uint32_t n,
                                          uint32_t mask = 0xffffffffu) const {
    uint32_t first, last, out;
    segment(n, first, last);
    uint32_t c = Subtract && threadIdx.x == 0;
    bool ones = true;
    for (uint32_t k = first; k < last; k++) {
      const uint32_t with = b[k] & mask;
      const uint64_t s = (uint64_t)a[k] + (Subtract ? ~with : with) + c;
      r[k] = ptx::lo32(s);
      c = ptx::hi32(s);
      ones &= r[k] == 0xffffffffu;
    }
    const uint32_t in = carry_into(c != 0, ones && c == 0, out);
    add_word(r, first, last, in, ones);
    __syncthreads();
    return Subtract ? 1 - out : out;
  }

  // r = a b + plus mod 2^(32n), n at most na + nb. Cost: na nb, and less for a smaller
  // n; six barriers.
  //
  // A thread sums whole columns, n threads apart, in three words each; the second and
  // the third are then added where they belong.
  PIPPIN_CALLED void product(uint32_t* r, uint32_t n, const uint32_t* a, uint32_t na, const uint32_t* b, uint32_t nb,
                                          uint32_t plus = 0) const {
    uint32_t *const second = upper, *const third = upper + n;
    for (uint32_t k = threadIdx.x; k < n; k += blockDim.x) {
      uint64_t low = 0;
      uint32_t high = 0;
      const uint32_t from = k >= nb ? k - nb + 1 : 0, to = k < na ? k + 1 : na;
      for (uint32_t i = from; i < to; i++) {
        const uint64_t p = (uint64_t)a[i] * b[k - i];
        low += p;
        high += low < p;
      }
      r[k] = ptx::lo32(low);
      second[k] = ptx::hi32(low);
      third[k] = high;
    }
    __syncthreads();
    uint32_t first, last;
    segment(n, first, last);
    uint64_t c = threadIdx.x == 0 ? plus : 0;
    for (uint32_t k = first; k < last; k++) {
      c += (uint64_t)r[k] + (k > 0 ? second[k - 1] : 0) + (k > 1 ? third[k - 2] : 0);
      r[k] = ptx::lo32(c);
      c >>= 32;
    }
    hand_on(r, first, last, ptx::lo32(c));  // a few
  }

  // r = a x + b y + c z mod 2^(32n), all signed, z of nz words, at most n, and above 0.
  // Range: |a| + |b| and |c| at most 2^30. Cost: 3n; four barriers.
  //
  // What leaves a segment is signed: it is handed on with 2^31 added, which each
  // segment but the first has had subtracted.
  PIPPIN_CALLED void combination(uint32_t* r, uint32_t n, int32_t a, const uint32_t* x, int32_t b, const uint32_t* y,
                                 int32_t c, const uint32_t* z,
                                 uint32_t nz) const {
    constexpr int64_t bias = 1ll << 31;
    uint32_t first, last;
    segment(n, first, last);
    int64_t s = threadIdx.x == 0 ? 0 : -bias;
    for (uint32_t k = first; k < last; k++) {
      s += a * (int64_t)x[k] + b * (int64_t)y[k];
      if (k < nz) s += c * (int64_t)z[k];
      r[k] = (uint32_t)s;
      s >>= 32;
    }
    hand_on(r, first, last, (uint32_t)(s + bias));
  }
};

// modulus is arithmetic modulo p of n words, below p: all members point to shared
// memory of as many words as said.
struct modulus {
  integers on;
  uint32_t n;
  const uint32_t* p;  // n
  uint32_t* minus;    // n: -1/p mod R, R = 2^(32n), for an odd p
  uint32_t* q;        // n
  uint32_t* t;        // 2n
  uint32_t* u;        // 2n

  // Sets r = a + b. r may be a or b.
  PIPPIN_CALLED void add(uint32_t* r, const uint32_t* a, const uint32_t* b) const {
    const uint32_t carry = on.sum<false>(t, a, b, n);
    reduce_once(r, t, carry);
  }

  // Sets r = a - b.
  __device__ __forceinline__ void sub(uint32_t* r, const uint32_t* a, const uint32_t* b) const {
    const uint32_t borrow = on.sum<true>(t, a, b, n);
    on.sum<false>(r, t, p, n, 0u - borrow);
  }

  // Sets r to a value below 2p, a + carry R, less p unless that is below 0.
  __device__ __forceinline__ void reduce_once(uint32_t* r, const uint32_t* a, uint32_t carry) const {
    const uint32_t borrow = on.sum<true>(u, a, p, n);
    const uint32_t keep = 0u - (uint32_t)(carry < borrow);
    for (uint32_t k = threadIdx.x; k < n; k += blockDim.x) r[k] = (a[k] & keep) | (u[k] & ~keep);
    __syncthreads();
  }

  // Sets minus: Newton's step x (2 + p x) doubles the words that are right.
  __device__ __forceinline__ void invert() const {
    if (threadIdx.x == 0) minus[0] = mp::detail::minus_inverse(p[0]);
    __syncthreads();
    for (uint32_t right = 1; right < n;) {
      const uint32_t next = 2 * right < n ? 2 * right : n;
      on.product(t, next, p, next, minus, right, 2);
      on.product(u, next, t, next, minus, right);
      for (uint32_t k = threadIdx.x; k < next; k += blockDim.x) minus[k] = u[k];
      __syncthreads();
      right = next;
    }
  }

  // Sets x = 1/x mod p, or 0 where there is none; scratch has 6n + 6 words.
  //
  // Bernstein and Yang's division steps (2019), a batch of them on the lowest words of f
  // and g, which begin as p and x, and then on all: with f = d x and g = e x modulo p, f
  // is in the end the divisor of x and p, or minus it. As many steps as words of n can
  // take, whatever x is.
  PIPPIN_CALLED void inverse(uint32_t* x, uint32_t* scratch) const {
    constexpr int batch = 29;  // a sum of two words' products and a multiple of p's fits 64 bits and a sign
    const uint32_t w = n + 1;  // f and g, and d and e above -2p, are signed
    uint32_t *const f = scratch, *const g = f + w, *const d = g + w, *const e = d + w, *const s = e + w, *const r = s + w;
    for (uint32_t k = threadIdx.x; k < w; k += blockDim.x) {
      f[k] = k < n ? p[k] : 0;
      g[k] = k < n ? x[k] : 0;
      d[k] = 0;
      e[k] = k == 0;
    }
    __syncthreads();
    const auto negative = [&](const uint32_t* v) { return v[n] >> 31; };
    // What of p makes a d + b e a multiple of 2^batch, and keeps it above -2p.
    const uint32_t inverse_of_p = 0u - mp::detail::minus_inverse(p[0]);
    const auto multiple = [&](int32_t a, int32_t b) {
      const int32_t k = a * (int32_t)negative(d) + b * (int32_t)negative(e);
      const uint32_t low = (uint32_t)a * d[0] + (uint32_t)b * e[0];
      return k - (int32_t)((inverse_of_p * low + (uint32_t)k) & ((1u << batch) - 1));
    };
    const auto shifted = [&](const uint32_t* v, uint32_t k) {
      return k < n ? ptx::funnel_r(v[k], v[k + 1], batch) : (uint32_t)((int32_t)v[n] >> batch);
    };
    const auto settle = [&](uint32_t* to, uint32_t* and_to) {
      for (uint32_t k = threadIdx.x; k < w; k += blockDim.x) {
        to[k] = shifted(s, k);
        and_to[k] = shifted(r, k);
      }
      __syncthreads();
    };
    int32_t delta2 = 2;
    for (int left = mp::detail::divsteps_for(32 * (int)n); left > 0; left -= batch) {
      mp::detail::transition t;
      delta2 = mp::detail::divsteps<batch>(delta2, f[0], g[0], t);
      on.combination(s, w, t.u, f, t.v, g, 0, p, 0);
      on.combination(r, w, t.q, f, t.r, g, 0, p, 0);
      settle(f, g);
      on.combination(s, w, t.u, d, t.v, e, multiple(t.u, t.v), p, n);
      on.combination(r, w, t.q, d, t.r, e, multiple(t.q, t.r), p, n);
      settle(d, e);
    }
    // d from above -2p to below p, with the sign of f, and where f is 1 or -1.
    on.combination(s, w, 1, d, 0, d, (int32_t)negative(d), p, n);
    on.combination(d, w, 1 - 2 * (int32_t)negative(f), s, 0, s, 0, p, 0);
    on.combination(s, w, 1, d, 0, d, (int32_t)negative(d), p, n);
    uint32_t other = 0;
    for (uint32_t k = 0; k < w; k++) other |= f[k] ^ (0u - negative(f)) ^ (k == 0 && !negative(f));
    for (uint32_t k = threadIdx.x; k < n; k += blockDim.x) x[k] = s[k] & (0u - (uint32_t)(other == 0));
    __syncthreads();
  }

  // Sets r = a b / R. r may be a or b. Cost: 2.5 n^2, with a b whole: the low words of
  // t times -1/p are the multiple of p that clears them.
  PIPPIN_CALLED void montgomery(uint32_t* r, const uint32_t* a, const uint32_t* b) const {
    on.product(t, 2 * n, a, n, b, n);
    on.product(q, n, t, n, minus, n);
    on.product(u, 2 * n, q, n, p, n);
    const uint32_t carry = on.sum<false>(t, t, u, 2 * n);
    reduce_once(r, t + n, carry);
  }

  // Sets r = 2^e R mod p, the Montgomery form of 2^e, e > 0, by squares along the bits
  // of e; one is R mod p.
  __device__ __forceinline__ void power_of_two(uint32_t* r, uint32_t e, const uint32_t* one) const {
    add(r, one, one);
    uint32_t top = 31;
    while (e >> top == 0) top--;
    while (top-- > 0) {
      montgomery(r, r, r);
      if (e >> top & 1) add(r, r, r);
    }
  }

  // Sets r = R mod p, for a p above 1 whose highest word is not zero.
  __device__ __forceinline__ void set_one(uint32_t* r) const {
    uint32_t bit = 31;
    while (bit > 0 && p[n - 1] >> bit == 0) bit--;
    // 2^(32 n - 32 + bit) is below p, or it is p = 1.
    for (uint32_t k = threadIdx.x; k < n; k += blockDim.x) r[k] = k == n - 1 ? 1u << bit : 0;
    __syncthreads();
    for (; bit < 32; bit++) add(r, r, r);
  }
};

}  // namespace pippin::block
