// narrow.cu: numbers that the registers of a thread hold, a thread a number. Compiled
// for numbers of -DPIPPIN_WORDS=8 words.
//
//   narrow_mul      whole products and squares
//   narrow_residue  sums and products modulo numbers
//   narrow_power    powers modulo numbers
//
// Steps, operations and `bad` are as in wide.cu. Where the length allows it numbers are
// read 16 bytes at a time, and begin at a multiple of that. factors has R^2 mod p of
// each modulus, R = 2^(32 words).
#include "../../thread/field.cuh"
#include "layout.cuh"

namespace pippin::grid {

// What depends on what the file is compiled for is a member, since the host links
// all instances into one library.
template <int N>
struct narrow {
  using num = mp::num<N>;
  using modulus = mp::modulus<N>;

  // Takes a modulus; tells whether it is possible, and refuses it where it is not.
  __device__ __forceinline__ static bool take(modulus& m, const uint32_t* p, bool odd, uint32_t* bad, uint64_t element) {
    m.p = load_words<N>(p);
    m.minus_inverse = mp::detail::minus_inverse(m.p[0]);
    const bool zero = mp::is_zero(m.p), even = m.p[0] % 2 == 0, unit = mp::eq(m.p, mp::from_word<N>(1));
    if (odd ? !even && !unit : !zero) return true;
    atomicMin(bad + (!odd ? number_modulus_zero : even ? number_modulus_even : number_modulus_one), (uint32_t)element);
    return false;
  }

  // Takes an operand, which is refused where it is not below the modulus.
  __device__ __forceinline__ static num operand(const uint32_t* a, const modulus& m, uint32_t reason, uint32_t* bad, uint64_t element) {
    const num x = load_words<N>(a);
    if (!mp::less(x, m.p)) atomicMin(bad + reason, (uint32_t)element);
    return x;
  }

  __device__ __forceinline__ static void product(const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step,
                                                 uint32_t* r, uint64_t n) {
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
      const num x = load_words<N>(a + i * a_step);
      mp::num<2 * N> z;
      if (b) {
        const num y = load_words<N>(b + i * b_step);
        if constexpr (N >= 16) {
          z = mp::mul_karatsuba(x, y);
        } else {
          z = mp::mul(x, y);
        }
      } else {
        z = mp::sqr(x);
      }
      store_words(r + i * (2 * N), z);
    }
  }

  __device__ __forceinline__ static void residue(uint64_t op, const uint32_t* a, uint64_t a_step, const uint32_t* b,
                                                 uint64_t b_step, const uint32_t* moduli,
                                                 uint64_t modulus_step, const uint32_t* factors, uint32_t* r,
                                                 uint64_t n, uint64_t element, uint32_t* bad) {
    const bool sums = op == number_add || op == number_sub;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
      modulus m;
      if (!take(m, moduli + i * modulus_step, !sums, bad, element + i)) continue;
      num x = operand(a + i * a_step, m, number_a_not_below, bad, element + i), y = x;
      if (b) y = operand(b + i * b_step, m, number_b_not_below, bad, element + i);
      if (op == number_add) {
        x = mp::mod_add(x, y, m);
      } else if (op == number_sub) {
        x = mp::mod_sub(x, y, m);
      } else {
        // A second product, by the factor, takes 1/R away; the code is there once.
        if (op == number_from_montgomery) y = mp::from_word<N>(1);
        if (op == number_to_montgomery) y = load_words<N>(factors + i * modulus_step);
        const uint32_t rounds = op == number_mul ? 2 : 1;
        PIPPIN_LOOP
        for (uint32_t k = 0; k < rounds; k++) {
          x = mp::mont_mul(x, y, m);
          if (op == number_mul) y = load_words<N>(factors + i * modulus_step);
        }
      }
      store_words(r + i * N, x);
    }
  }

  // The powers of a thread's base, in memory: word j of entry e lies `step` words after
  // that before it, where `step` is how many threads there are.
  struct table {
    uint32_t* memory;
    uint64_t step;
    __device__ __forceinline__ void put(uint32_t e, const num& x) const {
      PIPPIN_UNROLL
      for (int j = 0; j < N; j++) memory[(e * N + j) * step] = x[j];
    }
    // All entries are read.
    __device__ __forceinline__ num get(uint32_t entry) const {
      num x = mp::zero<N>();
      PIPPIN_LOOP
      for (uint32_t e = 0; e < power_entries; e++) {
        const uint32_t mask = 0u - (uint32_t)(e == entry);
        PIPPIN_UNROLL
        for (int j = 0; j < N; j++) x[j] |= memory[(e * N + j) * step] & mask;
      }
      return x;
    }
  };

  __device__ __forceinline__ static void power(const table& t, const uint32_t* a, uint64_t a_step, const uint32_t* e,
                                               uint64_t exponent_words,
                                               uint64_t exponent_step, const uint32_t* moduli, uint64_t modulus_step,
                                               const uint32_t* factors, uint32_t* r,
                                               uint64_t n, uint64_t element, uint32_t* bad) {
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
      modulus m;
      if (!take(m, moduli + i * modulus_step, true, bad, element + i)) continue;
      const num factor = load_words<N>(factors + i * modulus_step);
      const num base = mp::mont_mul(operand(a + i * a_step, m, number_a_not_below, bad, element + i), factor, m);
      num x = mp::mont_mul(factor, mp::from_word<N>(1), m);
      num one = x;
      PIPPIN_LOOP
      for (uint32_t k = 0; k < power_entries; k++) {
        t.put(k, x);
        x = mp::mont_mul(x, base, m);
      }
      x = one;
      const uint32_t* const exponent = e + i * exponent_step;
      PIPPIN_LOOP
      for (uint64_t w = exponent_words * (32 / power_window); w-- > 0;) {
        PIPPIN_LOOP
        for (uint32_t s = 0; s < power_window; s++) x = mp::mont_sqr(x, m);
        x = mp::mont_mul(x, t.get(exponent[w / (32 / power_window)] >> w % (32 / power_window) * power_window & (power_entries - 1)), m);
      }
      store_words(r + i * N, mp::mont_mul(x, mp::from_word<N>(1), m));
    }
  }
};

using narrow_here = narrow<PIPPIN_WORDS>;

// r[i] = a[i] b[i], of twice the words, or a[i]^2 where b is 0; r overlaps neither.
PIPPIN_KERNEL((128), narrow_mul)(const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step, uint32_t* r, uint64_t n) {
  narrow_here::product(a, a_step, b, b_step, r, n);
}

// r[i] = the operation `op` of a[i] and b[i], or a[i] twice where b is 0, modulo m[i];
// r may be a or b. Only what needs a factor reads one.
PIPPIN_KERNEL((128), narrow_residue)
(uint64_t op, const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step, const uint32_t* moduli, uint64_t modulus_step,
 const uint32_t* factors, uint32_t* r, uint64_t n, uint64_t element, uint32_t* bad) {
  narrow_here::residue(op, a, a_step, b, b_step, moduli, modulus_step, factors, r, n, element, bad);
}

// r[i] = a[i]^e[i] mod m[i]; r may be a. table has power_entries numbers for each
// thread of the grid. Neither time nor addresses depend on a or e.
PIPPIN_KERNEL((128), narrow_power)
(const uint32_t* a, uint64_t a_step, const uint32_t* e, uint64_t exponent_words, uint64_t exponent_step,
 const uint32_t* moduli, uint64_t modulus_step,
 const uint32_t* factors, uint32_t* r, uint64_t n, uint64_t element, uint32_t* table, uint32_t* bad) {
  const uint64_t threads = (uint64_t)gridDim.x * blockDim.x, thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  narrow_here::power({table + thread, threads}, a, a_step, e, exponent_words, exponent_step, moduli, modulus_step,
                     factors, r, n, element, bad);
}

}  // namespace pippin::grid
