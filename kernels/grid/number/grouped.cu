// grouped.cu: residues that several threads of a warp hold in registers. Compiled for
// numbers of -DPIPPIN_WORDS=64 words, by groups of -DPIPPIN_THREADS=4 threads, with at
// least -DPIPPIN_BLOCKS=4 blocks a multiprocessor.
//
//   grouped_residue  sums and products modulo numbers
//   grouped_power    powers modulo numbers
//
// Steps, operations, factors and `bad` are as in narrow.cu. Numbers begin at a multiple
// of 16 bytes. With N words, T threads and W words a thread a product is 2 N^2 + N T
// multiply-adds, a square 3 N^2 / 2 + N / 2 + N T; a block has 2064 W bytes of shared
// memory.
#include "../../thread/field.cuh"
#include "../../warp/integer.cuh"
#include "layout.cuh"

namespace pippin::grid {

// What depends on what the file is compiled for is a member, since the host links
// all instances into one library.
template <int Words, int T>
struct grouped {
  static_assert(Words % T == 0);
  static constexpr uint32_t threads = 128;
  static constexpr int W = Words / T;
  using group = warp::modular<T, W, threads>;
  using num = mp::num<W>;

  // One number's place: what is read, and whether anything is written.
  struct place {
    const group& g;
    uint64_t element;  // as it is told
    bool counts;       // the number is there
    uint32_t* bad;

    __device__ __forceinline__ void refuse(uint32_t reason) const {
      if (counts && g.member == 0) atomicMin(bad + reason, (uint32_t)element);
    }
  };

  __device__ __forceinline__ static num load(const group& g, const uint32_t* a) { return load_words<W>(a + g.member * W); }

  // Takes a modulus; tells whether it is possible, and refuses it where it is not.
  __device__ __forceinline__ static bool take(group& g, const uint32_t* p, bool odd, uint64_t element, bool counts, uint32_t* bad) {
    const num m = load(g, p);
    g.take(m);
    const uint32_t above = g.member == 0 ? m[0] & ~1u : m[0];
    num rest = m;
    rest[0] = above;
    const bool even = (g.from(m[0], 0) & 1) == 0, few = g.where(group::or_of(rest)) == 0;  // 0 or 1
    if (odd ? !even && !few : !even || !few) return true;
    place{g, element, counts, bad}.refuse(!odd ? number_modulus_zero : even ? number_modulus_even : number_modulus_one);
    return false;
  }

  // Takes an operand, which is refused where it is not below the modulus.
  __device__ __forceinline__ static num operand(const place& at, const uint32_t* a, uint32_t reason) {
    const num x = load(at.g, a);
    if (!at.g.below(x)) at.refuse(reason);
    return x;
  }

  __device__ __forceinline__ static void store(const group& g, uint32_t* r, const num& x, bool writes) {
    if (writes) store_words(r + g.member * W, x);
  }

  // All threads of a warp go along, whatever the modulus is.
  __device__ __forceinline__ static void residue(group& g, uint64_t op, const uint32_t* a, const uint32_t* b,
                                                 const uint32_t* p, const uint32_t* factor,
                                                 uint32_t* r, uint64_t element, bool counts, uint32_t* bad) {
    const bool sums = op == number_add || op == number_sub;
    const bool right = take(g, p, !sums, element, counts, bad);
    const place at = {g, element, counts && right, bad};
    num x = operand(at, a, number_a_not_below);
    if (sums) {
      const num y = b ? operand(at, b, number_b_not_below) : x;
      x = op == number_add ? g.add(x, y) : g.sub(x, y);
    } else {
      // A second product, by the factor, takes 1/R away.
      const bool square = (op == number_mul || op == number_montgomery) && !b;
      if (square) {
        x = g.sqr(x);
      } else if (op == number_from_montgomery) {
        g.give(g.small(1));
      } else if (op == number_to_montgomery) {
        g.give(load(g, factor));
      } else {
        g.give(operand(at, b, number_b_not_below));
      }
      const uint32_t from = square ? 1 : 0, to = op == number_mul ? 2 : 1;
      PIPPIN_LOOP
      for (uint32_t k = from; k < to; k++) {
        if (k == 1) g.give(load(g, factor));
        x = g.mul(x);
      }
    }
    store(g, r, x, at.counts);
  }

  // The powers of a group's base, in memory: four words of all threads of the grid lie
  // side by side.
  struct table {
    struct alignas(16) quad {
      uint32_t v[4];
    };
    quad* memory;
    uint64_t step;
    __device__ __forceinline__ void put(uint32_t e, const num& x) const {
      PIPPIN_UNROLL
      for (int j = 0; j < W / 4; j++) memory[(e * (W / 4) + j) * step] = {x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]};
    }
    __device__ __forceinline__ num at(uint32_t e) const {
      num x;
      PIPPIN_UNROLL
      for (int j = 0; j < W / 4; j++) {
        const quad q = memory[(e * (W / 4) + j) * step];
        PIPPIN_UNROLL
        for (int i = 0; i < 4; i++) x[4 * j + i] = q.v[i];
      }
      return x;
    }
    // All entries are read.
    __device__ __forceinline__ num get(uint32_t entry) const {
      num x = mp::zero<W>();
#pragma unroll 2
      for (uint32_t e = 0; e < power_entries; e++) {
        const uint32_t mask = 0u - (uint32_t)(e == entry);
        const num v = at(e);
        PIPPIN_UNROLL
        for (int j = 0; j < W; j++) x[j] |= v[j] & mask;
      }
      return x;
    }
  };

  // Number i. What is needed at the end is computed again, since registers are few.
  __device__ __forceinline__ static void power(group& g, const table& t, uint32_t i, const uint32_t* a, uint64_t a_step, const uint32_t* e,
                                               uint64_t exponent_words, uint64_t exponent_step, const uint32_t* moduli,
                                               uint64_t modulus_step,
                                               const uint32_t* factors, uint32_t* r, uint64_t element, bool counts, uint32_t* bad) {
    const bool right = take(g, moduli + i * modulus_step, true, element + i, counts, bad);
    const place at = {g, element + i, counts && right, bad};
    g.give(load(g, factors + i * modulus_step));
    num x = g.mul(g.small(1));  // R mod p
    g.give(g.mul(operand(at, a + i * a_step, number_a_not_below)));
    PIPPIN_LOOP
    for (uint32_t k = 0; k < power_entries; k++) {
      t.put(k, x);
      x = g.mul(x);
    }
    x = t.at(0);
    // Windows from the top: squares, then the power.
    PIPPIN_LOOP
    for (uint32_t w = (uint32_t)exponent_words * (32 / power_window); w-- > 0;) {
      PIPPIN_LOOP
      for (uint32_t s = 0; s < power_window; s++) x = g.sqr(x);
      g.give(t.get(e[i * exponent_step + w / (32 / power_window)] >> w % (32 / power_window) * power_window & (power_entries - 1)));
      x = g.mul(x);
    }
    // Out of Montgomery form.
    g.give(g.small(1));
    store(g, r + (uint64_t)i * Words, g.mul(x), at.counts);
  }
};

using grouped_here = grouped<PIPPIN_WORDS, PIPPIN_THREADS>;

// r[i] = the operation `op` of a[i] and b[i], or a[i] twice where b is 0, modulo m[i];
// r may be a or b. Only what needs a factor reads one.
PIPPIN_KERNEL((128, PIPPIN_BLOCKS), grouped_residue)
(uint64_t op, const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step, const uint32_t* moduli, uint64_t modulus_step,
 const uint32_t* factors, uint32_t* r, uint64_t n, uint64_t element, uint32_t* bad) {
  __shared__ uint64_t room[grouped_here::group::room];
  grouped_here::group g = grouped_here::group::of(threadIdx.x, room);
  // A block's threads go on together, for as long as its first has a number: what is the
  // same for all of them is known to the compiler, who else cuts the code at a shuffle.
#pragma unroll 1
  for (uint64_t first = blockIdx.x * (blockDim.x / PIPPIN_THREADS); first < n;
       first += (uint64_t)gridDim.x * (blockDim.x / PIPPIN_THREADS)) {
    const uint64_t mine = first + threadIdx.x / PIPPIN_THREADS, i = mine < n ? mine : n - 1;
    grouped_here::residue(g, op, a + i * a_step, b ? b + i * b_step : b, moduli + i * modulus_step,
                          factors + i * modulus_step, r + i * PIPPIN_WORDS,
                          element + i, mine < n, bad);
  }
}

// r[i] = a[i]^e[i] mod m[i]; r may be a. table has power_entries times the words of a
// thread for each of the grid. Neither time nor addresses depend on a or e.
PIPPIN_KERNEL((128, PIPPIN_BLOCKS), grouped_power)
(const uint32_t* a, uint64_t a_step, const uint32_t* e, uint64_t exponent_words, uint64_t exponent_step,
 const uint32_t* moduli, uint64_t modulus_step,
 const uint32_t* factors, uint32_t* r, uint64_t n, uint64_t element, uint32_t* table, uint32_t* bad) {
  __shared__ uint64_t room[grouped_here::group::room];
  grouped_here::group g = grouped_here::group::of(threadIdx.x, room);
  const uint64_t threads = (uint64_t)gridDim.x * blockDim.x, thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const grouped_here::table t = {reinterpret_cast<grouped_here::table::quad*>(table) + thread, threads};
#pragma unroll 1
  for (uint64_t first = blockIdx.x * (blockDim.x / PIPPIN_THREADS); first < n; first += threads / PIPPIN_THREADS) {
    const uint64_t mine = first + threadIdx.x / PIPPIN_THREADS;
    grouped_here::power(g, t, (uint32_t)(mine < n ? mine : n - 1), a, a_step, e, exponent_words, exponent_step,
                        moduli, modulus_step, factors, r, element,
                        mine < n, bad);
  }
}

}  // namespace pippin::grid
