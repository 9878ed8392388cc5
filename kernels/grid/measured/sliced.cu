// sliced.cu: products in GF(2^n) by the method of seed 001, 32 of them a warp, bit by
// bit, to be measured beside binary_mul. Compiled for one n, -DPIPPIN_BITS=128.
//
//   sliced_registers   operands are read from other lanes' registers (section 7);
//                      from n = 512 on parts of them, of which products
//                      are summed in shared memory (section 8)
//   sliced_shared      from shared memory (section 6.2, listing 2)
//
// Elements follow one another as in binary.cu; a lane loads and stores one, and the
// warp turns 32 words of one place into rows and back.
#include "../../thread/binary.cuh"
#include "../../thread/field.cuh"
#include "../../warp/sliced.cuh"
#include "../number/layout.cuh"

namespace pippin::grid {

// sliced is the field GF(2^Bits), W rows a lane.
template <int Bits>
struct sliced {
  static constexpr int W = Bits / 32, most = sliced_most / 32;
  static constexpr int k3 = gf2::sparse<Bits>::k[0], k2 = gf2::sparse<Bits>::k[1], k1 = gf2::sparse<Bits>::k[2];

  // For every 32 elements that a warp takes: body(the first one's number, whether this
  // lane has one).
  template <class Body>
  __device__ __forceinline__ static void map(uint64_t n, const Body& body) {
    const uint64_t warps = (uint64_t)gridDim.x * (blockDim.x / warp::size);
    for (uint64_t c = (uint64_t)blockIdx.x * (blockDim.x / warp::size) + threadIdx.x / warp::size; c * warp::size < n; c += warps) {
      const uint64_t mine = c * warp::size + threadIdx.x % warp::size;
      body(mine, mine < n);
    }
  }

  // All in registers.
  __device__ __forceinline__ static void narrow(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n) {
    const uint32_t lane = threadIdx.x % warp::size;
    map(n, [&](uint64_t mine, bool there) {
      const auto load = [&](const uint32_t* src) {
        mp::num<W> x = mp::zero<W>();
        if (there) x = load_words<W>(src + mine * W);
#pragma unroll
        for (int w = 0; w < W; w++) x[w] = warp::transposed(x[w], lane);
        return x;
      };
      mp::num<W> x = load(a);
      const mp::num<W> y = load(b);
      mp::num<2 * W> c;
      warp::sliced_product<W>(c.w, x.w, y.w, lane);
      warp::sliced_reduce<W, k3, k2, k1>(x.w, c.w, lane);
#pragma unroll
      for (int w = 0; w < W; w++) x[w] = warp::transposed(x[w], lane);
      if (there) store_words(r + mine * W, x);
    });
  }

  // What a warp has in shared memory: rows of both operands, and of the product.
  struct rows {
    uint32_t *a, *b, *c;
    __device__ __forceinline__ explicit rows(uint32_t* shared)
        : a(shared + threadIdx.x / warp::size * (4 * Bits)), b(a + Bits), c(b + Bits) {}
  };

  // The same with rows in shared memory and multiply(rows), which writes the product.
  template <class Multiply>
  __device__ __forceinline__ static void staged(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n,
                                                uint32_t* shared, const Multiply& multiply) {
    const uint32_t lane = threadIdx.x % warp::size;
    const rows s(shared);
    map(n, [&](uint64_t mine, bool there) {
#pragma unroll 4
      for (int w = 0; w < W; w++) {
        s.a[32 * w + lane] = warp::transposed(there ? a[mine * W + w] : 0, lane);
        s.b[32 * w + lane] = warp::transposed(there ? b[mine * W + w] : 0, lane);
      }
      __syncwarp();
      multiply(s);
      __syncwarp();
      constexpr int k[3] = {k3, k2, k1};
      const int row = (int)lane;
      uint32_t overflow = 0;
#pragma unroll
      for (int j = 0; j < 3; j++) overflow ^= row < k[j] ? s.c[2 * Bits - k[j] + row] : 0;
      __syncwarp();
      s.c[Bits + row] ^= overflow;
      __syncwarp();
#pragma unroll 4
      for (int w = 0; w < W; w++) {
        const int at = 32 * w + row;
        uint32_t x = s.c[at] ^ s.c[Bits + at];
#pragma unroll
        for (int j = 0; j < 3; j++) x ^= at >= k[j] ? s.c[Bits + at - k[j]] : 0;
        x = warp::transposed(x, lane);
        if (there) r[mine * W + w] = x;
      }
      __syncwarp();
    });
  }

  // Products of `most` rows in registers; a lane's rows of the product are its own.
  __device__ __forceinline__ static void in_parts(const rows& s) {
    constexpr int P = W < most ? W : most;
    const uint32_t lane = threadIdx.x % warp::size;
#pragma unroll 1
    for (int w = 0; w < 2 * W; w++) s.c[32 * w + lane] = 0;
#pragma unroll 1
    for (int part = 0; part < W / P * (W / P); part++) {
      const uint32_t *const x = s.a + 32 * P * (part / (W / P)) + lane, *const y = s.b + 32 * P * (part % (W / P)) + lane;
      uint32_t* const z = s.c + 32 * P * (part / (W / P) + part % (W / P)) + lane;
      uint32_t a[P], b[P], c[2 * P];
#pragma unroll
      for (int w = 0; w < P; w++) a[w] = x[32 * w], b[w] = y[32 * w];
      warp::sliced_product<P>(c, a, b, lane);
#pragma unroll
      for (int w = 0; w < 2 * P; w++) z[32 * w] ^= c[w];
    }
  }

  // A lane's pairs of rows k and k + n, one after the other; nothing is kept.
  __device__ __forceinline__ static void in_pairs(const rows& s) {
#pragma unroll 1
    for (uint32_t k = threadIdx.x % warp::size; k < Bits; k += warp::size) {
      uint32_t sum = 0, low = 0;
#pragma unroll 16
      for (uint32_t i = 0; i < Bits; i++) {
        const uint32_t j = k >= i ? k - i : k + Bits - i;
        sum ^= s.a[i] & s.b[j];
        low = i == k ? sum : low;
      }
      s.c[k] = low;
      s.c[k + Bits] = sum ^ low;
    }
  }
};

using sliced_here = sliced<PIPPIN_BITS>;

// r[i] = a[i] b[i], i < n, where r overlaps neither. Dynamic shared memory above n =
// sliced_most: 16 n bytes a warp.
PIPPIN_KERNEL_SHARED((128), sliced_registers)(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n) {
  PIPPIN_DYNAMIC_SHARED(shared);
  if constexpr (PIPPIN_BITS <= sliced_most) {
    sliced_here::narrow(a, b, r, n);
  } else {
    sliced_here::staged(a, b, r, n, shared, [](const sliced_here::rows& s) { sliced_here::in_parts(s); });
  }
}

// The same from shared memory, 16 n bytes a warp for every n.
PIPPIN_KERNEL_SHARED((128), sliced_shared)(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n) {
  PIPPIN_DYNAMIC_SHARED(shared);
  sliced_here::staged(a, b, r, n, shared, [](const sliced_here::rows& s) { sliced_here::in_pairs(s); });
}

}  // namespace pippin::grid
