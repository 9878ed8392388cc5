// direct.cu: an MSM of few points without buckets, from all multiples d 2^(c w) P of every
// base P, for each window w of c bits and each size d of a digit. So a digit is one addition.
// Compiled for one curve, group and law.
#include "../../warp/quads.cuh"
#include "windows.cuh"

namespace pippin::grid {

// msmplan knows direct_digits and direct_joined: the most digits of a block, and blocks whose
// sums are added up.
constexpr uint32_t direct_digits = 5120, direct_joined = warp::size;
constexpr uint32_t direct_blocks = field::words > 8 ? 3 : 4;  // of a multiprocessor, at least
constexpr uint32_t direct_threads = 128, warp_quads = warp::size / 4;
static_assert(direct_threads / 4 <= warp::size);

// In XYZZ's trees products of 12 limbs are calls: in place the code does not fit what compiled
// kernels may take (docs/adr/0011-compiled-kernels-in-git.md). In the loop calls took a third
// more time.
#if defined(PIPPIN_EDWARDS)
using direct_law = edwards_law<curve>;
using direct_quad = warp::edwards_quad<curve>;
#else
using direct_law = xyzz_law<hot_field, cold_field>;
using direct_quad = warp::xyzz_quad<std::conditional_t<(field::words > 8), cold_field, hot_field>, cold_field>;
#endif

// The sum of 1 to 32 sums by the quads of a warp: quad 0 has it. If not whole, each quad has
// the sum of every eighth of them. Every lane calls.
// Cost: (count - 1) / 8 additions and, if whole, log of min(count, 8), one after the other.
PIPPIN_CALLED direct_quad::elem sum_of(const uint32_t* from, uint32_t count, bool whole, uint32_t lane) {
  const uint32_t quad = lane / 4, rounds = (count + warp_quads - 1) / warp_quads;
  direct_quad::elem sum = direct_quad::zero(lane);
  // One loop for both, so that the code has one addition.
#pragma unroll 1
  for (uint32_t round = 0, d = !whole ? 0 : count > 4 ? 4 : count > 2 ? 2 : count / 2; round < rounds || d > 0; round++) {
    direct_quad::elem more;
    bool some;
    if (round < rounds) {
      const uint32_t i = round * warp_quads + quad;
      some = i < count;
      more = direct_quad::load(from + (some ? i : 0) * (uint64_t)direct_law::sum_words, lane);
    } else {
      some = quad < d;
      more = warp::object_from(sum, some ? lane + 4 * d : lane);
      d /= 2;
    }
    if (!some) more = direct_quad::zero(lane);
    sum = round == 0 ? more : direct_quad::add(sum, more, lane);
  }
  return sum;
}

// Stores the sum of the lane's quad.
__device__ __forceinline__ void store_quad(uint32_t* to, const direct_quad::elem& sum, uint32_t lane) {
  field::store_raw(to + lane % 4 * field::words, sum);
}

// scalars: n of them in gnark-crypto's layout, of which a block takes `each`: at most
// direct_digits digits. points: as the law has them; for window w of c bits, d 2^(c w) times
// base i is point ((w << c-1) + d-1) multiple + i. sums: room for a sum of the law a block.
// come: a word for each direct_joined blocks, ~0 before. out: a result of the law for each of
// these. bad: the least index + base of a scalar that is not below r, when check.
// Cost: a digit of direct_threads an addition of a point, and 15 additions of sums, one after
// the other.
PIPPIN_KERNEL((128, direct_blocks), direct)
(const uint32_t* scalars, uint64_t n, uint64_t each, uint64_t c, uint64_t windows, const uint32_t* points, uint64_t multiple,
 uint32_t* sums, uint32_t* come, uint32_t* out, flag check, uint32_t* bad, uint64_t base) {
  using fr = prime_field<curve::fr>;
  constexpr int N = fr::words;
  // Entries, [window][scalar], and then the sums of threads: in one place, so that blocks fit
  // beside each other.
  constexpr uint32_t sums_words = direct_threads * direct_law::sum_words;
  alignas(16) __shared__ uint32_t room[sums_words > direct_digits ? sums_words : direct_digits];
  const uint32_t t = threadIdx.x, lane = t % warp::size;

  each_digit(
      n, (uint32_t)each, digit_shape{(uint32_t)c, (uint32_t)windows, 1},
      [&](uint64_t i) {
        const mp::num<N> raw = load_words<N>(scalars + i * N);
        const static_modulus<fr::params> r;
        if (check && !carry::less<N>(raw, r)) atomicMin(bad, (uint32_t)(base + i));
        return raw;
      },
      [&](bool is, bool minus, uint32_t bucket, uint32_t w, uint32_t k) {
        const uint32_t point = ((w << (c - 1)) + bucket) * (uint32_t)multiple + blockIdx.x * (uint32_t)each + k;
        room[w * (uint32_t)each + k] = is ? point | (minus ? negative : 0) : no_index;
      });
  __syncthreads();

  uint32_t* const own = room + t * direct_law::sum_words;
  {
    direct_law::sum sum = direct_law::zero();
    uint32_t twice[direct_law::sum_words];
    // Neighbours have neighbouring scalars of a window, so that small scalars keep as few
    // warps as possible.
    const uint32_t all = (uint32_t)(each * windows);
#pragma unroll 1
    for (uint32_t e = t; e < all; e += direct_threads) {
      const uint32_t v = room[e];
      if (v == no_index) continue;
      const bool is_minus = (v & negative) != 0;
      const uint32_t* const src = points + (v & ~negative) * (uint64_t)direct_law::point_words;
      direct_law::add(sum, direct_law::neg_if(is_minus, direct_law::load(src)), [&] {
        direct_law::add_equal(twice, src, is_minus);
        sum = direct_law::load_sum(twice);
      });
    }
    __syncthreads();
    direct_law::store_sum(own, sum);
  }
  __syncwarp();

  // Each quad sums of its warp's threads; the first warp those of all quads, while the other
  // blocks of the multiprocessor have its multipliers; then that of the block which comes last
  // of direct_joined, those of these blocks.
  const auto of_quad = sum_of(own - lane * direct_law::sum_words, warp::size, false, lane);
  __syncthreads();
  store_quad(room + t / 4 * direct_law::sum_words, of_quad, lane);
  __syncthreads();
  if (t >= warp::size) return;
  const auto of_block = sum_of(room, direct_threads / 4, true, lane);
  if (lane < 4) store_quad(sums + blockIdx.x * (uint64_t)direct_law::sum_words, of_block, lane);
  __threadfence();
  __syncwarp();
  const uint32_t group = blockIdx.x / direct_joined, begin = group * direct_joined;
  const uint32_t blocks = gridDim.x - begin < direct_joined ? gridDim.x - begin : direct_joined;
  const bool is_last = lane == 0 && atomicAdd(&come[group], 1u) + 2 == blocks;
  if (__ballot_sync(warp::all, is_last) == 0) return;
  __threadfence();
  const auto joined = sum_of(sums + begin * (uint64_t)direct_law::sum_words, blocks, true, lane);
  const cold_law::sum whole = direct_quad::whole(joined, lane);
  if (lane == 0) cold_law::store_result(out + group * (uint64_t)cold_law::result_words, whole);
}

}  // namespace pippin::grid
