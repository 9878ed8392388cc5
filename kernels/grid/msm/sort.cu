// sort.cu: a stable radix sort of entries by key, least significant digit
// first, up to eight bits a pass (mask says how many: the fewer, the longer the
// pieces that are written together), all sets in one launch.
//
// A pass is three kernels over tiles of 4096 entries:
//
//   sort_count    counts[set][digit][tile]: how often a digit is in a tile
//   sort_scan     the same place: how often it is in the tiles before;
//                 totals[set][digit]: in all
//   sort_scatter  puts a tile in order in shared memory and writes it out, so
//                 that neighbours with one digit are written together
//
// The first pass reads what the phase digits wrote: a signed digit for every
// position of a set, whose key is |digit|-1 and whose value is made here from
// the position. Zero digits are dropped, so that live[set], the number of
// entries that remain, is known after it. No step depends on how often a key
// occurs: equal digits of a warp are counted together, not one by one.
#include "../../block/scan.cuh"
#include "layout.cuh"

namespace pippin::grid {

constexpr uint32_t radix = sort_radix, tile = sort_tile;
constexpr uint32_t sort_threads = radix, per_thread = tile / sort_threads;
constexpr uint32_t sort_warps = sort_threads / warp::size;
static_assert(warp::size == warp_threads && sort_threads * per_thread == tile);

// A key and whether the position holds an entry at all.
struct slot_key {
  uint32_t key;
  bool valid;
};

__device__ __forceinline__ slot_key read_key(const uint32_t* in, uint64_t i, uint64_t n, bool first) {
  if (i >= n) return {0, false};
  const uint32_t raw = in[i];
  if (!first) return {raw, true};
  const int32_t d = (int32_t)raw;
  return {(uint32_t)(d < 0 ? -d : d) - 1, d != 0};
}

// in: [set][stride] digits (first) or keys. live: [set] entries, or null: n.
// counts: [set][256][tiles]. Block x is the tile.
PIPPIN_KERNEL((256), sort_count)
(const uint32_t* in, const uint32_t* live, uint64_t n, uint64_t stride, uint64_t shift, uint64_t mask, flag first,
 uint32_t* counts, uint64_t tiles) {
  __shared__ uint32_t seen[radix];
  const uint64_t set = blockIdx.y, at = blockIdx.x;
  if (live) n = live[set];
  seen[threadIdx.x] = 0;
  __syncthreads();
  if (at * tile < n) {
    in += set * stride;
    const uint32_t lane = threadIdx.x % warp::size;
    for (uint32_t k = 0; k < per_thread; k++) {
      const slot_key e = read_key(in, at * tile + k * sort_threads + threadIdx.x, n, first != 0);
      const uint32_t digit = e.valid ? e.key >> (uint32_t)shift & (uint32_t)mask : radix;
      // One addition for the lanes that agree with lane 0, as they all do where
      // one key is frequent.
      const uint32_t lead = __shfl_sync(warp::all, digit, 0);
      const uint32_t same = __ballot_sync(warp::all, digit == lead);
      if (digit == lead) {
        if (lane == 0 && lead < radix) atomicAdd(&seen[lead], (uint32_t)__popc(same));
      } else if (digit < radix) {
        atomicAdd(&seen[digit], 1u);
      }
    }
  }
  __syncthreads();
  counts[(set * radix + threadIdx.x) * tiles + at] = seen[threadIdx.x];
}

// A warp a digit. totals: [set][256].
PIPPIN_KERNEL((256), sort_scan)(uint32_t* counts, uint32_t* totals, uint64_t tiles) {
  constexpr uint32_t each = 8;
  const uint32_t lane = threadIdx.x % warp::size;
  const uint64_t digit = (uint64_t)blockIdx.x * sort_warps + threadIdx.x / warp::size;
  counts += (blockIdx.y * radix + digit) * tiles;
  uint32_t before = 0;
  for (uint64_t base = 0; base < tiles; base += each * warp::size) {
    const uint64_t i = base + (uint64_t)each * lane;
    uint32_t v[each], sum = 0, total;
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
      v[k] = i + k < tiles ? counts[i + k] : 0;
      sum += v[k];
    }
    uint32_t s = before + warp::scan(sum, lane, total);
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
      if (i + k < tiles) counts[i + k] = s;
      s += v[k];
    }
    before += total;
  }
  if (lane == 0) totals[blockIdx.y * radix + digit] = before;
}

// Values of the first pass: position p of a set is the point p % points, in its
// multiple p / points, which is at (p / points) * multiple. live_out: [set].
PIPPIN_KERNEL((256, 4), sort_scatter)
(const uint32_t* in, const uint32_t* values_in, const uint32_t* live, uint64_t n, uint64_t stride,
 uint64_t shift, uint64_t mask, flag first, const uint32_t* counts, const uint32_t* totals, uint64_t tiles,
 uint32_t* keys_out, uint32_t* values_out, uint32_t* live_out, uint64_t points, uint64_t multiple) {
  __shared__ uint32_t keys[tile], values[tile];
  __shared__ uint32_t before[sort_warps][radix];  // of a warp: its rank among the tile's equal digits
  __shared__ uint32_t start[radix];               // of a digit in the tile
  __shared__ uint32_t shift_to[radix];            // from the place in the tile to that in the set
  __shared__ uint32_t room[sort_warps];
  const uint32_t t = threadIdx.x, lane = t % warp::size, warp = t / warp::size;
  const uint64_t set = blockIdx.y, at = blockIdx.x;
  if (live) n = live[set];
  if (at > 0 && at * tile >= n) return;
  in += set * stride;
  if (values_in) values_in += set * stride;
  keys_out += set * stride;
  values_out += set * stride;

  for (uint32_t w = 0; w < sort_warps; w++) before[w][t] = 0;
  __syncthreads();

  // A warp takes 512 consecutive entries, 32 at a time, in order. Their ranks
  // are kept, two to a register, and their keys read again later: this kernel
  // lives on how many warps there are.
  uint32_t ranks[per_thread / 2] = {};
  const uint64_t base = at * tile + warp * (warp::size * per_thread) + lane;
#pragma unroll
  for (uint32_t k = 0; k < per_thread; k++) {
    const slot_key e = read_key(in, base + k * warp::size, n, first != 0);
    const uint32_t digit = e.key >> (uint32_t)shift & (uint32_t)mask;
    const uint32_t peers = warp::agreeing<sort_bits>(digit, e.valid);
    const uint32_t ahead = __popc(peers & ((1u << lane) - 1));
    const uint32_t sofar = e.valid ? before[warp][digit] : 0;
    __syncwarp();
    if (e.valid && ahead == 0) before[warp][digit] = sofar + __popc(peers);
    __syncwarp();
    ranks[k / 2] |= (sofar + ahead) << 16 * (k % 2);
  }
  __syncthreads();

  // Thread t is digit t.
  uint32_t here = 0;
  for (uint32_t w = 0; w < sort_warps; w++) {
    const uint32_t c = before[w][t];
    before[w][t] = here;
    here += c;
  }
  uint32_t in_tile, in_set;
  const uint32_t tile_start = block::scan<sort_threads>(here, room, in_tile);
  const uint32_t set_start = block::scan<sort_threads>(totals[set * radix + t], room, in_set);
  start[t] = tile_start;
  shift_to[t] = set_start + counts[(set * radix + t) * tiles + at] - tile_start;
  if (live_out && at == 0 && t == 0) live_out[set] = in_set;
  __syncthreads();

#pragma unroll
  for (uint32_t k = 0; k < per_thread; k++) {
    const uint64_t i = base + k * warp::size;
    const slot_key e = read_key(in, i, n, first != 0);
    if (!e.valid) continue;
    const uint32_t digit = e.key >> (uint32_t)shift & (uint32_t)mask;
    uint32_t value;
    if (first) {
      uint64_t point = i;
      if (i >= points) point = (uint32_t)i / (uint32_t)points * multiple + (uint32_t)i % (uint32_t)points;
      value = (uint32_t)point | ((int32_t)in[i] < 0 ? negative : 0);
    } else {
      value = values_in[i];
    }
    const uint32_t place = start[digit] + before[warp][digit] + (ranks[k / 2] >> 16 * (k % 2) & 0xffff);
    keys[place] = e.key;
    values[place] = value;
  }
  __syncthreads();
  for (uint32_t i = t; i < in_tile; i += sort_threads) {
    const uint32_t k = keys[i], to = shift_to[k >> (uint32_t)shift & (uint32_t)mask] + i;
    keys_out[to] = k;
    values_out[to] = values[i];
  }
}

}  // namespace pippin::grid
