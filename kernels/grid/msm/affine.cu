// affine.cu: sums of tasks as affine points. One entry is added to many tasks at a time,
// and these additions share an inverse. Compiled for one curve and group.
//
// An addition of affine points is 5M + 1S once its denominator is inverted, an XYZZ one
// 8M + 2S. A block takes up to affine_rows rows of affine_threads tasks, a task of each row
// to a thread, and keeps the sums of all of them in memory. A step adds one entry to each:
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

namespace pippin::grid {

using F = hot_field;
using elem = F::elem;

// Blocks that a multiprocessor has at least.
constexpr uint32_t affine_blocks = field::words <= 12 ? 3 : 2;

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

  __device__ __forceinline__ kept(uint32_t* room, uint32_t t)
      : wide(room + 4 * t), narrow(room + (uint64_t)affine_rows * 3 * spread_words + t) {}
  __device__ __forceinline__ uint32_t* x(uint32_t k) const { return wide + 3 * k * spread_words; }
  __device__ __forceinline__ uint32_t* y(uint32_t k) const { return x(k) + spread_words; }
  __device__ __forceinline__ uint32_t* before(uint32_t k) const { return x(k) + 2 * spread_words; }
  __device__ __forceinline__ uint32_t* entry(uint32_t k, uint32_t i) const {
    return narrow + (affine_ahead * k + i % affine_ahead) * affine_threads;
  }
};

__device__ __forceinline__ const uint32_t* point_of(const uint32_t* points, uint32_t v) {
  return points + (v & ~negative) * (uint64_t)pair_words;
}
__device__ __forceinline__ elem y_of(const uint32_t* point, uint32_t v) {
  const elem y = F::load(point + field::words);
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

// work: a tally, of the tasks. room: affine_rows rows for each of `places` blocks.
// taken: [place] words of 0, and 0 again at the end; more blocks than places wait for one.
// slots: affine points, canonical; numbers[to] gets to, of every task.
// The grid has places blocks for each affine_rows rows that all places may have, at least.
// Cost: 5M + 1S an entry but the first of a task, and an inverse for those of a step of a block.
PIPPIN_KERNEL((160, affine_blocks), affine_sums)
(const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, uint32_t* room, uint32_t* taken,
 uint64_t places, uint32_t* slots, uint32_t* numbers) {
  __shared__ uint32_t products[2 * spread_words];
  __shared__ uint32_t place;
  const uint32_t t = threadIdx.x, count = reinterpret_cast<const tally*>(work)->tasks;
  const task* const all = reinterpret_cast<const task*>(tasks);
  // Whole waves of blocks, with as many rows each. In one wave every block has rows of all
  // lengths, in several those that begin first have the longest.
  const uint32_t rows = (count + affine_threads - 1) / affine_threads, blocks = (uint32_t)places;
  const uint32_t waves = (rows + blocks * affine_rows - 1) / (blocks * affine_rows);
  if (waves == 0) return;
  const uint32_t each = (rows + waves * blocks - 1) / (waves * blocks), groups = (rows + each - 1) / each;
  if (blockIdx.x >= groups) return;
  const uint32_t step = waves == 1 ? groups : 1, first = waves == 1 ? blockIdx.x : blockIdx.x * each;
  const auto number = [&](uint32_t k) { return (first + k * step) * affine_threads + t; };
  const auto length = [&](uint32_t k) { return all[number(k)].length_split & ~negative; };
  const uint32_t longest = all[first * affine_threads].length_split & ~negative;
  const bool adds = t < affine_threads;

  if (t == 0) {
    place = blockIdx.x % blocks;
    while (atomicAdd(&taken[place], 1u) != 0) place = (place + 1) % blocks;
  }
  __syncthreads();
  const kept of(room + (uint64_t)place * affine_rows * row_words, t);
  uint32_t mine = 0;
#pragma unroll 1
  for (; adds && mine < each && number(mine) < count; mine++) {
    const uint32_t v = values[all[number(mine)].start];
    const uint32_t* const p = point_of(points, v);
    put(of.x(mine), F::load(p));
    put(of.y(mine), y_of(p, v));
  }

  // Of this half, and of the other: the tasks that go on, and the length of the last of them.
  uint32_t active = (mine + 1) / 2, others = mine / 2;
  uint32_t last = active > 0 ? length(2 * active - 2) : 0, last_other = others > 0 ? length(2 * others - 1) : 0;
#pragma unroll 1
  for (uint32_t turn = 0; turn < 2 * longest; turn++) {
    const uint32_t half = turn % 2, i = turn / 2 + 1;
    uint32_t* const product = products + half * spread_words + 4 * t;
    if (!adds) {
      if (turn > 0 && turn + 1 < 2 * longest) invert(products + (1 - half) * spread_words, t % warp_threads);
    } else {
      if (i > 1) {
        elem rest = get(product);
        uint32_t v = active > 0 ? *of.entry(2 * active - 2 + half, i - 2) : 0;
#pragma unroll 1
        for (uint32_t j = active; j-- > 0;) {
          const uint32_t k = 2 * j + half, now = v;
          const uint32_t* const p = point_of(points, now);
          const elem px = F::load(p), ax = get(of.x(k));
          if (j > 0) v = *of.entry(k - 2, i - 2);
          elem d = F::sub(px, ax);
          const bool special = is_special(ax, px, d);
          if (special) d = special_denominator_at(of.x(k), p, now);
          elem inverse = rest;
          if (j > 0) {
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
      while (active > 0 && last <= i) {
        active--;
        last = active > 0 ? length(2 * active - 2 + half) : 0;
      }
      if (i < longest) {
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
          uint32_t v = entry(half), next = active > 1 ? entry(2 + half) : v;
          elem px = F::load(point_of(points, v));
#pragma unroll 1
          for (uint32_t j = 0;;) {
            const uint32_t k = 2 * j + half;
            const elem px_next = F::load(point_of(points, next)), ax = get(of.x(k));
            const uint32_t after = j + 2 < active ? entry(k + 4) : next;
            elem d = F::sub(px, ax);
            if (is_special(ax, px, d)) d = special_denominator_at(of.x(k), point_of(points, v), v);
            if (j > 0) {
              put(of.before(k), rest);
              d = F::mul(rest, d);
            }
            rest = d;
            if (++j >= active) break;
            v = next, next = after, px = px_next;
          }
        }
        put(product, rest);
      }
    }
    __syncthreads();
    const uint32_t a = active, l = last;
    active = others, last = last_other;
    others = a, last_other = l;
  }
#pragma unroll 1
  for (uint32_t k = 0; k < mine; k++) {
    const uint32_t to = all[number(k)].to;
    store_affine(slots + to * (uint64_t)pair_words, sum_at(of.x(k)));
    numbers[to] = to;
  }
  __threadfence();
  __syncthreads();
  if (t == 0) taken[place] = 0;
}

}  // namespace pippin::grid
