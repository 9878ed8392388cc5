// scan.cu: kernels in which elements depend on those before them, or on all.
// Compiled for one curve's scalar field.
//
//   products_reduce, products_scan   running products
//   divide_reduce, divide_scan       a polynomial by X - z: running values
//   evaluate                         polynomials at z
//   invert                           batches of inverses
//
// A scan is: each tile to one element, these scanned in the same way, and each
// tile scanned from what is before it. Answers do not depend on the order in which
// blocks run.
//
//   elements     |  tile 0  |  tile 1  |  tile 2  |
//   reduce            r0         r1         r2
//   scan of these     1          r0        r0 r1        (exclusive)
//   scan         |1 x0 ..   |r0 x ..   |r0 r1 x ..|
#include "field.cuh"

namespace pippin::grid {

constexpr uint32_t scan_tile = 1u << log_scan_tile, scan_each = scan_tile / scan_threads;

// Products, as a block's join and as what takes one more element.
template <Field F>
struct product {
  using elem = typename F::elem;
  PIPPIN_HD static elem identity() { return F::one(); }
  __device__ __forceinline__ elem take(const elem& x, const elem& next) const { return F::mul(x, next); }
  __device__ __forceinline__ elem join(const elem& low, const elem& high, uint32_t) const { return F::mul(low, high); }
};

// Values of polynomials at z, highest coefficients first: x becomes step x + next.
// table has what weighs the low side of a join: step^m where 2^k threads have m
// elements.
template <Field F>
struct horner {
  using elem = typename F::elem;
  elem step;
  const uint32_t* table;
  PIPPIN_HD static elem identity() { return F::zero(); }
  __device__ __forceinline__ elem take(const elem& x, const elem& next) const { return F::add(F::mul(x, step), next); }
  __device__ __forceinline__ elem join(const elem& low, const elem& high, uint32_t k) const {
    return F::add(F::mul(low, F::load(table + k * F::words)), high);
  }
};

namespace places {

// positions are n places, the first being position 0 or, backwards, the last one.
struct positions {
  uint64_t n;
  bool backwards;
  PIPPIN_HD uint64_t place(uint64_t j) const { return backwards ? n - 1 - j : j; }
};

}  // namespace places

// Makes one element of what a thread takes: scan_each elements that follow one another,
// fewer where the n of `at` end.
template <Field F, class Op>
__device__ __forceinline__ typename F::elem taken(const Op& op, const uint32_t* in, const places::positions& at) {
  const uint64_t first = (uint64_t)blockIdx.x * scan_tile + threadIdx.x * scan_each;
  const uint64_t end = first + scan_each < at.n ? first + scan_each : at.n;
  typename F::elem x = Op::identity();
  if (first >= end) return x;
  typename F::elem next = F::load(in + at.place(first) * F::words);
#pragma unroll 1
  for (uint64_t j = first; j < end; j++) {
    const typename F::elem element = next;  // the one after it is on its way while this is taken
    if (j + 1 < end) next = F::load(in + at.place(j + 1) * F::words);
    x = op.take(x, element);
  }
  return x;
}

// Makes one element of a block's tile, and keeps what each thread made in parts, which
// has scan_threads elements for each tile. A tile with fewer elements than others gets
// something: it is the last, which nobody needs.
template <Field F, class Op>
__device__ __forceinline__ void reduce_tile(const Op& op, const uint32_t* in, const places::positions& at,
                                            uint32_t* parts, uint32_t* out, uint32_t* shared) {
  typename F::elem x = taken<F>(op, in, at);
  F::store(parts + ((uint64_t)blockIdx.x * scan_threads + threadIdx.x) * F::words, x);
  x = block::fold<scan_threads>(x, block::elements<F, scan_threads>{shared}, op);
  if (threadIdx.x == 0) F::store(out + blockIdx.x * F::words, x);
}

// A block's tile scanned: position j gets what it and those before it make, or
// those before it alone when exclusive; what is before tile b is before[b] unless
// before is null. all, unless it is null, gets what all n make. Backwards, the
// first position gets nothing. in and out may be the same. parts has what reduce_tile
// kept; null: nobody reduced.
template <Field F, class Op>
__device__ __forceinline__ void scan_tile_of(const Op& op, const uint32_t* in, uint32_t* out,
                                             const places::positions& at, const uint32_t* parts,
                                             const uint32_t* before, bool exclusive, uint32_t* all, uint32_t* shared) {
  const uint64_t first = (uint64_t)blockIdx.x * scan_tile + threadIdx.x * scan_each;
  const uint64_t end = first + scan_each < at.n ? first + scan_each : at.n;
  typename F::elem x;
  if (parts) {
    x = F::load(parts + ((uint64_t)blockIdx.x * scan_threads + threadIdx.x) * F::words);
  } else {
    x = taken<F>(op, in, at);
  }
  const typename F::elem start = before ? F::load(before + blockIdx.x * F::words) : Op::identity();
  x = block::scan<scan_threads>(x, start, block::elements<F, scan_threads>{shared}, op);
  if (first >= end) return;
  typename F::elem next = F::load(in + at.place(first) * F::words);
#pragma unroll 1
  for (uint64_t j = first; j < end; j++) {
    const typename F::elem element = next;
    if (j + 1 < end) next = F::load(in + at.place(j + 1) * F::words);
    const typename F::elem with = op.take(x, element);
    if (!at.backwards || j > 0) F::store(out + at.place(j) * F::words, F::select(exclusive, x, with));
    if (all && j == at.n - 1) F::store(all, with);
    x = with;
  }
}

// out[b] = the product of tile b of n elements; see reduce_tile.
PIPPIN_KERNEL((128), products_reduce)(const uint32_t* in, uint64_t n, uint32_t* parts, uint32_t* out) {
  alignas(16) __shared__ uint32_t shared[block::elements<field, scan_threads>::words];
  reduce_tile<field>(product<field>{}, in, places::positions{n, false}, parts, out, shared);
}

// out[i] = in[0] .. in[i], or in[i-1] when exclusive; see scan_tile_of.
PIPPIN_KERNEL((128), products_scan)
(const uint32_t* in, uint32_t* out, uint64_t n, const uint32_t* parts, const uint32_t* before, flag exclusive, uint32_t* all) {
  alignas(16) __shared__ uint32_t shared[block::elements<field, scan_threads>::words];
  scan_tile_of<field>(product<field>{}, in, out, places::positions{n, false}, parts, before, exclusive, all, shared);
}

// out[b] = the value of tile b at z: positions are coefficients, the highest
// first; backwards, position j is place n-1-j. powers begins with z.
PIPPIN_KERNEL((128), divide_reduce)(const uint32_t* in, uint64_t n, flag backwards, const uint32_t* powers,
                                    uint32_t* parts, uint32_t* out) {
  alignas(16) __shared__ uint32_t shared[block::elements<field, scan_threads>::words];
  const horner<field> op = {field::load(powers), powers + block::log2(scan_each) * words};
  reduce_tile<field>(op, in, places::positions{n, backwards != 0}, parts, out, shared);
}

// Exclusively: position j gets the value at z of the positions before it, which is
// a coefficient of the quotient by X - z; all gets the value, the remainder.
PIPPIN_KERNEL((128), divide_scan)
(const uint32_t* in, uint32_t* out, uint64_t n, flag backwards, const uint32_t* powers, const uint32_t* parts,
 const uint32_t* before, uint32_t* all) {
  alignas(16) __shared__ uint32_t shared[block::elements<field, scan_threads>::words];
  const horner<field> op = {field::load(powers), powers + block::log2(scan_each) * words};
  scan_tile_of<field>(op, in, out, places::positions{n, backwards != 0}, parts, before, true, all, shared);
}

// Sums of threads' values, each bit of their number weighing.
template <Field F>
struct weighted {
  using elem = typename F::elem;
  const uint32_t* powers;
  uint32_t log, turned;  // turned: bit k is worth what bit log-1-k is
  __device__ __forceinline__ elem join(const elem& low, const elem& high, uint32_t k) const {
    const uint32_t weight = !turned ? k : k < log ? log - 1 - k : 0;  // beyond log there are zeros only
    return F::add(low, F::mul(high, F::load(powers + weight * F::words)));
  }
};

// out[y 2^log_blocks + b] = what block b of 2^log_blocks contributes to the value of
// item y: the sum over its threads' elements. Thread g of an item's 2^log_threads
// takes the elements g, g + 2^log_threads, .. by Horner's rule; the sum over b of
// z^(128 b) out[b], or what weighs in reversed order, is the value.
PIPPIN_KERNEL((128), evaluate)(const uint32_t* items, const uint32_t* table, uint64_t log_blocks, flag turned, uint32_t* out) {
  alignas(16) __shared__ uint32_t shared[block::elements<field, scan_threads>::words];
  const item v = reinterpret_cast<const item*>(items)[blockIdx.y];
  const uint32_t log_threads = block::log2(scan_threads) + (uint32_t)log_blocks;
  const uint32_t* powers = table + v.powers * words;
  const uint64_t g = (uint64_t)blockIdx.x * scan_threads + threadIdx.x;
  const uint32_t levels = turned && v.log > log_threads ? v.log - log_threads : 0;
  const field::elem step = field::load(powers + (turned ? 0 : log_threads) * words);
  field::elem x = field::zero();
#pragma unroll 1
  for (uint64_t s = g < v.count ? ((v.count - 1 - g) >> log_threads) + 1 : 0; s-- > 0;) {
    const uint64_t row = turned ? ptx::reversed((uint32_t)s, levels) : s;
    x = field::add(field::mul(x, step), field::load(v.src + (g + (row << log_threads)) * words));
  }
  x = block::fold<scan_threads>(x, block::elements<field, scan_threads>{shared}, weighted<field>{powers, v.log, turned != 0});
  if (threadIdx.x == 0) field::store(out + (((uint64_t)blockIdx.y << log_blocks) + blockIdx.x) * words, x);
}

// out[i] = 1/in[i], or 0 for 0. in and out may be the same. A block's threads
// multiply up `each` elements each, one warp has all products inverted, in lanes of
// four, and they go back: three products an element, and one inversion's time for
// 128 each of them. before has room for n elements, what a thread's product was when it
// came to each: it may be out where that is not in, and never in.
PIPPIN_KERNEL((128), invert)(const uint32_t* in, uint32_t* out, uint32_t* before, uint64_t n, uint64_t each) {
  constexpr uint32_t lanes = warp::size;
  using one_each = block::elements<field, scan_threads>;
  alignas(16) __shared__ uint32_t shared[2 * one_each::words];
  const one_each products = {shared}, below = {shared + one_each::words};
  const uint32_t t = threadIdx.x;
  const uint64_t tile = scan_threads * each;
  const auto read = [&](const uint32_t* from, uint64_t i) { return field::load(from + i * words); };
  for (uint64_t first = (uint64_t)blockIdx.x * tile; first < n; first += (uint64_t)gridDim.x * tile) {
    const uint64_t end = first + tile < n ? first + tile : n;
    field::elem x = field::one(), next = x;
    uint64_t i = first + t;
    if (i < end) next = read(in, i);
#pragma unroll 1
    for (; i < end; i += scan_threads) {
      const field::elem y = field::select(field::is_zero(next), field::one(), next);
      if (i + scan_threads < end) next = read(in, i + scan_threads);
      field::store(before + i * words, x);
      x = field::mul(x, y);
    }
    products.put(t, x);
    __syncthreads();
    if (t < lanes) {
      x = field::one();
#pragma unroll 1
      for (uint32_t k = t; k < scan_threads; k += lanes) {
        below.put(k, x);
        x = field::mul(x, products.get(k));
      }
      x = field::inv(x);
#pragma unroll 1
      for (uint32_t k = scan_threads + t; k >= lanes;) {
        k -= lanes;
        const field::elem y = products.get(k);
        products.put(k, field::mul(x, below.get(k)));
        x = field::mul(x, y);
      }
    }
    __syncthreads();
    x = products.get(t);
    field::elem below_it = x;
    if (i > first + t) {
      next = read(in, i - scan_threads);
      below_it = read(before, i - scan_threads);
    }
#pragma unroll 1
    while (i > first + t) {
      i -= scan_threads;
      const bool zero = field::is_zero(next);
      const field::elem y = field::select(zero, field::one(), next), p = below_it;
      if (i > first + t) {
        next = read(in, i - scan_threads);
        below_it = read(before, i - scan_threads);
      }
      field::store(out + i * words, field::select(zero, field::zero(), field::mul(x, p)));
      x = field::mul(x, y);
    }
    __syncthreads();
  }
}

}  // namespace pippin::grid
