// Kernels in the place of bins_count and bins_scatter, for digits modulo six units: the same
// tiles, bins and memory. A value is 3 (the point's number) + the unit's power, and its sign.
#pragma once
#include "grid/msm/digits.cu"
#include "windows.cuh"

namespace pippin::grid {

struct six_bins {
  uint32_t shift;
  __device__ __forceinline__ uint32_t of(uint32_t bucket) const { return bucket >> shift; }
};

template <int Log>
__global__ void __launch_bounds__(512) six_count(const uint32_t* scalars, uint64_t n, const __grid_constant__ six_shape shape, uint64_t each,
                                                 uint64_t shift, uint64_t bins, uint32_t* counts, uint32_t* totals, flag check, uint32_t* bad) {
  PIPPIN_DYNAMIC_SHARED(six_seen);
  const six_bins range = {(uint32_t)shift};
  for (uint32_t b = threadIdx.x; b < bins; b += blockDim.x) six_seen[b] = 0;
  __syncthreads();
  each_six<Log>(
      n, (uint32_t)each, shape,
      [&](uint64_t i) {
        const mp::num<8> raw = load_words<8>(scalars + i * 8);
        const static_modulus<prime_field<curve::fr>::params> r;
        if (check && !carry::less<8>(raw, r)) atomicMin(bad, (uint32_t)i);
        return raw;
      },
      [&](bool is, bool, uint32_t, uint32_t bucket, uint32_t, uint32_t) {
        if (is) atomicAdd(&six_seen[range.of(bucket)], 1u);
      });
  __syncthreads();
  counts += (uint64_t)blockIdx.x * bins;
  for (uint32_t b = threadIdx.x; b < bins; b += blockDim.x) {
    const uint32_t v = six_seen[b];
    counts[b] = v;
    if (v) atomicAdd(&totals[b], v);
  }
}

template <int Log>
__global__ void __launch_bounds__(1024) six_scatter(const uint32_t* scalars, uint64_t n, const __grid_constant__ six_shape shape, uint64_t each,
                                                    uint64_t shift, uint64_t bins, const uint32_t* counts, uint32_t* next, uint64_t multiple,
                                                    uint32_t* values, uint32_t* keys) {
  __shared__ uint32_t room[bins_threads / warp::size], skewed;
  PIPPIN_DYNAMIC_SHARED(six_shared);
  uint32_t *const places = six_shared, *const to = places + bins, *const tile_buckets = to + bins;
  uint16_t* const tile_entries = reinterpret_cast<uint16_t*>(tile_buckets + each * shape.of.windows);
  const six_bins range = {(uint32_t)shift};
  const uint32_t t = threadIdx.x;
  counts += (uint64_t)blockIdx.x * bins;
  if (t == 0) skewed = 0;
  uint32_t total = 0;
  for (uint32_t base = 0; base < bins; base += bins_threads) {
    const uint32_t b = base + t, count = b < bins ? counts[b] : 0;
    uint32_t sum;
    const uint32_t place = total + block::scan<bins_threads>(count, room, sum);
    if (b < bins) {
      places[b] = place;
      to[b] = (count ? atomicAdd(&next[b], count) : 0) - place;
      if (count > each * shape.of.windows / 16) skewed = 1;
    }
    total += sum;
  }
  __syncthreads();
  const bool agree = skewed != 0;
  each_six<Log>(
      n, (uint32_t)each, shape, [&](uint64_t i) { return load_words<8>(scalars + i * 8); },
      [&](bool is, bool negated, uint32_t power, uint32_t bucket, uint32_t row, uint32_t k) {
        const uint32_t place = warp::take(places, range.of(bucket), is, agree);
        if (!is) return;
        tile_entries[place] = (uint16_t)(row * (uint32_t)each + k + (negated ? minus : 0));
        tile_buckets[place] = bucket | power << 30;
      });
  __syncthreads();
  uint16_t* const rests = reinterpret_cast<uint16_t*>(keys);
  const uint32_t inverse = 0xffffffffu / (uint32_t)each + 1;
  for (uint32_t i = t; i < total; i += bins_threads) {
    const uint32_t word = tile_buckets[i], bucket = word & 0x3fffffff, entry = tile_entries[i], at = to[range.of(bucket)] + i;
    const uint32_t index = entry & ~minus, row = (uint32_t)((uint64_t)index * inverse >> 32);
    const uint32_t point = (uint32_t)(row * multiple + (index - row * (uint32_t)each) + (uint64_t)blockIdx.x * each);
    values[at] = (3 * point + (word >> 30)) | (entry & minus ? negative : 0);
    rests[at] = (uint16_t)(bucket & ((1u << shift) - 1));
  }
}

}  // namespace pippin::grid
