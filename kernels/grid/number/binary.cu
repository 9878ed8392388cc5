// binary.cu: batches of elements of GF(2^n), a thread an element. Compiled for one
// n, -DPIPPIN_BITS=128.
//
//   binary_mul       products
//   binary_sqr       squares
//   binary_inverse   inverses
//
// Elements follow one another in n/32 words each. Up to n = 512 a thread reads its
// own, 16 bytes at a time where their length allows it, and 16 bytes of several
// elements where they are shorter. From n = 1024, squares from n = 512, elements are
// staged: a warp copies those of its lanes to shared memory. Registers do not hold two
// such operands and their product.
#include "../../thread/binary.cuh"
#include "../../thread/field.cuh"
#include "../../warp/lanes.cuh"
#include "elements.cuh"

namespace pippin::grid {

// batch is what is done to elements of the field F.
template <class F>
struct batch : elements<F::bits / 32> {
  using of = elements<F::bits / 32>;
  using of::each, of::element_words, of::group_words, of::load_group, of::narrow, of::store_group, of::widen;

  // Applies op(r, a, b) to all elements, in words of 64 bits; b is null for what has
  // one operand.
  template <class Op>
  __device__ __forceinline__ static void map_groups(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n, const Op& op) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x * each;
    for (uint64_t i = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * each; i < n; i += step) {
      const mp::num<group_words> x = load_group(a, i, n), y = b ? load_group(b, i, n) : x;
      mp::num<group_words> z;
#pragma unroll
      for (uint32_t k = 0; k < each; k++) {
        uint64_t p[F::words], q[F::words];
        widen(p, x.w + k * element_words);
        widen(q, y.w + k * element_words);
        op(p, p, q);
        narrow(z.w + k * element_words, p);
      }
      store_group(r, z, i, n);
    }
  }

  // rows are a warp's elements in shared memory, one a lane; four words lie between
  // them, so that lanes that read their own meet in few banks.
  struct rows {
    static constexpr uint32_t pitch = element_words + binary_pad, words = warp::size * pitch,
                              quads = element_words < 4 ? 1 : element_words / 4;
    uint32_t* shared;
    // The row of each lane, and the rows behind these.
    __device__ __forceinline__ uint64_t* mine() const { return reinterpret_cast<uint64_t*>(shared + threadIdx.x % warp::size * pitch); }
    __device__ __forceinline__ rows next() const { return {shared + words}; }
    // Where the warp's q-th 16 bytes are: each copies those of a lane's number and
    // 32 further on, so that they are read and written in one piece.
    __device__ __forceinline__ uint32_t* at(uint32_t q) const { return shared + q / quads * pitch + q % quads * 4; }
    __device__ __forceinline__ void load(const uint32_t* memory, uint64_t lanes) const {
#pragma unroll 4
      for (uint32_t q = threadIdx.x % warp::size; q < warp::size * quads; q += warp::size) {
        if (q < lanes * quads) store_words(at(q), load_words<4>(memory + 4 * q));
      }
      __syncwarp();
    }
    __device__ __forceinline__ void store(uint32_t* memory, uint64_t lanes) const {
      __syncwarp();
#pragma unroll 4
      for (uint32_t q = threadIdx.x % warp::size; q < warp::size * quads; q += warp::size) {
        if (q < lanes * quads) store_words(memory + 4 * q, load_words<4>(at(q)));
      }
      __syncwarp();
    }
  };

  // A warp's part of the block's shared memory: `count` rows, and the elements that
  // its lanes take, `step` elements apart.
  template <class Body>
  __device__ __forceinline__ static void map_rows(uint32_t* shared, uint32_t count, uint64_t n, const Body& body) {
    const uint32_t warp = threadIdx.x / warp::size;
    for (uint64_t i = (uint64_t)blockIdx.x * binary_threads + warp * warp::size; i < n; i += (uint64_t)gridDim.x * binary_threads) {
      body(rows{shared + warp * count * rows::words}, i, n - i < warp::size ? n - i : warp::size);
    }
  }

  // r[i] = a[i] b[i].
  __device__ __forceinline__ static void mul(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n, uint32_t* shared) {
    if constexpr (F::bits < binary_staged) {
      map_groups(a, b, r, n, [](uint64_t* z, const uint64_t* x, const uint64_t* y) { F::mul(z, x, y); });
    } else {
      map_rows(shared, 2, n, [&](const rows& x, uint64_t i, uint64_t lanes) {
        const rows y = x.next();
        x.load(a + i * element_words, lanes);
        y.load(b + i * element_words, lanes);
        F::mul_in_memory(x.mine(), y.mine());
        x.store(r + i * element_words, lanes);
      });
    }
  }

  // r[i] = a[i]^2. A thread that reads its own elements of n >= binary_squares meets
  // others' in the cache and waits for memory; staged they come in one piece.
  __device__ __forceinline__ static void sqr(const uint32_t* a, uint32_t* r, uint64_t n, uint32_t* shared) {
    if constexpr (F::bits < binary_squares) {
      map_groups(a, nullptr, r, n, [](uint64_t* z, const uint64_t* x, const uint64_t*) { F::sqr(z, x); });
    } else {
      map_rows(shared, 1, n, [&](const rows& x, uint64_t i, uint64_t lanes) {
        x.load(a + i * element_words, lanes);
        F::sqr_in_memory(x.mine());
        x.store(r + i * element_words, lanes);
      });
    }
  }

  // r[i] = 1/a[i], and 0 for 0.
  __device__ __forceinline__ static void inverse(const uint32_t* a, uint32_t* r, uint64_t n, uint32_t* shared) {
    constexpr int words = F::words;
    if constexpr (F::bits < binary_staged) {
      map_groups(a, nullptr, r, n, [](uint64_t* c, const uint64_t*, const uint64_t*) {
        gf2::inverse_in_registers<words>(F{}, F::bits, c);
      });
    } else {
      map_rows(shared, 3, n, [&](const rows& x, uint64_t i, uint64_t lanes) {
        x.load(a + i * element_words, lanes);
        const uint64_t* const by = x.mine();
        uint64_t *const c = x.next().mine(), *const was = x.next().next().mine();
#pragma unroll
        for (int k = 0; k < words; k++) c[k] = by[k];
        const auto square = [&](uint32_t squares) {
          uint64_t z[words];
#pragma unroll
          for (int k = 0; k < words; k++) z[k] = c[k];
#pragma unroll 1
          for (uint32_t k = 0; k < squares; k++) F::sqr(z, z);
#pragma unroll
          for (int k = 0; k < words; k++) c[k] = z[k];
        };
        gf2::inverse(
            F::bits,
            [&](bool by_x, uint32_t squares) {
#pragma unroll
              for (int k = 0; k < words; k++) was[k] = by_x ? by[k] : c[k];
              square(squares);
              F::mul_in_memory(c, was);
            },
            square);
        x.next().store(r + i * element_words, lanes);
      });
    }
  }
};

using field = gf2::field<PIPPIN_BITS>;
using all_of = batch<field>;

// r[i] = a[i] b[i], i < n; r may be a or b. Staged, a warp has two rows of shared
// memory.
PIPPIN_KERNEL_SHARED((128), binary_mul)(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n) {
  PIPPIN_DYNAMIC_SHARED(shared);
  all_of::mul(a, b, r, n, shared);
}

// r[i] = a[i]^2; r may be a. Staged, from n = binary_squares on, a warp has one row.
PIPPIN_KERNEL_SHARED((128), binary_sqr)(const uint32_t* a, uint32_t* r, uint64_t n) {
  PIPPIN_DYNAMIC_SHARED(shared);
  all_of::sqr(a, r, n, shared);
}

// r[i] = 1/a[i], and 0 for 0; r may be a. Staged, a warp has three rows.
PIPPIN_KERNEL_SHARED((128), binary_inverse)(const uint32_t* a, uint32_t* r, uint64_t n) {
  PIPPIN_DYNAMIC_SHARED(shared);
  all_of::inverse(a, r, n, shared);
}

}  // namespace pippin::grid
