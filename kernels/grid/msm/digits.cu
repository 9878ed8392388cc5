// digits.cu: scalars to signed digits, or to digits modulo six units, and their entries to
// bins. Compiled for one curve.
//
//   bins_count     how many entries of each tile belong to each bin
//   bins_scatter   puts a tile's entries in the order of their bins in shared memory
//                  and writes them out, so that neighbours of one bin are written
//                  together
//
// A tile is the digits of `each` scalars. Both kernels make signed digits from the scalars: to
// read 32 bytes a second time is less than to write and read a word for every digit. Digits
// modulo six units take longer to make, and are kept.
#include "../../block/scan.cuh"
#include "../../warp/counters.cuh"
#if defined(PIPPIN_UNITS)
#include "units.cuh"
#else
#include "windows.cuh"
#endif

namespace pippin::grid {

#if defined(PIPPIN_UNITS)
using digits = unit_digits;
#else
// Signed digits of c bits: what stands for one in its tile is its bucket.
struct digits {
  __device__ __forceinline__ static uint32_t bucket(uint32_t digit) { return digit; }
  __device__ __forceinline__ static uint32_t value(uint32_t point, uint32_t) { return point; }
  template <class Raw, class F>
  __device__ __forceinline__ static void first(uint64_t n, uint32_t each, digit_shape shape, const Raw& raw, uint32_t*, const F& f) {
    each_digit(n, each, shape, raw, f);
  }
  template <class Raw, class F>
  __device__ __forceinline__ static void again(uint64_t n, uint32_t each, digit_shape shape, const Raw& raw, const uint32_t*, const F& f) {
    each_digit(n, each, shape, raw, f);
  }
};
#endif

constexpr uint32_t bins_threads = 1024;  // of a block of bins_scatter

// The bins that the block's MSM has entries in: from `first` on, of 2^shift buckets
// each. Its own buckets begin at `buckets`, counted over all MSMs.
struct bin_range {
  uint32_t buckets, first, shift;
  __device__ __forceinline__ bin_range(digit_shape shape, uint64_t shift)
      : buckets(blockIdx.y * (shape.sets << (shape.c - 1))), first(buckets >> shift), shift((uint32_t)shift) {}
  __device__ __forceinline__ uint32_t of(uint32_t bucket) const { return ((buckets + bucket) >> shift) - first; }
};

constexpr uint32_t minus = 0x8000;  // in an entry of a tile: the point's negative

// scalars: n of them in gnark-crypto's layout for each MSM, one MSM's after the
// other's: row y of the grid is an MSM, column x a tile. counts: [MSM][tile][bins].
// totals: [bin of all MSMs], zero before. bad: [MSM], the least index + base of a scalar
// that is not below r, when check. made: the digits, if they are kept. Shared memory: a word a bin.
PIPPIN_KERNEL_SHARED((512), bins_count)
(const uint32_t* scalars, uint64_t n, uint64_t c, uint64_t windows, uint64_t sets, uint64_t each, uint64_t shift, uint64_t bins,
 uint32_t* counts, uint32_t* totals, flag check, uint32_t* bad, uint64_t base, uint32_t* made) {
  constexpr int N = prime_field<curve::fr>::words;
  PIPPIN_DYNAMIC_SHARED(seen);
  const digit_shape shape = {(uint32_t)c, (uint32_t)windows, (uint32_t)sets};
  const bin_range range(shape, shift);
  scalars += blockIdx.y * n * N;
  for (uint32_t b = threadIdx.x; b < bins; b += blockDim.x) seen[b] = 0;
  __syncthreads();
  digits::first(
      n, (uint32_t)each, shape,
      [&](uint64_t i) {
        const mp::num<N> raw = load_words<N>(scalars + i * N);
        const static_modulus<prime_field<curve::fr>::params> r;
        if (check && !carry::less<N>(raw, r)) atomicMin(bad + blockIdx.y, (uint32_t)(base + i));
        return raw;
      },
      made,
      [&](bool is, bool, uint32_t digit, uint32_t, uint32_t) {
        if (is) atomicAdd(&seen[range.of(digits::bucket(digit))], 1u);
      });
  __syncthreads();
  counts += ((uint64_t)blockIdx.y * gridDim.x + blockIdx.x) * bins;
  for (uint32_t b = threadIdx.x; b < bins; b += blockDim.x) {
    const uint32_t v = seen[b];
    counts[b] = v;
    if (v) atomicAdd(&totals[range.first + b], v);
  }
}

// counts: as bins_count left them. next: [bin of all MSMs] where the bin's next entry
// goes. values: the point that an entry stands for, with its sign: scalar i in row k is
// point k * multiple + i, three times that and the power of w where digits have units. keys:
// halves of words, the entry's bucket in its bin; none where a bin is one bucket. made: as
// bins_count left them; where it did, scalars are not read. Shared memory: two words a bin, a
// word and a half a digit.
PIPPIN_KERNEL_SHARED((1024), bins_scatter)
(const uint32_t* scalars, uint64_t n, uint64_t c, uint64_t windows, uint64_t sets, uint64_t each, uint64_t shift, uint64_t bins,
 const uint32_t* counts, uint32_t* next, uint64_t multiple, uint32_t* values, uint32_t* keys, const uint32_t* made) {
  constexpr int N = prime_field<curve::fr>::words;
  __shared__ uint32_t room[bins_threads / warp::size], skewed;
  PIPPIN_DYNAMIC_SHARED(shared);
  uint32_t *const places = shared;                   // of a bin: where its next entry goes in the tile
  uint32_t *const to = places + bins;                // from the place in the tile to that in memory
  uint32_t *const tile_digits = to + bins;
  // row * each + the scalar's place in the tile, and the sign
  uint16_t *const tile_entries = reinterpret_cast<uint16_t*>(tile_digits + each * windows);
  const digit_shape shape = {(uint32_t)c, (uint32_t)windows, (uint32_t)sets};
  const bin_range range(shape, shift);
  const uint32_t t = threadIdx.x;
  scalars += blockIdx.y * n * N;
  counts += ((uint64_t)blockIdx.y * gridDim.x + blockIdx.x) * bins;

  if (t == 0) skewed = 0;
  uint32_t total = 0;
  for (uint32_t base = 0; base < bins; base += bins_threads) {
    const uint32_t b = base + t, count = b < bins ? counts[b] : 0;
    uint32_t sum;
    const uint32_t place = total + block::scan<bins_threads>(count, room, sum);
    if (b < bins) {
      places[b] = place;
      to[b] = (count ? atomicAdd(&next[range.first + b], count) : 0) - place;
      if (count > each * windows / 16) skewed = 1;
    }
    total += sum;
  }
  __syncthreads();
  const bool agree = skewed != 0;
  const auto put = [&](bool is, bool negated, uint32_t digit, uint32_t row, uint32_t k) {
    const uint32_t place = warp::take(places, range.of(digits::bucket(digit)), is, agree);
    if (!is) return;
    tile_entries[place] = (uint16_t)(row * (uint32_t)each + k + (negated ? minus : 0));
    tile_digits[place] = digit;
  };
  digits::again(n, (uint32_t)each, shape, [&](uint64_t i) { return load_words<N>(scalars + i * N); }, made, put);
  __syncthreads();
  uint16_t* const rests = reinterpret_cast<uint16_t*>(keys);
  const uint32_t inverse = 0xffffffffu / (uint32_t)each + 1;  // of 2^32: exact for halves of words
  for (uint32_t i = t; i < total; i += bins_threads) {
    const uint32_t digit = tile_digits[i], bucket = digits::bucket(digit), entry = tile_entries[i], at = to[range.of(bucket)] + i;
    const uint32_t index = entry & ~minus, row = (uint32_t)((uint64_t)index * inverse >> 32);
    const uint32_t point = (uint32_t)(row * multiple + (index - row * (uint32_t)each) + (uint64_t)blockIdx.x * each);
    values[at] = digits::value(point, digit) | (entry & minus ? negative : 0);
    if (rests) rests[at] = (uint16_t)((range.buckets + bucket) & ((1u << shift) - 1));
  }
}

}  // namespace pippin::grid
