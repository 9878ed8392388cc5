// sort.cu: from entries in bins to entries in buckets. A bin is 2^shift neighbouring
// buckets; bins_scatter of digits.cu has put entries there, in any order.
//
//   bins_begin     where the entries of each bin go, before bins_scatter
//   rest_count     how many entries each bucket has
//   rest_scatter   puts a tile of a bin in the order of its buckets in shared memory
//                  and writes it out
//
// A tile is sort_tile entries of one bin at most: no block's work depends on how often
// a bucket occurs. Where a bin is one bucket, bins_scatter is all.
#include "../../block/scan.cuh"
#include "../../warp/counters.cuh"
#include "layout.cuh"

namespace pippin::grid {

constexpr uint32_t per_thread = sort_tile / sort_threads;
static_assert(warp::size == warp_threads && sort_threads * per_thread == sort_tile && sort_tile <= 1 << 16);

// One block. next: [bin] how many entries it has; then where its first one goes. first:
// [bin] that too. tiles: [bins + 1] the tiles of the bins before, and of all.
PIPPIN_KERNEL((1024), bins_begin)(uint32_t* next, uint32_t* first, uint32_t* tiles, uint64_t bins) {
  constexpr uint32_t threads = 1024;
  __shared__ uint32_t room[threads / warp::size];
  uint32_t entries = 0, all = 0;
  for (uint32_t base = 0; base < bins; base += threads) {
    const uint32_t b = base + threadIdx.x, count = b < bins ? next[b] : 0;
    uint32_t sum, more;
    const uint32_t from = entries + block::scan<threads>(count, room, sum);
    const uint32_t tile = all + block::scan<threads>((uint32_t)(((uint64_t)count + sort_tile - 1) / sort_tile), room, more);
    if (b < bins) {
      next[b] = first[b] = from;
      tiles[b] = tile;
    }
    entries += sum;
    all += more;
  }
  if (threadIdx.x == 0) tiles[bins] = all;
}

// The entries of a block's tile, and its bin.
struct bin_tile {
  uint32_t bin, from, n;
};

// Block x is tile x, and there is one. next: [bin] the end of its entries. Every thread
// calls, and waits for the others; found is shared memory.
// Cost: one warp log of bins to the base of 32 loads, one after the other.
__device__ __forceinline__ bin_tile find_tile(const uint32_t* first, const uint32_t* next, const uint32_t* tiles,
                                              uint64_t bins, uint32_t* found) {
  const uint32_t at = blockIdx.x, lane = threadIdx.x;
  if (lane < warp::size) {
    // The last bin that has at most `at` tiles before it is one of n from b on.
    uint32_t b = 0, n = (uint32_t)bins;
    while (n > 1) {
      const uint32_t each = (n + warp::size - 1) / warp::size, i = lane * each;
      const uint32_t low = __ballot_sync(warp::all, i < n && tiles[b + i] <= at), skipped = (__popc(low) - 1) * each;
      b += skipped;
      n = n - skipped < each ? n - skipped : each;
    }
    if (lane == 0) *found = b;
  }
  __syncthreads();
  const uint32_t bin = *found, from = first[bin] + (at - tiles[bin]) * sort_tile, left = next[bin] - from;
  return {bin, from, left < sort_tile ? left : sort_tile};
}

// Sets b to what the thread has of a tile's buckets in their bin, ~0 where it has none.
// They come first, all at once: nobody waits for one of them alone.
__device__ __forceinline__ void load_rests(uint32_t* b, const uint32_t* keys, const bin_tile& tile) {
  const uint16_t* const rests = reinterpret_cast<const uint16_t*>(keys) + tile.from;
#pragma unroll
  for (uint32_t k = 0; k < per_thread; k++) {
    const uint32_t i = k * sort_threads + threadIdx.x;
    b[k] = i < tile.n ? rests[i] : ~0u;
  }
}

// keys: halves of words. counts: [bucket of all sets], zero before. Shared memory: a
// word a bucket of a bin.
PIPPIN_KERNEL_SHARED((512), rest_count)
(const uint32_t* first, const uint32_t* next, const uint32_t* tiles, uint64_t bins, uint64_t shift,
 const uint32_t* keys, uint32_t* counts) {
  __shared__ uint32_t found;
  PIPPIN_DYNAMIC_SHARED(seen);
  const uint32_t t = threadIdx.x, buckets = 1u << shift;
  if (blockIdx.x >= tiles[bins]) return;
  for (uint32_t b = t; b < buckets; b += sort_threads) seen[b] = 0;
  const bin_tile tile = find_tile(first, next, tiles, bins, &found);
  uint32_t rests[per_thread];
  load_rests(rests, keys, tile);
#pragma unroll
  for (uint32_t k = 0; k < per_thread; k++)
    if (rests[k] != ~0u) atomicAdd(&seen[rests[k]], 1u);
  __syncthreads();
  counts += (uint64_t)tile.bin << shift;
  for (uint32_t b = t; b < buckets; b += sort_threads)
    if (seen[b]) atomicAdd(&counts[b], seen[b]);
}

// ends: [bucket of all sets] where its next entry goes; after all tiles, the end of its
// run. Shared memory: two words a bucket of a bin, and sort_tile words and halves.
PIPPIN_KERNEL_SHARED((512, 2), rest_scatter)
(const uint32_t* first, const uint32_t* next, const uint32_t* tiles, uint64_t bins, uint64_t shift, const uint32_t* keys,
 const uint32_t* values, uint32_t* ends, uint32_t* out) {
  __shared__ uint32_t found, room[sort_threads / warp::size];
  PIPPIN_DYNAMIC_SHARED(shared);
  const uint32_t t = threadIdx.x, buckets = 1u << shift;
  uint32_t *const places = shared;        // of a bucket: how many there are, then its first place in the tile
  uint32_t *const to = places + buckets;  // from the place in the tile to that in memory
  uint32_t *const tile_values = to + buckets;
  uint16_t *const tile_rests = reinterpret_cast<uint16_t*>(tile_values + sort_tile);
  if (blockIdx.x >= tiles[bins]) return;
  for (uint32_t b = t; b < buckets; b += sort_threads) places[b] = 0;
  const bin_tile tile = find_tile(first, next, tiles, bins, &found);
  uint32_t ranked[per_thread];  // the bucket, then above it the rank among its entries
  load_rests(ranked, keys, tile);

  values += tile.from;
  ends += (uint64_t)tile.bin << shift;
  // Neighbours that are equal are a sign of a bucket that many entries have.
  const uint32_t equal = __ballot_sync(warp::all, ranked[0] == __shfl_up_sync(warp::all, ranked[0], 1));
  const bool agree = __popc(equal) > 4;
#pragma unroll
  for (uint32_t k = 0; k < per_thread; k++) {
    const bool valid = ranked[k] != ~0u;
    ranked[k] = (ranked[k] & 0xffff) | warp::take(places, ranked[k], valid, agree) << 16;
  }
  uint32_t mine[per_thread];
#pragma unroll
  for (uint32_t k = 0; k < per_thread; k++) {
    const uint32_t i = k * sort_threads + t;
    mine[k] = i < tile.n ? values[i] : 0;
  }
  __syncthreads();
  uint32_t before = 0;
  for (uint32_t base = 0; base < buckets; base += sort_threads) {
    const uint32_t b = base + t, count = b < buckets ? places[b] : 0;
    uint32_t sum;
    const uint32_t place = before + block::scan<sort_threads>(count, room, sum);
    if (b < buckets) {
      places[b] = place;
      to[b] = (count ? atomicAdd(&ends[b], count) : 0) - place;
    }
    before += sum;
  }
  __syncthreads();
#pragma unroll
  for (uint32_t k = 0; k < per_thread; k++) {
    const uint32_t i = k * sort_threads + t;
    if (i >= tile.n) break;
    const uint32_t b = ranked[k] & 0xffff, place = places[b] + (ranked[k] >> 16);
    tile_values[place] = mine[k];
    tile_rests[place] = (uint16_t)b;
  }
  __syncthreads();
  for (uint32_t i = t; i < tile.n; i += sort_threads) out[to[tile_rests[i]] + i] = tile_values[i];
}

}  // namespace pippin::grid
