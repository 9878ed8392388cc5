// elements.cuh: field elements of the threads of a block: in shared memory, and
// joined in the order of the threads.
//
// A Join is what joins: join(low, high, k), with `low` what a group of threads
// has and `high` what the group of 2^k threads after it has, is what both have
// together; join(identity(), high, k) is high. Joins are associative in that way;
// those that weigh their sides need k.
#pragma once
#include "../thread/field.cuh"
#include "../warp/elements.cuh"

namespace pippin::block {

// elements is room in shared memory for Count elements of F. Their quads of words
// lie apart, so that lanes with neighbouring elements meet no bank twice. Contract:
// shared has `words` words, aligned to 16 bytes; values stay the representatives
// that they are.
template <Field F, uint32_t Count>
struct elements {
  static constexpr uint32_t words = Count * F::words;
  uint32_t* shared;

  __device__ __forceinline__ typename F::elem get(uint32_t i) const {
    typename F::elem a;
    PIPPIN_UNROLL
    for (int q = 0; q < F::words; q += 4) {
      const mp::num<4> w = load_words<4>(shared + q * Count + 4 * i);
      PIPPIN_UNROLL
      for (int k = 0; k < 4; k++) a.v[q + k] = w[k];
    }
    return a;
  }
  __device__ __forceinline__ void put(uint32_t i, const typename F::elem& a) const {
    PIPPIN_UNROLL
    for (int q = 0; q < F::words; q += 4) {
      store_words(shared + q * Count + 4 * i, mp::num<4>{a.v[q], a.v[q + 1], a.v[q + 2], a.v[q + 3]});
    }
  }
};

// The logarithm of a power of two.
PIPPIN_HD constexpr uint32_t log2(uint32_t n) { return n <= 1 ? 0 : 1 + log2(n / 2); }

// What all threads of a block of T have together, for its first thread; the
// others get what is of no use. Every thread calls.
//
//   thread  0 1 2 3 4 5 6 7
//   k = 2   +-------+        thread t joins its own and that of t + 2^k: bits
//   k = 1   +---+            of t from the highest on
//   k = 0   +-+
//
//   memory  room; free to be used again when the function returns
//   cost    log2(T) joins, one after the other, of half as many threads each
template <uint32_t T, Field F, class Join>
__device__ __forceinline__ typename F::elem fold(const typename F::elem& mine, const elements<F, T>& room, const Join& join) {
  const uint32_t t = threadIdx.x;
  typename F::elem x = mine;
#pragma unroll 1
  for (uint32_t k = log2(T); k-- > 0;) {
    const uint32_t d = 1u << k;
    if (t >= d && t < 2 * d) room.put(t, x);
    __syncthreads();
    if (t < d) x = join.join(x, room.get(t + d), k);
    __syncthreads();
  }
  return x;
}

// What all threads before this one in a block of T have together, after `before`,
// which is what the first thread gets. Every thread calls, with the same `before`.
// One warp does it, each lane for the T/32 threads that follow one another.
//   memory  room; free to be used again after the block's next barrier
//   cost    2 T/32 + 5 joins of one warp, one after the other; two barriers
template <uint32_t T, Field F, class Join>
__device__ __forceinline__ typename F::elem scan(const typename F::elem& mine, const typename F::elem& before,
                                                 const elements<F, T>& room, const Join& join) {
  constexpr uint32_t each = T / warp::size;
  const uint32_t t = threadIdx.x;
  room.put(t, mine);
  __syncthreads();
  if (t < warp::size) {
    typename F::elem x = F::select(t == 0, before, Join::identity());
#pragma unroll 1
    for (uint32_t i = 0; i < each; i++) x = join.join(x, room.get(t * each + i), 0);
#pragma unroll 1
    for (uint32_t k = 0; k < log2(warp::size); k++) {
      const uint32_t d = 1u << k;
      const typename F::elem below = {warp::from(x.v, t >= d ? t - d : t)};
      if (t >= d) x = join.join(below, x, log2(each) + k);
    }
    x = {warp::from(x.v, t > 0 ? t - 1 : 0)};
    x = F::select(t == 0, before, x);
#pragma unroll 1
    for (uint32_t i = 0; i < each; i++) {
      const typename F::elem y = room.get(t * each + i);
      room.put(t * each + i, x);
      x = join.join(x, y, 0);
    }
  }
  __syncthreads();
  return room.get(t);
}

}  // namespace pippin::block
