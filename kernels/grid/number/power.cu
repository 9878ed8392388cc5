// power.cu: powers modulo odd numbers, in double precision. Compiled for moduli of
// -DPIPPIN_BITS=1024, by groups of -DPIPPIN_THREADS=4 threads that have
// -DPIPPIN_SAMPLES=5 samples of 52 bits each.
//
// The exponent is cut into windows of four bits; each costs four squares and a
// product by one of 16 powers, which are all read, so that neither the time nor an
// address depends on the exponent or on the base.
#include "../../warp/sampled.cuh"
#include "layout.cuh"

namespace pippin::grid {

// What depends on what the file is compiled for is a member, since the host links
// all instances into one library.
template <int Bits, int T, int L>
struct powers {
  using group = warp::group<T, L, 128, PIPPIN_STEPS>;
  static constexpr int samples = group::samples;
  static constexpr uint64_t length = Bits / 32;  // words
  static_assert(sampled::sample_bits == power_sample_bits && sampled::sample_bits * samples >= Bits + 2);
  static constexpr uint32_t window = power_window, entries = power_entries, reads = 2;

  // A number's samples of this member.
  __device__ __forceinline__ static void load(const group& g, double* r, const uint32_t* w) {
#pragma unroll
    for (int j = 0; j < L; j++) {
      const uint64_t bit = sampled::sample_bits * (g.member * L + j), k = bit / 32;
      const uint32_t shift = bit % 32;
      const auto word = [&](uint64_t i) { return i < length ? w[i] : 0; };
      uint64_t v = ptx::pack(word(k), word(k + 1)) >> shift;
      if (shift > 12) v |= (uint64_t)word(k + 2) << (64 - shift);
      r[j] = sampled::from_integer(v & sampled::low_mask);
    }
  }

  // Writes a number of at most p as one below p: its samples go by all members, who
  // all cut them into words, and the first writes them less p, and then adds p again
  // if that went below zero.
  __device__ __forceinline__ static void store(const group& g, uint32_t* r, const double* x, const uint32_t* p, bool writes) {
    uint64_t rest = 0, at = 0;
    uint32_t have = 0, borrow = 0;
    const auto put = [&](uint64_t part) {
      if (at >= length) return;  // what is left of the samples is 0
      rest += part << have;
      have += sampled::sample_bits / 2;
      if (have < 32) return;
      const uint64_t d = (rest & 0xffffffffu) - p[at] - borrow;
      if (writes) r[at] = ptx::lo32(d);
      borrow = ptx::hi32(d) & 1;
      rest >>= 32;
      have -= 32;
      at++;
    };
#pragma unroll 1
    for (uint32_t owner = 0; owner < T; owner++) {
#pragma unroll
      for (int j = 0; j < L; j++) {
        const uint64_t v = sampled::bits_of(g.from(x[j], owner) + sampled::two52) - sampled::exponent_lo;
        put(v & ((1u << sampled::sample_bits / 2) - 1));
        put(v >> sampled::sample_bits / 2);
      }
    }
    if (!writes) return;
    const uint32_t mask = 0u - borrow;
    uint32_t carry = 0;
#pragma unroll 1
    for (uint64_t k = 0; k < length; k++) {
      const uint64_t s = (uint64_t)r[k] + (p[k] & mask) + carry;
      r[k] = ptx::lo32(s);
      carry = ptx::hi32(s);
    }
  }

  // The powers 0 to 15 of a number, of this thread: samples of all threads of the grid
  // lie side by side, two and two.
  struct table {
    struct alignas(16) pair {
      double v[2];
    };
    pair* memory;
    uint64_t step;
    __device__ __forceinline__ void put(uint32_t entry, const double* x) const {
#pragma unroll
      for (int j = 0; j < L / 2; j++) memory[(entry * (L / 2) + j) * step] = {x[2 * j], x[2 * j + 1]};
    }
    // Every entry is read, one is kept.
    __device__ __forceinline__ void get(double* x, uint32_t entry) const {
      uint64_t kept[L] = {};
#pragma unroll reads
      for (uint32_t e = 0; e < entries; e++) {
        const uint64_t mask = 0 - (uint64_t)(e == entry);
#pragma unroll
        for (int j = 0; j < L / 2; j++) {
          const pair v = memory[(e * (L / 2) + j) * step];
          kept[2 * j] |= sampled::bits_of(v.v[0]) & mask;
          kept[2 * j + 1] |= sampled::bits_of(v.v[1]) & mask;
        }
      }
#pragma unroll
      for (int j = 0; j < L; j++) x[j] = sampled::double_of(kept[j]);
    }
  };

  // r = x^e mod p; one is R mod p. Threads without a number run along and write nothing.
  __device__ __forceinline__ static void power(const group& g, const table& t, const uint32_t* x, const uint32_t* e,
                                               uint64_t exponent_words,
                                               const uint32_t* p, const uint32_t* one, uint32_t* r, bool writes) {
    double y[L], acc[L];
    load(g, y, p);
    g.take_modulus(y);
    const uint64_t np0 = sampled::minus_inverse(ptx::pack(p[0], p[1]));
    load(g, acc, one);
    // y = R^2, which is 2^(52 samples) in Montgomery form: from 2, as 1 + 1, along the
    // bits of the exponent.
    uint64_t sums[L];
#pragma unroll
    for (int j = 0; j < L; j++) sums[j] = 2 * (sampled::bits_of(acc[j] + sampled::two52) - sampled::exponent_lo);
    g.resolve(acc, sums);
    constexpr uint32_t times = sampled::sample_bits * samples;
    uint32_t top = 31;
    while (times >> top == 0) top--;
#pragma unroll
    for (int j = 0; j < L; j++) y[j] = acc[j];
#pragma unroll 1
    for (uint32_t b = top; b-- > 0;) {
      g.sqr(y, np0);
      g.give(acc);
      if (times >> b & 1) g.mul(y, np0);
    }
    load(g, acc, x);
    g.give(acc);
    g.mul(y, np0);
    g.give(y);
    load(g, acc, one);
#pragma unroll 1
    for (uint32_t k = 0; k < entries; k++) {
      t.put(k, acc);
      g.mul(acc, np0);
    }
    load(g, acc, one);
    // Windows from the top: squares, then the power.
#pragma unroll 1
    for (uint64_t w = exponent_words * (32 / window); w-- > 0;) {
#pragma unroll 1
      for (uint32_t s = 0; s < window; s++) g.sqr(acc, np0);
      t.get(y, e[w / (32 / window)] >> w % (32 / window) * window & (entries - 1));
      g.give(y);
      g.mul(acc, np0);
    }
    // Out of Montgomery form.
#pragma unroll
    for (int j = 0; j < L; j++) y[j] = 0;
    if (g.member == 0) y[0] = 1;
    g.give(y);
    g.mul(acc, np0);
    store(g, r, acc, p, writes);
  }
};

using all_of = powers<PIPPIN_BITS, PIPPIN_THREADS, PIPPIN_SAMPLES>;

// r[i] = x[i]^e[i] mod p[i] for n numbers of PIPPIN_BITS bits: x, and one[i] = R mod p[i],
// below p[i], which is odd. Exponents of exponent_words words begin exponent_step apart,
// moduli and ones modulus_step: 0 is the same for all. table has 16 times the samples of
// a thread, 8 bytes each, for every thread of the grid. r may be x.
PIPPIN_KERNEL((128, PIPPIN_BLOCKS), power)
(const uint32_t* x, const uint32_t* e, const uint32_t* p, const uint32_t* one, uint32_t* r, uint64_t n, uint64_t exponent_words,
 uint64_t exponent_step, uint64_t modulus_step, uint32_t* table) {
  const uint64_t threads = (uint64_t)gridDim.x * blockDim.x, thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ double slots[2 * PIPPIN_SAMPLES * 128];
  const all_of::group g = all_of::group::of(threadIdx.x, slots);
  const all_of::table t = {reinterpret_cast<all_of::table::pair*>(table) + thread, threads};
  // A block's threads go on together, for as long as its first has a number: what is the
  // same for all of them is known to the compiler, who else cuts the code at a shuffle.
#pragma unroll 1
  for (uint64_t first = blockIdx.x * (blockDim.x / PIPPIN_THREADS); first < n; first += threads / PIPPIN_THREADS) {
    const uint64_t mine = first + threadIdx.x / PIPPIN_THREADS, i = mine < n ? mine : n - 1;
    all_of::power(g, t, x + i * all_of::length, e + i * exponent_step, exponent_words, p + i * modulus_step, one + i * modulus_step,
                  r + i * all_of::length, mine < n && g.member == 0);
  }
}

}  // namespace pippin::grid
