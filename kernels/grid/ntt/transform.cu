// transform.cu: the passes of a number-theoretic transform. Compiled for one
// curve's scalar field.
//
//   rows      the table of rows
//   forward   one pass from natural order towards reversed
//   inverse   one pass back
//
// A block has a tile of 2^10 elements in 2^log_columns columns: element m of
// column c is at place (m 2^log_columns + c) of the tile, and `stride` = n /
// 2^(level+bits) apart in memory, columns being neighbours there. In the last
// pass stride is 1: the tile is neighbours, whole nodes one after the other.
//
//   in a step a thread's 8 elements differ in three bits of their place:
//
//        node .. node | k k k | low .. low | column .. column
//        (levels done)  (step)
//
// A step costs, per 8 elements, 7 products for t^k and 4 inside; the first one
// of a transform, whose t is 1, only those inside.
//
// Source: the order of Cooley and Tukey with twiddles that depend on the node
// alone, so that they are few in the first passes; the 4 products are Winograd's.
#include "dft.cuh"
#include "layout.cuh"

#define PIPPIN_QUOTE(x) #x
#define PIPPIN_HEADER(c) PIPPIN_QUOTE(../../curves/c.cuh)
#include PIPPIN_HEADER(PIPPIN_CURVE)
#include PIPPIN_HEADER(PIPPIN_ROOTS)

namespace pippin::grid {

using field = curves::PIPPIN_CURVE::fr;
using roots = curves::PIPPIN_ROOTS;
using element = dft::loose<field>;
constexpr int words = field::limbs;
constexpr uint32_t tile = 1u << log_tile;
static_assert(tile_threads == 128);

// Blocks of a multiprocessor, of 128 and 168 registers a thread.
constexpr int blocks_each = words > 8 ? 3 : 4;

// The place of shared memory where 16 bytes of an element are: lanes whose
// elements are 1, 8 or more apart meet no bank twice.
PIPPIN_HD uint32_t* quad(uint32_t* shared, uint32_t place, int q) {
  return shared + 4 * (q * tile + (place ^ (place >> 3 & 7)));
}

PIPPIN_HD element take(uint32_t* shared, uint32_t place) {
  element x;
  PIPPIN_UNROLL
  for (int q = 0; q < words / 4; q++) {
    const mp::num<4> w = load_words<4>(quad(shared, place, q));
    PIPPIN_UNROLL
    for (int i = 0; i < 4; i++) x.v[4 * q + i] = w[i];
  }
  return x;
}

PIPPIN_HD void put(uint32_t* shared, uint32_t place, const element& x) {
  PIPPIN_UNROLL
  for (int q = 0; q < words / 4; q++) {
    store_words(quad(shared, place, q), mp::num<4>{x.v[4 * q], x.v[4 * q + 1], x.v[4 * q + 2], x.v[4 * q + 3]});
  }
}

// The places of a thread's elements: k goes into three bits from `at` on.
PIPPIN_HD uint32_t spread(uint32_t k, uint32_t at) {
  return threadIdx.x >> at << (at + log_each) | k << at | (threadIdx.x & ((1u << at) - 1));
}

// geometry is where a block's tile is in memory.
struct geometry {
  uint64_t first;  // of the tile, in elements
  uint32_t node;   // of its first column or element, at `level`
  uint32_t level, bits, log_stride;

  PIPPIN_HD geometry(uint64_t log_n, uint64_t level, uint64_t bits)
      : level((uint32_t)level), bits((uint32_t)bits), log_stride((uint32_t)(log_n - level - bits)) {
    const uint64_t block = blockIdx.x;
    if (last()) {
      first = block << log_tile;
      node = (uint32_t)(first >> bits);
    } else {
      const uint32_t log_groups = log_stride - log_columns();  // blocks that share a node
      node = (uint32_t)(block >> log_groups);
      first = (block >> log_groups << (bits + log_stride)) + ((block & ((1ull << log_groups) - 1)) << log_columns());
    }
    node &= (1u << level) - 1;  // transforms of a batch follow each other
  }
  PIPPIN_HD bool last() const { return log_stride == 0; }
  PIPPIN_HD uint32_t log_columns() const { return last() ? 0 : log_tile - bits; }
  // Where an element of the tile is.
  PIPPIN_HD uint64_t at(uint32_t place) const {
    return first + ((uint64_t)(place >> log_columns()) << log_stride) + (place & ((1u << log_columns()) - 1));
  }
  // The node of a step that begins s levels into the pass.
  PIPPIN_HD uint32_t node_of(uint32_t place, uint32_t s) const {
    const uint32_t m = place >> log_columns();
    const uint32_t above = last() ? (node + (m >> bits)) & ((1u << level) - 1) : node;
    return above << s | ((m >> (bits - s)) & ((1u << s) - 1));
  }
};

// The rows of a node: one, or for nodes beyond the table two to be multiplied.
struct twiddles {
  const uint32_t *rows, *high;
  uint64_t log_rows;
};

// x_k by t^k; t^2 and t^4 are what steps of fewer levels need.
template <int Levels>
PIPPIN_HD void twist(element* x, const twiddles& t, uint32_t node) {
  constexpr int same = 8 >> Levels;  // elements with one factor
  constexpr uint64_t row = row_elements * words;
  const uint32_t* from = t.rows + (node & ((1u << t.log_rows) - 1)) * row;
  const uint32_t above = node >> t.log_rows;
#pragma unroll 1
  for (;;) {
    PIPPIN_UNROLL
    for (int k = 1; k < 1 << Levels; k++) {
      const fe<field, 1> f = {load_words<words>(from + k * same * words)};
      PIPPIN_UNROLL
      for (int i = 0; i < same; i++) x[k * same + i] = dft::loosen<field>(dft::product<field>(x[k * same + i], f));
    }
    const uint32_t* next = t.high + above * row;
    if (above == 0 || from == next) return;
    from = next;
  }
}

// The first `levels` bits of k at the end of a number of three bits instead.
PIPPIN_HD uint32_t turned(uint32_t k, uint32_t levels) {
  return (k & ((1u << (log_each - levels)) - 1)) << levels | k >> (log_each - levels);
}

// The element that a thread's k-th is of a pass's first step: of transforms of 2
// and 4 elements a thread has several.
PIPPIN_HD uint32_t first_place(const geometry& g, uint32_t k) {
  return g.bits < log_each ? spread(turned(k, g.bits), 0) : spread(k, g.log_columns() + g.bits - log_each);
}

template <int Levels>
PIPPIN_HD void butterflies(element* x) {
  if constexpr (Levels == 3) {
    dft::eight<field, roots>(x);
  } else if constexpr (Levels == 2) {
    dft::four<field, roots>(x[0], x[2], x[4], x[6]);
    dft::four<field, roots>(x[1], x[3], x[5], x[7]);
  } else {
    PIPPIN_UNROLL
    for (int k = 0; k < 4; k++) dft::two<field>(x[k], x[k + 4]);
  }
}

// Row r: t^0 .. t^7 of node r << shift, and of a node that would be at an angle
// of 1/8 in the place after the last. A thread a row.
PIPPIN_KERNEL((128), rows)
(uint32_t* rows, uint64_t count, uint64_t shift) {
  const uint64_t r = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (r > count) return;
  // 2^28 times the angle of t: the bits of 8 node, reversed.
  uint64_t angle = 0;
  for (uint32_t i = 0; i < most_log_n; i++) angle |= ((r << shift << log_each) >> i & 1) << (most_log_n - 1 - i);
  if (r == count) angle = 1u << (most_log_n - 3);
  using F = prime_field<field>;
  F::elem base = {dft::detail::constant<field>([](int i) { return roots::root(i); }).v}, t = F::one();
  PIPPIN_LOOP
  for (uint32_t i = 0; i < most_log_n; i++) {
    if (angle >> i & 1) t = F::mul(t, base);
    base = F::sqr(base);
  }
  F::elem power = F::one();
  PIPPIN_LOOP
  for (uint32_t k = 0; k < row_elements; k++) {
    F::store(rows + (r * row_elements + k) * words, power);
    power = F::mul(power, t);
  }
}

// One pass: levels level .. level + bits of all transforms of a batch, `all`
// elements together. in and out may be the same. rows has 2^log_rows rows and one,
// high those of the nodes k << log_rows; high is read for larger nodes only.
PIPPIN_KERNEL((128, blocks_each), forward)
(const uint32_t* in, uint32_t* out, uint64_t all, uint64_t log_n, uint64_t level, uint64_t bits, const uint32_t* rows,
 uint64_t log_rows, const uint32_t* high) {
  alignas(16) __shared__ uint32_t shared[tile * words];
  const geometry g(log_n, level, bits);
  const twiddles t = {rows, high, log_rows};
  element x[8];
  PIPPIN_UNROLL
  for (uint32_t k = 0; k < 8; k++) {
    const uint64_t i = g.at(first_place(g, k));
    x[k] = i < all ? element{load_words<words>(in + i * words)} : element{mp::zero<words>()};
  }
  uint32_t s = bits % log_each;
  if (s > 0) {
    const uint32_t node = g.node_of(first_place(g, 0), 0);
    if (s == 2) {
      if (level > 0) twist<2>(x, t, node);
      butterflies<2>(x);
    } else {
      if (level > 0) twist<1>(x, t, node);
      butterflies<1>(x);
    }
    PIPPIN_UNROLL
    for (uint32_t k = 0; k < 8; k++) put(shared, first_place(g, k), x[k]);
  }
#pragma unroll 1
  for (; s < bits; s += log_each) {
    const uint32_t at = g.log_columns() + (uint32_t)bits - s - log_each;
    if (s > 0) {
      __syncthreads();
      PIPPIN_UNROLL
      for (uint32_t k = 0; k < 8; k++) x[k] = take(shared, spread(k, at));
    }
    if (level + s > 0) twist<3>(x, t, g.node_of(spread(0, at), s));
    butterflies<3>(x);
    PIPPIN_UNROLL
    for (uint32_t k = 0; k < 8; k++) put(shared, spread(k, at), x[k]);
  }
  __syncthreads();
  PIPPIN_UNROLL
  for (uint32_t k = 0; k < 8; k++) {
    const uint32_t place = spread(k, log_tile - log_each);
    const uint64_t i = g.at(place);
    const element y = take(shared, place);
    if (i < all) store_words(out + i * words, g.last() ? reduce<1>(y).v : y.v);
  }
}

// The place of n, in reversed order,, that holds X_(j-1) when p holds X_j.
PIPPIN_HD constexpr int before(int p, int n) {
  auto reversed = [n](int v) {
    int r = 0;
    for (int bit = 1, top = n / 2; bit < n; bit *= 2, top /= 2) r |= v & bit ? top : 0;
    return r;
  };
  return reversed((reversed(p) + n - 1) % n);
}

// Which of its elements a thread takes as the k-th for a step back: see
// step_back. The first step of a transform takes them in order.
template <int Levels>
PIPPIN_HD uint32_t taken(int k, bool first) {
  constexpr int n = 1 << Levels, same = 8 >> Levels;
  return first ? (uint32_t)k : (uint32_t)(before(k / same, n) * same + k % same);
}

// A step back: butterflies, and x_k by t^-k, which is 1 in the first step of a
// transform. t^-1 = v / w, where v is the t of the mirrored node (an angle a below
// 1/8 becomes 1/8 - a; for a number its bits below the highest one inverted; the
// row after the last for node 0), so that one table serves both ways: a transform
// of X_(j-1) instead of X_j, which is what `taken` makes of it, has w^-k in it.
template <int Levels>
PIPPIN_HD void step_back(element* x, const twiddles& t, uint32_t node, bool first) {
  if constexpr (Levels == 3) {
    dft::eight_inverse<field, roots>(x);
  } else if constexpr (Levels == 2) {
    dft::four_inverse<field, roots>(x[0], x[2], x[4], x[6]);
    dft::four_inverse<field, roots>(x[1], x[3], x[5], x[7]);
  } else {
    PIPPIN_UNROLL
    for (int k = 0; k < 4; k++) dft::two<field>(x[k], x[k + 4]);
  }
  if (first) return;
  uint32_t below = node >> 1;
  PIPPIN_UNROLL
  for (int i = 1; i < 32; i *= 2) below |= below >> i;
  const twiddles from = {t.rows + (node == 0 ? (row_elements << t.log_rows) * words : 0), t.high, t.log_rows};
  twist<Levels>(x, from, node ^ below);
}

// The way back of forward: the passes in the opposite order. At the end of the
// last one, level 0, elements are multiplied by *scale, such as 1/n, unless it
// is null.
PIPPIN_KERNEL((128, blocks_each), inverse)
(const uint32_t* in, uint32_t* out, uint64_t all, uint64_t log_n, uint64_t level, uint64_t bits, const uint32_t* rows,
 uint64_t log_rows, const uint32_t* high, const uint32_t* scale) {
  alignas(16) __shared__ uint32_t shared[tile * words];
  const geometry g(log_n, level, bits);
  const twiddles t = {rows, high, log_rows};
  element x[8];
  PIPPIN_UNROLL
  for (uint32_t k = 0; k < 8; k++) {
    const uint32_t place = spread(k, log_tile - log_each);
    const uint64_t i = g.at(place);
    put(shared, place, i < all ? element{load_words<words>(in + i * words)} : element{mp::zero<words>()});
  }
  const uint32_t rest = bits % log_each;  // levels of the first step, done last
#pragma unroll 1
  for (uint32_t s = (uint32_t)bits; s > rest;) {
    s -= log_each;
    const uint32_t at = g.log_columns() + (uint32_t)bits - s - log_each;
    __syncthreads();
    PIPPIN_UNROLL
    for (int k = 0; k < 8; k++) x[k] = take(shared, spread(taken<3>(k, level + s == 0), at));
    step_back<3>(x, t, g.node_of(spread(0, at), s), level + s == 0);
    if (s == 0) break;  // x is what it is to be
    PIPPIN_UNROLL
    for (uint32_t k = 0; k < 8; k++) put(shared, spread(k, at), x[k]);
  }
  if (rest > 0) __syncthreads();
  if (rest == 2) {
    PIPPIN_UNROLL
    for (int k = 0; k < 8; k++) x[k] = take(shared, first_place(g, taken<2>(k, level == 0)));
    step_back<2>(x, t, g.node_of(first_place(g, 0), 0), level == 0);
  } else if (rest == 1) {
    PIPPIN_UNROLL
    for (int k = 0; k < 8; k++) x[k] = take(shared, first_place(g, taken<1>(k, level == 0)));
    step_back<1>(x, t, g.node_of(first_place(g, 0), 0), level == 0);
  }
  if (scale != nullptr && level == 0) {
    const fe<field, 1> f = {load_words<words>(scale)};
    PIPPIN_UNROLL
    for (int k = 0; k < 8; k++) x[k] = dft::loosen<field>(dft::product<field>(x[k], f));
  }
  PIPPIN_UNROLL
  for (uint32_t k = 0; k < 8; k++) {
    const uint64_t i = g.at(first_place(g, k));
    if (i < all) store_words(out + i * words, level == 0 ? reduce<1>(x[k]).v : x[k].v);
  }
}

}  // namespace pippin::grid
