// long.cu: sums and differences of numbers of any lengths, in one pass.
//
//   long_rows       where the numbers of a batch end, for numbers of several lengths
//   long_add        the sums
//
// A batch is one stream of words. A carry goes from each word to the next, but
// for those that end a number: there it is an answer, and the next word begins
// anew. A difference is the sum a + ~b with a carry into every number.
//
//   lane     4 words: does it generate a carry, does it hand one on?
//   row      32 lanes: two ballots, then one addition carries through all
//   block    16 warps of 4 rows: the same once more
//   tiles    each publishes what it knows of its carry; one whose words are all
//            handing on looks back, 32 tiles at a time, for the nearest that knows
//
// Source: seed 003; look-back from Merrill and Garland 2016, here for a state of
// two bits, so that the flag is the payload and nothing needs a fence.
#include "../../thread/ptx.cuh"
#include "../../warp/lookahead.cuh"
#include "layout.cuh"

namespace pippin::grid {

// ends_of says where numbers end: all after `words` words or, when that is 0, by
// tables of long_rows.
struct ends_of {
  uint64_t words;
  const uint32_t* ends;
  const uint32_t* ranks;
};

// quad is what a lane has of a row: four words of each operand, a bit for each
// that ends a number, and the number that the first of them belongs to.
struct quad {
  uint32_t a[4], b[4], ends, number;
};

// Adds a quad with the carry `in`; returns the carry that leaves it. first is the
// carry into a number. With Write the sum replaces a, and what leaves numbers goes to
// carries: a carry, or with first = 1 a borrow.
template <bool Write>
__device__ __forceinline__ uint32_t add_quad(quad& q, uint32_t in, uint32_t first, uint32_t& ones, uint32_t* carries) {
  uint32_t c = in, number = q.number;
  ones = 0xffffffffu;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const uint64_t s = (uint64_t)q.a[j] + q.b[j] + c;
    c = ptx::hi32(s);
    ones &= ptx::lo32(s);
    if (Write) q.a[j] = ptx::lo32(s);
    if (q.ends >> j & 1) {
      if (Write) carries[number] = c ^ first;
      number++;
      c = first;
    }
  }
  return c;
}

// The words at..at+3 of a stream of n, with zeros behind it.
__device__ __forceinline__ void load_quad(uint32_t* w, const uint32_t* src, uint64_t at, uint64_t n) {
  if (at + 4 <= n) {
#if defined(__CUDA_ARCH__)
    const uint4 v = __ldcs(reinterpret_cast<const uint4*>(src + at));
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
#else
    for (int j = 0; j < 4; j++) w[j] = src[at + j];
#endif
  } else {
    for (int j = 0; j < 4; j++) w[j] = at + j < n ? src[at + j] : 0;
  }
}
__device__ __forceinline__ void store_quad(uint32_t* dst, const uint32_t* w, uint64_t at, uint64_t n) {
  if (at + 4 <= n) {
#if defined(__CUDA_ARCH__)
    __stcs(reinterpret_cast<uint4*>(dst + at), uint4{w[0], w[1], w[2], w[3]});
#else
    for (int j = 0; j < 4; j++) dst[at + j] = w[j];
#endif
  } else {
    for (int j = 0; j < 4; j++) {
      if (at + j < n) dst[at + j] = w[j];
    }
  }
}

// The numbers of a tile's rows for one lane: first is its first word of the first
// row, from which the number and the place in it are known by one division.
__device__ __forceinline__ void find_ends(quad* q, const ends_of& e, uint64_t first, uint64_t n) {
  const uint32_t lane = threadIdx.x % warp::size;
  if (e.words == 0) {
#pragma unroll
    for (uint32_t r = 0; r < long_rows_each; r++) {
      const uint64_t row = first / long_row + r;
      q[r].ends = 0;
      if (row * long_row >= n) continue;
      const uint32_t* masks = e.ends + row * (long_row / 32);
      const uint32_t mine = lane / 8, at = lane % 8 * 4;
      const uint32_t w = masks[mine];
      uint32_t before = __popc(w & ((1u << at) - 1));
      for (uint32_t k = 0; k < mine; k++) before += __popc(masks[k]);
      q[r].number = e.ranks[row] + before;
      q[r].ends = w >> at & 15;
    }
    return;
  }
  const uint64_t number = first / e.words, place = first - number * e.words;
#pragma unroll
  for (uint32_t r = 0; r < long_rows_each; r++) {
    const uint64_t beyond = place + r * long_row;  // from the beginning of `number`
    uint64_t whole = 0;
    if (beyond >= e.words) whole = e.words > long_tile ? 1 : (uint32_t)beyond / (uint32_t)e.words;
    uint64_t left = e.words - (beyond - whole * e.words);
    q[r].number = (uint32_t)(number + whole);
    q[r].ends = 0;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      if (--left != 0) continue;
      if (first + r * long_row + j < n) q[r].ends |= 1u << j;
      left = e.words;
    }
  }
}

// Returns what the tiles before `tile` send into it; before the stream is a tile that has
// `first` leave it. A warp calls, and all lanes get the answer. The nearest tile mostly
// knows: only it is asked at first, and the others where it hands on. One lane asks it,
// since its state may change between the reads of two lanes, which must go the same way.
template <class States>
__device__ __forceinline__ uint32_t look_back(const States& states, uint64_t tile, uint32_t first) {
  const uint32_t lane = threadIdx.x % warp::size;
  if (tile > 0) {
    uint32_t nearest = tile_open;
    if (lane == 0) {
      do nearest = states[tile - 1];
      while (nearest == tile_open);
    }
    nearest = __shfl_sync(warp::all, nearest, 0);
    if (nearest != tile_hands_on) return nearest == tile_carries;
  }
  for (uint64_t below = tile;;) {
    const uint32_t state = lane < below ? states[below - 1 - lane] : tile_stops + first;
    const uint32_t open = __ballot_sync(warp::all, state == tile_open);
    const uint32_t carries = __ballot_sync(warp::all, state == tile_carries);
    const uint32_t known = carries | __ballot_sync(warp::all, state == tile_stops);
    const uint32_t nearest = known & (0u - known);
    if (known != 0 && (open & (nearest - 1)) == 0) return (carries & nearest) != 0;
    if ((known | open) == 0) below -= warp::size;
  }
}

// r = a + b, or a - b, of numbers that lie one after the other in n words, each of
// `length`, or as the tables say when that is 0; r may be a or b. carries gets what
// leaves each. states is a word for each tile, all zero but for tiles before `begin`,
// which have been added.
PIPPIN_KERNEL((512, 2), long_add)
(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n, uint64_t length, const uint32_t* ends, const uint32_t* ranks, flag subtract,
 uint32_t* carries, uint32_t* states, uint64_t begin) {
  constexpr uint32_t warps = long_threads / warp::size;
  __shared__ uint32_t shared_in, generates[warps], hands_on[warps];
  const uint32_t lane = threadIdx.x % warp::size, warp = threadIdx.x / warp::size, first = subtract != 0;
  // Blocks begin in the order of their numbers, so that those before are under way.
  const uint64_t tile = begin + blockIdx.x;
  const uint64_t from = tile * long_tile + warp * (long_rows_each * long_row) + lane * 4;
  volatile uint32_t* const tiles = states;

  quad q[long_rows_each];
#pragma unroll
  for (uint32_t k = 0; k < long_rows_each; k++) {
    load_quad(q[k].a, a, from + k * long_row, n);
    load_quad(q[k].b, b, from + k * long_row, n);
  }
  find_ends(q, {length, ends, ranks}, from, n);

  uint32_t g[long_rows_each], p[long_rows_each], g_warp = 0;
  bool p_warp = true;
#pragma unroll
  for (uint32_t k = 0; k < long_rows_each; k++) {
    if (subtract) {
#pragma unroll
      for (int j = 0; j < 4; j++) q[k].b[j] = ~q[k].b[j];
    }
    uint32_t ones;
    const uint32_t c = add_quad<false>(q[k], 0, first, ones, nullptr);
    g[k] = __ballot_sync(warp::all, c != 0);
    p[k] = __ballot_sync(warp::all, q[k].ends == 0 && ones == 0xffffffffu);
    warp::carries_into(g[k], p[k], g_warp, g_warp);
    p_warp = p_warp && p[k] == warp::all;
  }
  if (lane == 0) {
    generates[warp] = g_warp;
    hands_on[warp] = p_warp;
  }
  __syncthreads();
  const uint32_t g_tile = __ballot_sync(warp::all, lane < warps && generates[lane % warps] != 0);
  const uint32_t p_tile = __ballot_sync(warp::all, lane < warps && hands_on[lane % warps] != 0);
  if (warp == 0) {
    // The carry out of all warps is what enters the place behind the last.
    uint32_t unused;
    const bool all = p_tile == (1u << warps) - 1;
    const uint32_t out = warp::carries_into(g_tile, p_tile, 0, unused) >> warps & 1;
    if (lane == 0) tiles[tile] = all ? tile_hands_on : out ? tile_carries : tile_stops;
    const uint32_t in = look_back(tiles, tile, first);
    if (lane == 0) {
      if (all) tiles[tile] = in ? tile_carries : tile_stops;
      shared_in = in;
    }
  }
  __syncthreads();
  uint32_t unused;
  uint32_t in = warp::carries_into(g_tile, p_tile, shared_in, unused) >> warp & 1;
#pragma unroll
  for (uint32_t k = 0; k < long_rows_each; k++) {
    const uint32_t into = warp::carries_into(g[k], p[k], in, in);
    uint32_t ones;
    add_quad<true>(q[k], into >> lane & 1, first, ones, carries);
    store_quad(r, q[k].a, from + k * long_row, n);
  }
}

// The tables of long_add: bounds has, in 64 bits each, the words up to the end of
// each of count numbers, none of which is empty; n is the last of them. A thread
// makes a row's: four words of bits, and the number that its first word belongs to.
PIPPIN_KERNEL((128), long_rows)(const uint32_t* bounds, uint64_t count, uint64_t n, uint32_t* ends, uint32_t* ranks) {
  const uint64_t* const ends_at = reinterpret_cast<const uint64_t*>(bounds);
  const uint64_t row = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, from = row * long_row;
  if (from >= n) return;
  uint64_t low = 0, high = count - 1;  // the first number that ends behind `from`
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (ends_at[middle] > from) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  ranks[row] = (uint32_t)low;
#pragma unroll
  for (uint32_t k = 0; k < long_row / 32; k++) {
    const uint64_t base = from + 32 * k;
    uint32_t mask = 0;
    for (; low < count && ends_at[low] <= base + 32; low++) mask |= 1u << (ends_at[low] - 1 - base);
    ends[row * (long_row / 32) + k] = mask;
  }
}

}  // namespace pippin::grid
