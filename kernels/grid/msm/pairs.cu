// pairs.cu: sums of a few entries of a bucket as affine points, pair by pair, before
// what is left of the bucket is accumulated. Compiled for one curve and group.
//
// An addition of affine points is 5M + 1S once its denominator is inverted, an XYZZ one
// 8M + 2S. A task here has at most 2^levels entries of one bucket, which are added up as
// a tree. All additions of one level of all tasks are independent: their denominators
// are multiplied up by every thread, the threads' products inverted, and on the way back
// every addition gets the inverse of its own. Nobody waits inside a kernel:
//
//   pairs_there    a thread's denominators, and the products before each
//   pairs_invert   the threads' products
//   pairs_back     the sums of a level
//
//   entries   e0   e1   e2   e3   e4        place j of the sums, of a task, at level l
//   level 0   e0 + e1   e2 + e3   e4        is for the entries from j 2 on: a sum
//   level 1   ---- + -------      e4        takes the place of its left operand, and
//   level 2   ---------- + ---------        what has no partner stays where it is
//
// Equal points, opposite ones and infinity take a slow path, and the denominators of
// others never depend on them.
//
// The first level reads bases with their signs, and the others sums. Where registers allow,
// the way back has a loop for each.
#include "chords.cuh"

namespace pippin::grid {

// Blocks of pairs_back that a multiprocessor has at least.
constexpr uint32_t pair_blocks = field::words <= 12 ? 4 : field::words <= 16 ? 3 : 2;

// An operand of an addition, in memory: a base of which the negative may be meant, or a sum
// in raw representatives, of which a base's are some.
struct operand {
  const uint32_t* src;
  bool minus;

  __device__ __forceinline__ pair_field::elem x() const { return pair_field::load_raw(src); }
  __device__ __forceinline__ pair_field::elem y() const {
    const pair_field::elem y = pair_field::load_raw(src + pair_field::words);
    return pair_field::select(minus, pair_field::neg(y), y);
  }
  __device__ __forceinline__ affine<pair_field> load() const { return {x(), y()}; }
};

// Whether the way back has two loops. They save a twentieth of it over 12 limbs and in G2 of
// BLS12-381. Where an inner product needs more registers they spill: no gain on BW6-761, and
// a loss in G2 of BLS12-377.
template <class F>
constexpr bool apart = F::words <= 12;
template <class B>
constexpr bool apart<fp2<B, -1>> = true;

// Which levels code is for.
enum class levels { first, others, all };

// A level of the tasks from, from+1, .. of all, as many as there is room for. Sums and
// products before them are [place][room], the task being the last index: lanes have
// neighbours.
struct pairing {
  const task* tasks;
  const uint32_t *values, *points;
  uint32_t *sums, *before;
  uint64_t count, room;
  uint32_t level;

  __device__ __forceinline__ pairing(const uint32_t* work, const uint32_t* all, const uint32_t* values, const uint32_t* points,
                                     uint32_t* sums, uint32_t* before, uint64_t from, uint64_t room, uint64_t level)
      : tasks(reinterpret_cast<const task*>(all) + from), values(values), points(points), sums(sums), before(before),
        count(0), room(room), level((uint32_t)level) {
    const uint64_t there = reinterpret_cast<const tally*>(work)->tasks;
    if (there > from) count = there - from < room ? there - from : room;
  }

  // What a task has at this level: operands, half of which are left at the next one.
  __device__ __forceinline__ uint32_t operands(const task& k) const {
    return ((k.length_split & ~negative) + (1u << level) - 1) >> level;
  }
  __device__ __forceinline__ uint64_t place(uint64_t t, uint32_t j) const { return ((uint64_t)j << level) * room + t; }
  template <levels Of = levels::all>
  __device__ __forceinline__ operand get(uint64_t t, const task& k, uint32_t i) const {
    if constexpr (Of == levels::all) {
      return level == 0 ? get<levels::first>(t, k, i) : get<levels::others>(t, k, i);
    } else if constexpr (Of == levels::first) {
      const uint32_t v = values[k.start + i];
      return {points + (v & ~negative) * (uint64_t)pair_words, (v & negative) != 0};
    } else {
      return {sums + (((uint64_t)i << (level - 1)) * room + t) * pair_words, false};
    }
  }
};

// Stores a sum as gnark-crypto's point where nothing is left to be added to it, raw elsewhere.
__device__ __forceinline__ void store_point(uint32_t* dst, const affine<pair_field>& p, bool last) {
  if (last) {
    store_affine(dst, p);
    return;
  }
  pair_field::store_raw(dst, p.x);
  pair_field::store_raw(dst + pair_field::words, p.y);
}

PIPPIN_CALLED pair_field::elem special_denominator(const operand a, const operand b) {
  return chord_denominator(a.load(), b.load());
}
PIPPIN_CALLED void special_sum(uint32_t* dst, const operand a, const operand b, const pair_field::elem& inverse, bool last) {
  store_point(dst, add_with(a.load(), b.load(), inverse), last);
}

// The way there of a level of p's tasks, whose products are one a thread. Cost: M an addition.
PIPPIN_KERNEL((128), pairs_there)
(const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, uint32_t* sums,
 uint32_t* before, uint32_t* products, uint64_t from, uint64_t room, uint64_t level) {
  using F = pair_field;
  const pairing p(work, tasks, values, points, sums, before, from, room, level);
  const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (uint64_t)gridDim.x * blockDim.x;
  typename F::elem product = F::one();
#pragma unroll 1
  for (uint64_t t = thread; t < p.count; t += threads) {
    const task k = p.tasks[t];
    const uint32_t additions = p.operands(k) / 2;
#pragma unroll 1
    for (uint32_t j = 0; j < additions; j++) {
      const operand a = p.get(t, k, 2 * j), b = p.get(t, k, 2 * j + 1);
      const auto xa = a.x(), xb = b.x();
      auto d = F::sub(xb, xa);
      if (is_special(xa, xb, d)) d = special_denominator(a, b);
      F::store_raw(p.before + p.place(t, j) * F::words, product);
      product = F::mul(product, d);
    }
  }
  F::store_raw(products + thread * F::words, product);
}

// products[i] becomes 1/products[i], i < n. A thread takes invert_each of them, which are
// the grid's threads apart.
PIPPIN_KERNEL((128), pairs_invert)(uint32_t* products, uint64_t n) {
  using F = cold_field;
  const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (n + invert_each - 1) / invert_each;
  if (thread >= threads) return;
  typename F::elem x[invert_each];
  PIPPIN_UNROLL
  for (uint32_t i = 0; i < invert_each; i++) {
    const uint64_t at = thread + i * threads;
    x[i] = at < n ? F::load_raw(products + at * F::words) : F::one();
  }
  batch_inverse<F, invert_each>(x);
  PIPPIN_UNROLL
  for (uint32_t i = 0; i < invert_each; i++) {
    const uint64_t at = thread + i * threads;
    if (at < n) F::store_raw(products + at * F::words, x[i]);
  }
}

// The way back: the sums of a level of p's tasks. At the last level the sum of a task, affine,
// goes to slots[to], and to to numbers[to]: entries again, of which a bucket has the fewer.
// Cost: 4M + 1S an addition.
template <levels Of>
__device__ __forceinline__ void go_back(const pairing& p, const uint32_t* products, bool last, uint32_t* slots,
                                        uint32_t* numbers) {
  using F = pair_field;
  const bool is_first = Of == levels::all ? p.level == 0 : Of == levels::first;
  const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (uint64_t)gridDim.x * blockDim.x;
  if (thread >= p.count) return;
  typename F::elem rest = F::load_raw(products + thread * F::words);
  uint64_t t = thread + (p.count - 1 - thread) / threads * threads;
#pragma unroll 1
  for (;; t -= threads) {
    const task k = p.tasks[t];
    const uint32_t operands = p.operands(k), additions = operands / 2;
    uint32_t* const slot = slots + k.to * (uint64_t)pair_words;
    if (last) numbers[k.to] = k.to;
    // Without a partner: it is where it must be, but at both ends.
    if (last ? operands == 1 : is_first && operands % 2 == 1) {
      store_point(last ? slot : p.sums + p.place(t, additions) * pair_words, p.get<Of>(t, k, operands - 1).load(), last);
    }
#pragma unroll 1
    for (uint32_t j = additions; j-- > 0;) {
      const operand a = p.get<Of>(t, k, 2 * j), b = p.get<Of>(t, k, 2 * j + 1);
      uint32_t* const dst = last ? slot : p.sums + p.place(t, j) * pair_words;
      const auto inverse = F::mul(rest, F::load_raw(p.before + p.place(t, j) * F::words));
      const auto xa = a.x(), xb = b.x();
      auto d = F::sub(xb, xa);
      const bool special = is_special(xa, xb, d);
      if (special) d = special_denominator(a, b);
      rest = F::mul(rest, d);
      if (special) {
        special_sum(dst, a, b, inverse, last);
        continue;
      }
      store_point(dst, chord_sum({xa, a.y()}, {xb, b.y()}, inverse), last);
    }
    if (t < threads) break;
  }
}

// The grid is that of pairs_there.
PIPPIN_KERNEL((128, pair_blocks), pairs_back)
(const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, uint32_t* sums,
 uint32_t* before, const uint32_t* products, uint64_t from, uint64_t room, uint64_t level, flag last, uint32_t* slots,
 uint32_t* numbers) {
  const pairing p(work, tasks, values, points, sums, before, from, room, level);
  if constexpr (!apart<field>) {
    go_back<levels::all>(p, products, last, slots, numbers);
  } else if (level == 0) {
    go_back<levels::first>(p, products, last, slots, numbers);
  } else {
    go_back<levels::others>(p, products, last, slots, numbers);
  }
}

}  // namespace pippin::grid
