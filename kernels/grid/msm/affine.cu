// affine.cu: sums of tasks as affine points. One entry is added to many tasks at a time,
// and these additions share an inverse. Compiled for one curve and group.
//
// An addition of affine points is 5M + 1S once its denominator is inverted, an XYZZ one
// 8M + 2S. A block takes rows of affine_threads tasks, a task of each row to a thread, and keeps
// the sums of all of them in memory. A step adds one entry to each:
//
//   there     every thread multiplies up the denominators of its additions
//   inverse   a warp multiplies the threads' products up by four, inverts 32 of them, and
//             goes back
//   back      every thread takes its inverse apart and finishes its additions
//
//   rows of a block   step 1  2  3  4  5    the longest tasks come first: those of a
//   task of row 0          +  +  +  +  +    thread that go on are its first `active`
//   task of row 1          +  +  +  +  +
//   task of row 2          +  +  +
//
// The other blocks of the multiprocessor add while one waits for its inverse.
#include "chords.cuh"
#if defined(PIPPIN_UNITS)
#include "units.cuh"
#endif

namespace pippin::grid {

using F = pair_field;
using elem = F::elem;

constexpr uint32_t affine_threads = 128;  // of a block
constexpr uint32_t affine_ahead = 4;      // entries of a task that are read at a time
// Blocks that a multiprocessor has at least.
constexpr uint32_t affine_blocks = field::words <= 12 ? 4 : 2;

// An element in memory is in pieces of 16 bytes, of which lanes have neighbours.
constexpr uint32_t pieces = field::words / 4, piece_step = 4 * affine_threads;
constexpr uint32_t spread_words = pieces * piece_step;
static_assert(field::words % 4 == 0 && affine_threads % warp_threads == 0 && affine_threads == 4 * warp_threads);

__device__ __forceinline__ elem get(const uint32_t* from) {
  uint32_t w[field::words];
  PIPPIN_UNROLL
  for (uint32_t i = 0; i < pieces; i++) {
    const mp::num<4> q = load_words<4>(from + i * piece_step);
    PIPPIN_UNROLL
    for (int j = 0; j < 4; j++) w[4 * i + j] = q[j];
  }
  elem e;
  __builtin_memcpy(&e, w, sizeof(w));
  return e;
}
__device__ __forceinline__ void put(uint32_t* to, const elem& e) {
  uint32_t w[field::words];
  __builtin_memcpy(w, &e, sizeof(w));
  PIPPIN_UNROLL
  for (uint32_t i = 0; i < pieces; i++) {
    mp::num<4> q;
    PIPPIN_UNROLL
    for (int j = 0; j < 4; j++) q[j] = w[4 * i + j];
    store_words(to + i * piece_step, q);
  }
}

// What a thread keeps of the task of a row: three spread elements, and the entries of this
// step and up to three that follow.
constexpr uint32_t row_words = 3 * spread_words + affine_ahead * affine_threads;
static_assert(row_words == affine_threads * (3 * field::words + affine_ahead));

struct kept {
  uint32_t *wide, *narrow;  // of the thread

  __device__ __forceinline__ kept(uint32_t* room, uint32_t most, uint32_t t)
      : wide(room + 4 * t), narrow(room + (uint64_t)most * 3 * spread_words + t) {}
  __device__ __forceinline__ uint32_t* x(uint32_t k) const { return wide + 3 * k * spread_words; }
  __device__ __forceinline__ uint32_t* y(uint32_t k) const { return x(k) + spread_words; }
  __device__ __forceinline__ uint32_t* before(uint32_t k) const { return x(k) + 2 * spread_words; }
  __device__ __forceinline__ uint32_t* entry(uint32_t k, uint32_t i) const {
    return narrow + (affine_ahead * k + i % affine_ahead) * affine_threads;
  }
};

// Where x of the point of an entry is. With units.cuh's form it is one of three, before y.
__device__ __forceinline__ const uint32_t* point_of(const uint32_t* points, uint32_t v) {
  v &= ~negative;
#if defined(PIPPIN_UNITS)
  return points + unit_place(v) * (uint64_t)field::words;
#else
  return points + v * (uint64_t)pair_words;
#endif
}
__device__ __forceinline__ elem y_of(const uint32_t* point, uint32_t v) {
#if defined(PIPPIN_UNITS)
  const elem y = F::load(point + (3 - (v & ~negative) % 3) * field::words);
#else
  const elem y = F::load(point + field::words);
#endif
  return F::select((v & negative) != 0, F::neg(y), y);
}

// The rare cases, through memory: they cost the loops no registers.
__device__ __forceinline__ affine<F> sum_at(const uint32_t* x) { return {get(x), get(x + spread_words)}; }
PIPPIN_CALLED elem special_denominator_at(const uint32_t* x, const uint32_t* point, uint32_t v) {
  return chord_denominator(sum_at(x), {F::load(point), y_of(point, v)});
}
PIPPIN_CALLED void special_sum_at(uint32_t* x, const uint32_t* point, uint32_t v, const elem inverse) {
  const affine<F> sum = add_with(sum_at(x), {F::load(point), y_of(point, v)}, inverse);
  put(x, sum.x);
  put(x + spread_words, sum.y);
}

// Replaces affine_threads spread elements by their inverses; a lane of one warp has four.
// Cost: 9M + I.
__device__ __forceinline__ void invert(uint32_t* products, uint32_t lane) {
  using C = cold_field;
  uint32_t* const at = products + 4 * lane;
  constexpr uint32_t next = 4 * warp_threads;
  const elem ab = C::mul(get(at), get(at + next)), cd = C::mul(get(at + 2 * next), get(at + 3 * next));
  const elem all = C::inv(C::mul(ab, cd)), to_ab = C::mul(all, cd), to_cd = C::mul(all, ab);
  const elem a = get(at), c = get(at + 2 * next);
  put(at, C::mul(to_ab, get(at + next)));
  put(at + next, C::mul(to_ab, a));
  put(at + 2 * next, C::mul(to_cd, get(at + 3 * next)));
  put(at + 3 * next, C::mul(to_cd, c));
}

// work: a tally, of the tasks. room: `most` rows of row_words for each of `places` blocks.
// taken: [place] words of 0, and 0 again at the end; more blocks than places wait for one.
// slots: affine points, canonical; numbers[to] gets to, of every task.
// The grid has places blocks for every places * most rows, at least.
// Cost: 5M + 1S an entry but the first of a task, and an inverse for those of a step of a block.
PIPPIN_KERNEL((128, affine_blocks), affine_sums)
(const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, uint32_t* room, uint32_t* taken,
 uint64_t places, uint64_t most, uint32_t* slots, uint32_t* numbers) {
  __shared__ uint32_t products[spread_words];
  __shared__ uint32_t place;
  const uint32_t t = threadIdx.x, count = reinterpret_cast<const tally*>(work)->tasks;
  const task* const all = reinterpret_cast<const task*>(tasks);
  // Whole waves of blocks, with as many rows each. In one wave every block has rows of all
  // lengths, in several those that begin first have the longest.
  const uint32_t rows = (count + affine_threads - 1) / affine_threads, blocks = (uint32_t)places;
  const uint32_t wave = blocks * (uint32_t)most, waves = (rows + wave - 1) / wave;
  if (waves == 0) return;
  const uint32_t each = (rows + waves * blocks - 1) / (waves * blocks), groups = (rows + each - 1) / each;
  if (blockIdx.x >= groups) return;
  const uint32_t step = waves == 1 ? groups : 1, first = waves == 1 ? blockIdx.x : blockIdx.x * each;
  const auto number = [&](uint32_t k) { return (first + k * step) * affine_threads + t; };
  const auto length = [&](uint32_t k) { return all[number(k)].length_split & ~negative; };
  const uint32_t longest = all[first * affine_threads].length_split & ~negative;
  uint32_t active = 0;
  while (active < each && number(active) < count) active++;

  if (t == 0) {
    place = blockIdx.x % blocks;
    while (atomicAdd(&taken[place], 1u) != 0) place = (place + 1) % blocks;
  }
  __syncthreads();
  const kept of(room + place * most * row_words, (uint32_t)most, t);
  const uint32_t mine = active;
#pragma unroll 1
  for (uint32_t k = 0; k < mine; k++) {
    const uint32_t v = values[all[number(k)].start];
    const uint32_t* const p = point_of(points, v);
    put(of.x(k), F::load(p));
    put(of.y(k), y_of(p, v));
  }

  const uint32_t inverter = blockIdx.x / ((blocks + affine_blocks - 1) / affine_blocks) % (affine_threads / warp_threads);
  uint32_t last = active > 0 ? length(active - 1) : 0;
#pragma unroll 1
  for (uint32_t i = 1; i < longest; i++) {
    while (active > 0 && last <= i) {
      active--;
      last = active > 0 ? length(active - 1) : 0;
    }
    const bool read = i % affine_ahead == 1;
    const auto entry = [&](uint32_t k) -> uint32_t {
      if (!read) return *of.entry(k, i - 1);
      const task q = all[number(k)];
      const uint32_t* const from = values + q.start;
      const uint32_t end = (q.length_split & ~negative) - 1;
      uint32_t v[affine_ahead];
      PIPPIN_UNROLL
      for (uint32_t j = 0; j < affine_ahead; j++) v[j] = from[i + j < end ? i + j : end];
      PIPPIN_UNROLL
      for (uint32_t j = 0; j < affine_ahead; j++) *of.entry(k, j) = v[j];
      return v[0];
    };
    elem rest = F::one();
    if (active > 0) {
      uint32_t v = entry(0), next = active > 1 ? entry(1) : v;
      elem px = F::load(point_of(points, v)), ax = get(of.x(0));
#pragma unroll 1
      for (uint32_t k = 0;;) {
        const elem px_next = F::load(point_of(points, next)), ax_next = get(of.x(k + 1 < active ? k + 1 : k));
        const uint32_t after = k + 2 < active ? entry(k + 2) : next;
        elem d = F::sub(px, ax);
        if (is_special(ax, px, d)) d = special_denominator_at(of.x(k), point_of(points, v), v);
        if (k > 0) {
          put(of.before(k), rest);
          d = F::mul(rest, d);
        }
        rest = d;
        if (++k >= active) break;
        v = next, next = after, px = px_next, ax = ax_next;
      }
    }
    put(products + 4 * t, rest);
    __syncthreads();
    if (t / warp_threads == inverter) invert(products, t % warp_threads);
    __syncthreads();
    rest = get(products + 4 * t);
    uint32_t v = active > 0 ? *of.entry(active - 1, i - 1) : 0;
#pragma unroll 1
    for (uint32_t k = active; k-- > 0;) {
      const uint32_t* const p = point_of(points, v);
      const uint32_t now = v;
      const elem px = F::load(p), ax = get(of.x(k));
      if (k > 0) v = *of.entry(k - 1, i - 1);
      elem d = F::sub(px, ax);
      const bool special = is_special(ax, px, d);
      if (special) d = special_denominator_at(of.x(k), p, now);
      elem inverse = rest;
      if (k > 0) {
        inverse = F::mul(rest, get(of.before(k)));
        rest = F::mul(rest, d);
      }
      if (special) {
        special_sum_at(of.x(k), p, now, inverse);
        continue;
      }
      const affine<F> sum = chord_sum({ax, get(of.y(k))}, {px, y_of(p, now)}, inverse);
      put(of.x(k), sum.x);
      put(of.y(k), sum.y);
    }
  }
#pragma unroll 1
  for (uint32_t k = 0; k < mine; k++) {
    const uint32_t to = all[number(k)].to;
    uint32_t* const slot = slots + to * (uint64_t)pair_words;
    store_affine(slot, sum_at(of.x(k)));
    numbers[to] = to;
  }
  __threadfence();
  __syncthreads();
  if (t == 0) taken[place] = 0;
}

}  // namespace pippin::grid
