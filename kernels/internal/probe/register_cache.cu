// register_cache: seed 001's measurements of operands in the registers of a warp's other
// lanes, beside shared memory: a stencil by the outputs of a thread (figure 2) and by its
// width (figure 3), and products in GF(2^64) with a hybrid of both (table 2). Prints a JSON
// record of one of them; answers are compared with the host's, and a difference ends it with
// status 1.
//
//   register_cache coarsening | reuse | hybrid
//
// A stencil of width K is out[i] = the sum of in[i-K] to in[i+K], divided by 2K + 1.
#define PIPPIN_BITS 64
#include "../../grid/measured/sliced.cu"
#include "table.cuh"

namespace pippin::throughput {

constexpr int threads = 128, pad = 64;  // zeros before and after the input

// C outputs a thread, 32 apart. Lane t has the inputs t + 32m of its warp; input l + j of
// lane l's output is in lane (l + j) mod 32, whose lane number tells in which register.
template <int K, int C>
__global__ void stencil_in_registers(const int* in, int* out) {
  constexpr int span = 2 * K, R = C + (span + 31) / 32;
  const int lane = threadIdx.x % 32;
  const uint64_t first = (blockIdx.x * (uint64_t)(threads / 32) + threadIdx.x / 32) * (32 * C);
  int r[R], sum[C] = {};
#pragma unroll
  for (int m = 0; m < R; m++) r[m] = m < C || lane < span - 32 * (m - C) ? in[first + pad - K + 32 * m + lane] : 0;
#pragma unroll
  for (int j = 0; j <= span; j++) {
#pragma unroll
    for (int c = 0; c < C; c++) {
      const int at = c + j / 32;
      const int given = lane < j % 32 ? r[at + 1 < R ? at + 1 : at] : r[at];
      sum[c] += __shfl_sync(warp::all, given, (lane + j) % 32);
    }
  }
#pragma unroll
  for (int c = 0; c < C; c++) out[first + 32 * c + lane] = sum[c] / (2 * K + 1);
}

// C outputs a thread, a block's threads apart, from inputs that the block has read.
template <int K, int C>
__global__ void stencil_in_shared(const int* in, int* out) {
  __shared__ int s[threads * C + 2 * K];
  const uint64_t first = blockIdx.x * (uint64_t)(threads * C);
#pragma unroll
  for (int m = 0; m <= C; m++) {
    const int i = threads * m + (int)threadIdx.x;
    if (m < C || i < threads * C + 2 * K) s[i] = in[first + pad - K + i];
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < C; c++) {
    int sum = 0;
#pragma unroll
    for (int j = 0; j <= 2 * K; j++) sum += s[threads * c + threadIdx.x + j];
    out[first + threads * c + threadIdx.x] = sum / (2 * K + 1);
  }
}

// The input and output of all stencils.
struct data {
  static constexpr uint64_t n = 1 << 27;
  std::vector<int> host = std::vector<int>(n + 2 * pad);
  int *in, *out;
  data() {
    for (uint64_t i = 0; i < n; i++) host[pad + i] = (int)(next_random() >> 8) - (1 << 23);
    in = to_device(host);
    must(cudaMalloc(&out, n * sizeof(int)), "malloc");
  }
};

template <class Kernel>
static void measure_stencil(const data& d, const std::string& method, Kernel kernel, int K, int C, double x) {
  const int grid = (int)(data::n / (threads * C));
  must(cudaMemset(d.out, 0xff, data::n * sizeof(int)), "set");
  const double ms = best_ms([&] { kernel<<<grid, threads>>>(d.in, d.out); });
  std::vector<int> got(data::n);
  must(cudaMemcpy(got.data(), d.out, data::n * sizeof(int), cudaMemcpyDeviceToHost), "copy");
  const auto right = [&](uint64_t i) {
    int sum = 0;
    for (int j = -K; j <= K; j++) sum += d.host[pad + i + j];
    return got[i] == sum / (2 * K + 1);
  };
  bool all = true;
  for (uint64_t i = 0; i < 40000; i++) all = all && right(i) && right(data::n - 1 - i) && right(i * 3301 % data::n);
  check(all, method.c_str(), K);
  cudaFuncAttributes at;
  must(cudaFuncGetAttributes(&at, kernel), "attributes");
  line(method, 32, x, (double)data::n / ms / 1e6, ms, at.numRegs, (int)at.localSizeBytes, grid, threads);
}

template <int K, int C>
static void both(const data& d, const std::string& which, double x) {
  measure_stencil(d, which + "registers", stencil_in_registers<K, C>, K, C, x);
  measure_stencil(d, which + "shared memory", stencil_in_shared<K, C>, K, C, x);
}

template <int K>
static void coarsened(const data& d) {
  const std::string which = "width " + std::to_string(K) + ", ";
  both<K, 1>(d, which, 1), both<K, 2>(d, which, 2), both<K, 4>(d, which, 4), both<K, 8>(d, which, 8), both<K, 16>(d, which, 16);
}

template <int... K>
static void reused(const data& d) {
  (both<K, 8>(d, "", K), ...);
}

// Section 8's hybrid: products of 32 rows in registers, summed in shared memory.
__global__ void __launch_bounds__(threads) hybrid(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t n) {
  PIPPIN_DYNAMIC_SHARED(shared);
  using field = grid::sliced_here;
  field::staged(a, b, r, n, shared, [](const field::rows& s) {
    const uint32_t lane = threadIdx.x % warp::size;
    uint32_t rows[2 * field::W] = {};
#pragma unroll
    for (int u = 0; u < field::W; u++) {
#pragma unroll
      for (int v = 0; v < field::W; v++) {
        uint32_t c[2];
        warp::sliced_product<1>(c, s.a + 32 * u + lane, s.b + 32 * v + lane, lane);
        rows[u + v] ^= c[0], rows[u + v + 1] ^= c[1];
      }
    }
#pragma unroll
    for (int w = 0; w < 2 * field::W; w++) s.c[32 * w + lane] = rows[w];
  });
}

// a b in GF(2^64), bit by bit.
static uint64_t product(uint64_t a, uint64_t b) {
  using sparse = gf2::sparse<64>;
  const uint64_t tail = 1 | 1ull << sparse::k[0] | 1ull << sparse::k[1] | 1ull << sparse::k[2];
  uint64_t r = 0;
  for (int i = 63; i >= 0; i--) {
    r = r << 1 ^ (r >> 63 ? tail : 0);
    if (b >> i & 1) r ^= a;
  }
  return r;
}

template <class Kernel>
static void measure_products(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, const char* method, Kernel kernel) {
  const uint64_t n = a.size();
  uint64_t *da = to_device(a), *db = to_device(b), *dr;
  must(cudaMalloc(&dr, n * 8), "malloc");
  const int shared = threads / 32 * 16 * 64;
  int blocks = 0;
  must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared), "occupancy");
  const double ms = best_ms([&] { kernel<<<sms * blocks, threads, shared>>>((uint32_t*)da, (uint32_t*)db, (uint32_t*)dr, n); });
  std::vector<uint64_t> got(n);
  must(cudaMemcpy(got.data(), dr, n * 8, cudaMemcpyDeviceToHost), "copy");
  bool all = true;
  for (uint64_t i = 0; i < n; i += n / 9973) all = all && got[i] == product(a[i], b[i]);
  check(all, method, 64);
  cudaFuncAttributes at;
  must(cudaFuncGetAttributes(&at, kernel), "attributes");
  line(method, 64, 64, (double)n / ms / 1e6, ms, at.numRegs, (int)at.localSizeBytes, sms * blocks, threads);
  cudaFree(da), cudaFree(db), cudaFree(dr);
}

static int run(const std::string& which) {
  begin(which);
  if (which == "coarsening") {
    const data d;
    coarsened<1>(d), coarsened<7>(d);
  } else if (which == "reuse") {
    const data d;
    reused<1, 2, 3, 5, 7, 9, 11, 13, 15, 20, 25>(d);
  } else if (which == "hybrid") {
    std::vector<uint64_t> a((1 << 25) + 5), b(a.size());
    for (std::vector<uint64_t>* v : {&a, &b}) {
      for (uint64_t& x : *v) x = (uint64_t)next_random() << 32 | next_random();
    }
    measure_products(a, b, "registers", grid::pippin_sliced_registers);
    measure_products(a, b, "hybrid of 32", hybrid);
    measure_products(a, b, "shared memory", grid::pippin_sliced_shared);
  } else {
    std::fprintf(stderr, "register_cache: no table %s, but coarsening, reuse and hybrid\n", table);
    return 2;
  }
  std::printf("\n  ]\n}\n");
  return all_right ? 0 : 1;
}

}  // namespace pippin::throughput

int main(int argc, char** argv) { return pippin::throughput::run(argc > 1 ? argv[1] : ""); }
