// wide.cu: numbers of any length, a block a number; what is narrow enough for a
// thread's registers, or has a form of its own, is elsewhere.
//
//   wide_mul         whole products
//   wide_residue     sums, products, reductions and inverses modulo numbers
//   wide_power_begin a power's table
//   wide_power       some windows of its exponent
//
// Numbers follow one another; a step of 0 words is one number for all. Where a
// modulus or an operand is not possible, `bad` has a word for each reason, which is
// lowered to the number of the element, `element` being that of the first, and what is
// computed means nothing.
#include "../../block/integer.cuh"
#include "layout.cuh"

namespace pippin::grid {

// room is a block's shared memory for moduli of up to `words` words.
struct room {
  uint32_t* at;
  __device__ __forceinline__ uint32_t* take(uint64_t words) {
    uint32_t* const mine = at;
    at += words;
    return mine;
  }
};

// Copies to or from shared memory, with zeros from `have` words on.
__device__ __forceinline__ void move(uint32_t* to, const uint32_t* from, uint32_t have, uint32_t words) {
  for (uint32_t k = threadIdx.x; k < words; k += blockDim.x) to[k] = k < have ? from[k] : 0;
  __syncthreads();
}

// Notes a reason, where there is somebody to tell.
__device__ __forceinline__ void refuse(uint32_t* bad, uint32_t reason, uint64_t element) {
  if (threadIdx.x == 0 && bad) atomicMin(bad + reason, (uint32_t)element);
}

// residues is the state of a block over residues of `words` words.
struct residues {
  block::integers on;
  block::modulus m;
  uint32_t words;
  uint32_t *p, *one, *factor, *x, *y;
  bool right;  // the modulus is possible

  __device__ __forceinline__ static residues in(uint32_t* shared, uint32_t words) {
    room r = {shared};
    residues s;
    s.words = words;
    s.on.room = r.take(block::integers::room_words);
    s.p = r.take(words);
    s.x = r.take(words);
    s.y = r.take(words);
    s.on.upper = r.take(4 * words);  // this and what follows is an inverse's scratch
    s.one = r.take(words);
    s.factor = r.take(words);
    s.m = {s.on, words, s.p, r.take(words), r.take(words), r.take(2 * words), r.take(2 * words)};
    return s;
  }

  // Takes a modulus of the words below `words` that are not all zero above, or of all
  // of them with Whole; refuses it where it is not possible for an element.
  __device__ __forceinline__ void take(const uint32_t* modulus, bool whole, bool odd, uint32_t* bad, uint64_t element) {
    move(p, modulus, words, words);
    uint32_t n = words;
    while (n > 1 && p[n - 1] == 0) n--;
    const bool zero = n == 1 && p[0] == 0, unit = n == 1 && p[0] == 1;
    right = odd ? p[0] % 2 == 1 && !unit : !zero;
    if (!right) refuse(bad, !odd ? number_modulus_zero : p[0] % 2 == 0 ? number_modulus_even : number_modulus_one, element);
    m.n = whole ? words : n;
    __syncthreads();
    if (right && odd) m.invert();
  }

  // Takes an operand of `words` words, below p: elsewhere it is refused.
  __device__ __forceinline__ void operand(uint32_t* to, const uint32_t* from, uint32_t reason, uint32_t* bad, uint64_t element) const {
    move(to, from, words, words);
    uint32_t above = 0;
    for (uint32_t k = m.n; k < words; k++) above |= to[k];
    if (on.sum<true>(m.t, to, p, m.n) == 0 || above != 0) refuse(bad, reason, element);
  }

  // Sets factor = R^2 mod p, or with e other than 0 2^e R mod p.
  __device__ __forceinline__ void set_factor(uint32_t e) const {
    m.set_one(one);
    m.power_of_two(factor, e == 0 ? 32 * m.n : e, one);
  }
};

// r = a b, of a_words and b_words; r has both together, and overlaps neither.
PIPPIN_KERNEL_SHARED((256), wide_mul)
(const uint32_t* a, uint64_t a_words, uint64_t a_step, const uint32_t* b, uint64_t b_words, uint64_t b_step, uint32_t* r, uint64_t n) {
  PIPPIN_DYNAMIC_SHARED(shared);
  const uint32_t na = (uint32_t)a_words, nb = (uint32_t)b_words, all = na + nb;
  room space = {shared};
  block::integers on;
  on.room = space.take(block::integers::room_words);
  on.upper = space.take(2 * all);
  uint32_t *const x = space.take(na), *const y = space.take(nb), *const z = space.take(all);
  for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
    move(x, a + i * a_step, na, na);
    move(y, b + i * b_step, nb, nb);
    on.product(z, all, x, na, y, nb);
    move(r + i * all, z, all, all);
  }
}

// r[i] = the operation `op` of a[i] and b[i] modulo m[i], numbers of `words` words but
// for those that are reduced, of a_words. r may be a or b; an a of 0 is the number 1.
PIPPIN_KERNEL_SHARED((256), wide_residue)
(uint64_t op, const uint32_t* a, uint64_t a_words, uint64_t a_step, const uint32_t* b, uint64_t b_step,
 const uint32_t* moduli, uint64_t modulus_step,
 uint32_t* r, uint64_t length, uint64_t n, uint64_t element, uint32_t* bad) {
  PIPPIN_DYNAMIC_SHARED(shared);
  const uint32_t words = (uint32_t)length;
  residues s = residues::in(shared, words);
  const block::modulus& m = s.m;
  const bool odd = op != number_add && op != number_sub;
  // What has R at the contract needs all words of the modulus.
  const bool whole = op == number_montgomery || op == number_from_montgomery;
  bool known = false;
  for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
    if (!known) {
      s.take(moduli + i * modulus_step, whole, odd, bad, element + i);
      if (s.right && op == number_to_montgomery) s.set_factor(32 * words);
      if (s.right && (op == number_mul || op == number_reduce)) s.set_factor(0);
      known = modulus_step == 0;
    }
    if (!s.right) continue;
    uint32_t *const x = s.x, *const y = s.y;
    if (op == number_reduce) {
      // By pieces of n words from the top: the sum so far times R, and the piece,
      // both in Montgomery form.
      const uint32_t pieces = ((uint32_t)a_words + m.n - 1) / m.n;
      for (uint32_t k = threadIdx.x; k < m.n; k += blockDim.x) x[k] = 0;
      __syncthreads();
      for (uint32_t k = pieces; k-- > 0;) {
        const uint32_t from = k * m.n, have = (uint32_t)a_words - from;
        move(y, a + i * a_step + from, have, m.n);
        m.montgomery(x, x, s.factor);
        m.montgomery(y, y, s.factor);
        m.add(x, x, y);
      }
      for (uint32_t k = threadIdx.x; k < m.n; k += blockDim.x) y[k] = k == 0;
      __syncthreads();
      m.montgomery(x, x, y);
    } else {
      if (a) {
        s.operand(x, a + i * a_step, number_a_not_below, bad, element + i);
      } else {
        for (uint32_t k = threadIdx.x; k < words; k += blockDim.x) x[k] = k == 0;
        __syncthreads();
      }
      if (b) s.operand(y, b + i * b_step, number_b_not_below, bad, element + i);
      const uint32_t* const with = b ? y : x;
      if (op == number_add) {
        m.add(x, x, with);
      } else if (op == number_sub) {
        m.sub(x, x, with);
      } else if (op == number_from_montgomery) {
        for (uint32_t k = threadIdx.x; k < m.n; k += blockDim.x) y[k] = k == 0;
        __syncthreads();
        m.montgomery(x, x, y);
      } else if (op == number_inverse) {
        m.inverse(x, s.on.upper);
      } else {
        if (op != number_to_montgomery) m.montgomery(x, x, with);
        if (op != number_montgomery) m.montgomery(x, x, s.factor);
      }
    }
    move(r + i * words, x, m.n, words);
  }
}

// The state of a power is 16 powers of its base and what is computed so far, in
// Montgomery form, `words` words each: power_entries + 1 of them for each of n numbers.
PIPPIN_KERNEL_SHARED((256), wide_power_begin)
(const uint32_t* a, uint64_t a_step, const uint32_t* moduli, uint64_t modulus_step, uint64_t length, uint64_t n,
 uint64_t element, uint32_t* states,
 uint32_t* bad) {
  PIPPIN_DYNAMIC_SHARED(shared);
  const uint32_t words = (uint32_t)length;
  residues s = residues::in(shared, words);
  const block::modulus& m = s.m;
  bool known = false;
  for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
    if (!known) {
      s.take(moduli + i * modulus_step, false, true, bad, element + i);
      if (s.right) s.set_factor(0);
      known = modulus_step == 0;
    }
    if (!s.right) continue;
    s.operand(s.x, a + i * a_step, number_a_not_below, bad, element + i);
    m.montgomery(s.x, s.x, s.factor);
    move(s.y, s.one, m.n, m.n);
    uint32_t* state = states + i * (power_entries + 1) * words;
    move(state + power_entries * words, s.y, m.n, m.n);
    for (uint32_t e = 0; e < power_entries; e++) {
      move(state + e * words, s.y, m.n, m.n);
      m.montgomery(s.y, s.y, s.x);
    }
  }
}

// Goes on with n powers: `windows` windows of their exponents below the number `from`
// of them, and to the end with `last`. All entries are read for each window.
PIPPIN_KERNEL_SHARED((256), wide_power)
(const uint32_t* e, uint64_t exponent_words, uint64_t exponent_step, const uint32_t* moduli, uint64_t modulus_step,
 uint32_t* r, uint64_t length,
 uint64_t n, uint64_t from, uint64_t windows, flag last, uint32_t* states) {
  PIPPIN_DYNAMIC_SHARED(shared);
  const uint32_t words = (uint32_t)length;
  residues s = residues::in(shared, words);
  const block::modulus& m = s.m;
  bool known = false;
  for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
    if (!known) {
      s.take(moduli + i * modulus_step, false, true, nullptr, i);
      known = modulus_step == 0;
    }
    if (!s.right) continue;
    uint32_t* state = states + i * (power_entries + 1) * words;
    const uint32_t* const exponent = e + i * exponent_step;
    move(s.x, state + power_entries * words, m.n, m.n);
    for (uint64_t w = from; w-- > from - windows;) {
      for (uint32_t k = 0; k < power_window; k++) m.montgomery(s.x, s.x, s.x);
      const uint32_t entry = exponent[w / (32 / power_window)] >> w % (32 / power_window) * power_window & (power_entries - 1);
      for (uint32_t k = threadIdx.x; k < m.n; k += blockDim.x) {
        uint32_t v = 0;
        for (uint32_t j = 0; j < power_entries; j++) v |= state[j * words + k] & (0u - (uint32_t)(j == entry));
        s.y[k] = v;
      }
      __syncthreads();
      m.montgomery(s.x, s.x, s.y);
    }
    if (last) {
      for (uint32_t k = threadIdx.x; k < m.n; k += blockDim.x) s.y[k] = k == 0;
      __syncthreads();
      m.montgomery(s.x, s.x, s.y);
      move(r + i * words, s.x, m.n, words);
    } else {
      move(state + power_entries * words, s.x, m.n, m.n);
    }
  }
}

}  // namespace pippin::grid
