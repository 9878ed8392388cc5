// affine: a trial, not shipped. Additions a second of two loops over sorted entries of
// random points: XYZZ, a thread a task, as accumulate.cu has it; and affine sums of
// buckets, whose additions share one inversion a block and step.
//
//   nvcc -std=c++20 -O3 -arch=sm_90 -cudart static -o affine affine.cu && ./affine
//
// Tasks have one length and lie one after the other. A block of the affine loop takes
// 128 K tasks at a time and keeps an affine sum of each in memory. A step adds one
// entry to every sum:
//
//   there     each thread multiplies up the K denominators x - sum.x
//   inverse   one warp multiplies the threads' products up by four, inverts 32, goes back
//   back      each thread takes its inverses apart and finishes K additions
//
// Points have random coordinates: the chord through two points is the same rational
// function on every curve, and so each sum is compared with the XYZZ loop's.
// Equal x are counted, and their sums are wrong: a real loop puts them on a list.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../curves/bls12_381.cuh"
#include "../curves/bn254.cuh"
#include "../thread/curve.cuh"
#include "../thread/outlined.cuh"

#define CHECK(call)                                                             \
  do {                                                                          \
    const cudaError_t e = (call);                                               \
    if (e != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));           \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

namespace pippin::trial {

constexpr uint32_t threads = 128;  // of a block

__host__ __device__ inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Fills points with numbers below 2^(bits - 1) in Montgomery form, and values with indices.
template <class F>
__global__ void fill(uint32_t* points, uint64_t n, uint32_t* values, uint64_t entries) {
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x, first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (uint64_t i = first; i < n * 2; i += step) {
    for (int w = 0; w < F::words; w++) {
      const uint32_t r = (uint32_t)mix(i * F::words + w + 1);
      points[i * F::words + w] = w == F::words - 1 ? r >> 8 : r;
    }
  }
  for (uint64_t i = first; i < entries; i += step) values[i] = (uint32_t)(mix(i + (1ull << 40)) % n);
}

template <class F>
__global__ void __launch_bounds__(threads) by_xyzz(const uint32_t* points, const uint32_t* values, uint32_t length,
                                                   uint64_t tasks, uint32_t* out) {
  const uint64_t t = (uint64_t)blockIdx.x * threads + threadIdx.x;
  if (t >= tasks) return;
  values += t * length;
  xyzz<F> sum = xyzz_infinity<F>();
  uint32_t next = values[0];
#pragma unroll 1
  for (uint32_t i = 0; i < length; i++) {
    const uint32_t v = next;
    if (i + 1 < length) next = values[i + 1];
    add_to(sum, load_affine<F>(points + (uint64_t)v * 2 * F::words), [] {});
  }
  store_xyzz_raw(out + t * 4 * F::words, sum);
}

// An element in memory whose pieces of 16 bytes are `threads` apart: lanes have neighbours.
template <class F>
__device__ __forceinline__ typename F::elem get(const uint4* from) {
  uint4 w[F::words / 4];
#pragma unroll
  for (int i = 0; i < F::words / 4; i++) w[i] = from[i * threads];
  typename F::elem e;
  __builtin_memcpy(&e, w, sizeof(w));
  return e;
}
template <class F>
__device__ __forceinline__ void put(uint4* to, const typename F::elem& e) {
  uint4 w[F::words / 4];
  __builtin_memcpy(w, &e, sizeof(w));
#pragma unroll
  for (int i = 0; i < F::words / 4; i++) to[i * threads] = w[i];
}

template <class F>
PIPPIN_CALLED typename F::elem inverse_of(const typename F::elem& a) { return F::inv(a); }

// x[j], 4 products of different threads, become their inverses. Cost: 9M + I.
template <class F>
__device__ __forceinline__ void invert(uint4* shared, uint32_t lane) {
  using elem = typename F::elem;
  uint4* const at = shared + lane;
  const elem ab = F::mul(get<F>(at), get<F>(at + 32)), cd = F::mul(get<F>(at + 64), get<F>(at + 96));
  const elem all = inverse_of<F>(F::mul(ab, cd)), to_ab = F::mul(all, cd), to_cd = F::mul(all, ab);
  elem a = get<F>(at), b = get<F>(at + 32);
  put<F>(at, F::mul(to_ab, b));
  put<F>(at + 32, F::mul(to_ab, a));
  a = get<F>(at + 64), b = get<F>(at + 96);
  put<F>(at + 64, F::mul(to_cd, b));
  put<F>(at + 96, F::mul(to_cd, a));
}

// Blocks are those of a multiprocessor, at least. room: of a block, K (sum x, sum y, product before) in pieces. Sums go to out, x then y.
template <class F, uint32_t K, uint32_t Blocks>
__global__ void __launch_bounds__(threads, Blocks)
by_affine(const uint32_t* points, const uint32_t* values, uint32_t length, uint64_t groups, uint4* room, uint32_t* next,
          uint32_t* out, uint32_t* special) {
  using elem = typename F::elem;
  constexpr uint32_t pieces = F::words / 4;
  __shared__ uint4 products[pieces * threads];
  __shared__ uint32_t group;
  const uint32_t t = threadIdx.x, inverter = blockIdx.x / (gridDim.x / Blocks) % (threads / 32);
  uint4* const mine = room + (uint64_t)blockIdx.x * 3 * K * pieces * threads + t;
  const auto sum_x = [&](uint32_t k) { return mine + (3 * k) * pieces * threads; };
  const auto sum_y = [&](uint32_t k) { return mine + (3 * k + 1) * pieces * threads; };
  const auto before = [&](uint32_t k) { return mine + (3 * k + 2) * pieces * threads; };
  for (;;) {
    if (t == 0) group = atomicAdd(next, 1u);
    __syncthreads();
    const uint64_t g = group;
    __syncthreads();
    if (g >= groups) return;
    const uint64_t task = g * K * threads + t;  // and those threads apart
    const auto point = [&](uint32_t k, uint32_t i) {
      return points + (uint64_t)values[(task + k * threads) * length + i] * 2 * F::words;
    };
#pragma unroll 1
    for (uint32_t k = 0; k < K; k++) {
      const uint32_t* const p = point(k, 0);
      put<F>(sum_x(k), F::load_raw(p));
      put<F>(sum_y(k), F::load_raw(p + F::words));
    }
#pragma unroll 1
    for (uint32_t i = 1; i < length; i++) {
      elem rest = F::one();
#pragma unroll 1
      for (uint32_t k = 0; k < K; k++) {
        elem d = F::sub(F::load_raw(point(k, i)), get<F>(sum_x(k)));
        if (F::is_zero(d)) {
          d = F::one();
          atomicAdd(special, 1u);
        }
        put<F>(before(k), rest);
        rest = F::mul(rest, d);
      }
      put<F>(products + t, rest);
      __syncthreads();
      if (t / 32 == inverter) invert<F>(products, t % 32);
      __syncthreads();
      rest = get<F>(products + t);
#pragma unroll 1
      for (uint32_t k = K; k-- > 0;) {
        const uint32_t* const p = point(k, i);
        const elem px = F::load_raw(p), ax = get<F>(sum_x(k));
        elem d = F::sub(px, ax);
        if (F::is_zero(d)) d = F::one();
        const elem inverse = F::mul(rest, get<F>(before(k)));
        rest = F::mul(rest, d);
        const elem ay = get<F>(sum_y(k)), slope = F::mul(F::sub(F::load_raw(p + F::words), ay), inverse);
        const elem x = F::sub(F::sub(F::sqr(slope), ax), px);
        put<F>(sum_x(k), x);
        put<F>(sum_y(k), F::sub(F::mul(slope, F::sub(ax, x)), ay));
      }
    }
#pragma unroll 1
    for (uint32_t k = 0; k < K; k++) {
      uint32_t* const to = out + (task + k * threads) * 2 * F::words;
      F::store_raw(to, get<F>(sum_x(k)));
      F::store_raw(to + F::words, get<F>(sum_y(k)));
    }
  }
}

// Counts sums that differ: x zz is the XYZZ x, y zzz its y.
template <class F>
__global__ void compare(const uint32_t* a, const uint32_t* s, uint64_t tasks, uint32_t* differ) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tasks) return;
  const xyzz<F> sum = load_xyzz<F>(s + t * 4 * F::words);
  const auto x = F::load_raw(a + t * 2 * F::words), y = F::load_raw(a + t * 2 * F::words + F::words);
  if (!F::eq(F::mul(x, sum.zz), sum.x) || !F::eq(F::mul(y, sum.zzz), sum.y)) atomicAdd(differ, 1u);
}

// Returns the least of some times, in ms.
template <class Run>
static float best(const Run& run) {
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  float least = 1e30f;
  for (int i = 0; i < 4; i++) {
    CHECK(cudaEventRecord(from));
    run();
    CHECK(cudaEventRecord(to));
    CHECK(cudaEventSynchronize(to));
    CHECK(cudaGetLastError());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    least = std::min(least, ms);
  }
  return least;
}

template <class F>
struct trial {
  static constexpr uint32_t length = 64;
  const char* name;
  int multiprocessors;
  uint64_t tasks, n = 1 << 24;
  uint32_t *points, *values, *sums, *out, *counts;
  bool right = true;

  template <uint32_t K, uint32_t Blocks>
  void affine_loop() {
    const uint64_t groups = tasks / (K * threads);
    const uint32_t grid = multiprocessors * Blocks;
    uint4* room;
    CHECK(cudaMalloc(&room, (uint64_t)grid * 3 * K * (F::words / 4) * threads * sizeof(uint4)));
    CHECK(cudaMemset(out, 0xa5, tasks * 2 * F::words * 4));
    const float ms = best([&] {
      CHECK(cudaMemset(counts, 0, 12));
      by_affine<F, K, Blocks><<<grid, threads>>>(points, values, length, groups, room, counts, out, counts + 1);
    });
    compare<F><<<(tasks + 127) / 128, 128>>>(out, sums, groups * K * threads, counts + 2);
    uint32_t found[3];
    CHECK(cudaMemcpy(found, counts, 12, cudaMemcpyDeviceToHost));
    cudaFuncAttributes a;
    CHECK(cudaFuncGetAttributes(&a, by_affine<F, K, Blocks>));
    right = right && found[1] == 0 && found[2] == 0;
    std::printf("%-10s affine, %2u sums a thread, %u blocks  %6.2f G additions/s  %8.3f ms, "
                "%d registers, %zu bytes of stack, %u special, %u wrong of %llu\n",
                name, K, Blocks,
                groups * K * threads * (length - 1) / ms / 1e6, ms, a.numRegs, a.localSizeBytes, found[1], found[2],
                (unsigned long long)(groups * K * threads));
    CHECK(cudaFree(room));
  }

  bool run() {
    int device;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    tasks = (uint64_t)multiprocessors * threads * 320;  // whole groups, and whole waves of 4 and 5 blocks, but for K = 64
    CHECK(cudaMalloc(&points, n * 2 * F::words * 4));
    CHECK(cudaMalloc(&values, tasks * length * 4));
    CHECK(cudaMalloc(&sums, tasks * 4 * F::words * 4));
    CHECK(cudaMalloc(&out, tasks * 2 * F::words * 4));
    CHECK(cudaMalloc(&counts, 12));
    fill<F><<<multiprocessors * 8, 256>>>(points, n, values, tasks * length);
    const float ms = best([&] { by_xyzz<F><<<tasks / threads, threads>>>(points, values, length, tasks, sums); });
    std::printf("%-10s XYZZ                              %6.2f G additions/s  %8.3f ms\n", name, tasks * (length - 1) / ms / 1e6, ms);
    affine_loop<4, 4>();
    affine_loop<8, 4>();
    affine_loop<16, 4>();
    affine_loop<16, 5>();
    affine_loop<32, 4>();
    affine_loop<64, 4>();
    for (uint32_t* p : {points, values, sums, out, counts}) CHECK(cudaFree(p));
    return right;
  }
};

}  // namespace pippin::trial

int main() {
  using namespace pippin;
  const bool a = trial::trial<prime_field<curves::bn254::fp>>{"bn254"}.run();
  const bool b = trial::trial<prime_field<curves::bls12_381::fp>>{"bls12-381"}.run();
  return a && b ? 0 : 1;
}
