// tables: the measurements of seed 000 on today's card: where operands are (4.1), how
// two of them lie in memory (3.4), PTX against C (3.3), grids and blocks (4.2), and
// schoolbook against Karatsuba (4.2) for every width. Prints a JSON record of one of
// them; answers are compared with the host's, and a difference ends it with status 1.
//
//   tables local | layout | code | grid | karatsuba
#include "table.cuh"

namespace pippin::throughput {

// 4.1. Modular sums of two numbers, each of which the next replaces one of, in
// registers or in memory; word j of number i lies at j n + i, so that reads are whole.
template <int Bits, bool Local>
__global__ void sums(volatile uint32_t* x, volatile uint32_t* y, const mp::modulus<mp::limbs_for(Bits), Bits> m, uint64_t n, int steps) {
  constexpr int N = mp::limbs_for(Bits);
  const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
  const auto load = [&](volatile uint32_t* p) {
    num<N> v;
    PIPPIN_UNROLL
    for (int j = 0; j < N; j++) v[j] = p[j * n + i];
    return v;
  };
  const auto store = [&](volatile uint32_t* p, const num<N>& v) {
    PIPPIN_UNROLL
    for (int j = 0; j < N; j++) p[j * n + i] = v[j];
  };
  num<N> a = load(x), b = load(y);
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    if (!Local) a = load(x), b = load(y);
    const num<N> s = mp::mod_add(a, b, m);
    a = b;
    b = s;
    if (!Local) store(x, a), store(y, b);
  }
  if (Local) store(x, a), store(y, b);
}

template <int Bits, bool Local>
static void measure_local(const mp::modulus<mp::limbs_for(Bits), Bits>& m, const std::vector<uint32_t>& x,
                          const std::vector<uint32_t>& y, uint64_t n) {
  constexpr int N = mp::limbs_for(Bits), steps = 64, block = 256;
  const char* method = Local ? "local" : "global";
  uint32_t *dx = to_device(x), *dy = to_device(y);
  const auto run = [&] { sums<Bits, Local><<<(int)(n / block), block>>>(dx, dy, m, n, steps); };
  run();
  std::vector<uint32_t> got(x.size());
  must(cudaMemcpy(got.data(), dy, got.size() * 4, cudaMemcpyDeviceToHost), "copy");
  for (uint64_t i : {(uint64_t)0, n / 3, n - 1}) {
    num<N> a, b;
    for (int j = 0; j < N; j++) a[j] = x[j * n + i], b[j] = y[j * n + i];
    for (int k = 0; k < steps; k++) {
      const num<N> s = mp::mod_add(a, b, m);
      a = b;
      b = s;
    }
    for (int j = 0; j < N; j++) check(b[j] == got[j * n + i], method, Bits);
  }
  cudaFuncAttributes at;
  must(cudaFuncGetAttributes(&at, sums<Bits, Local>), "attributes");
  const double ms = best_ms(run);
  line(method, Bits, Bits, (double)n * steps / ms / 1e6, ms, at.numRegs, (int)at.localSizeBytes, (int)(n / block), block);
  cudaFree(dx);
  cudaFree(dy);
}

template <int Bits>
static void local_and_global() {
  constexpr int N = mp::limbs_for(Bits);
  const uint64_t n = 1 << 21;
  num<N> p = random_num<N>(Bits);
  p[0] |= 1;
  p[N - 1] |= 1u << (Bits - 1) % 32;
  const auto m = mp::make_modulus<Bits>(p);
  std::vector<uint32_t> x(n * N), y(n * N);
  for (std::vector<uint32_t>* v : {&x, &y}) {
    for (uint64_t i = 0; i < n; i++) {
      num<N> r = random_num<N>(Bits);
      r[N - 1] &= (1u << (Bits - 1) % 32) - 1;  // below p
      for (int j = 0; j < N; j++) (*v)[j * n + i] = r[j];
    }
  }
  measure_local<Bits, true>(m, x, y, n);
  measure_local<Bits, false>(m, x, y, n);
}

// 3.4. One sum each, of numbers whose words lie together or far apart, operands in two
// arrays or in one: where word j of operand o of number i is.
struct separate_numbers {
  static constexpr const char* name = "separate, by number";
  template <int N>
  PIPPIN_HD static uint64_t at(uint64_t i, int o, int j, uint64_t n) { return (o * n + i) * N + j; }
};
struct interleaved_numbers {
  static constexpr const char* name = "interleaved, by number";
  template <int N>
  PIPPIN_HD static uint64_t at(uint64_t i, int o, int j, uint64_t) { return (i * 2 + o) * N + j; }
};
struct separate_words {
  static constexpr const char* name = "separate, by word";
  template <int N>
  PIPPIN_HD static uint64_t at(uint64_t i, int o, int j, uint64_t n) { return (o * N + j) * n + i; }
};
struct interleaved_words {
  static constexpr const char* name = "interleaved, by word";
  template <int N>
  PIPPIN_HD static uint64_t at(uint64_t i, int o, int j, uint64_t n) { return (j * n + i) * 2 + o; }
};

// Sums lie as operands that are separate do.
template <int N, class Layout, class Sums>
__global__ void lying(const uint32_t* ab, uint32_t* r, uint64_t n) {
  const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
  num<N> a, b;
  PIPPIN_UNROLL
  for (int j = 0; j < N; j++) a[j] = ab[Layout::template at<N>(i, 0, j, n)], b[j] = ab[Layout::template at<N>(i, 1, j, n)];
  const num<N> s = mp::add(a, b);
  PIPPIN_UNROLL
  for (int j = 0; j < N; j++) r[Sums::template at<N>(i, 0, j, n)] = s[j];
}

template <int Bits, class Layout, class Sums>
static void measure_layout() {
  constexpr int N = mp::limbs_for(Bits), block = 256;
  const uint64_t n = ((1ull << 25) / N) / block * block;
  std::vector<uint32_t> ab(2 * n * N), got(n * N);
  for (uint32_t& w : ab) w = next_random();
  uint32_t *d = to_device(ab), *r = to_device(got);
  const auto run = [&] { lying<N, Layout, Sums><<<(int)(n / block), block>>>(d, r, n); };
  run();
  must(cudaMemcpy(got.data(), r, got.size() * 4, cudaMemcpyDeviceToHost), "copy");
  for (uint64_t i = 0; i < n; i += n / 97) {
    num<N> a, b;
    for (int j = 0; j < N; j++) a[j] = ab[Layout::template at<N>(i, 0, j, n)], b[j] = ab[Layout::template at<N>(i, 1, j, n)];
    const num<N> s = mp::add(a, b);
    for (int j = 0; j < N; j++) check(s[j] == got[Sums::template at<N>(i, 0, j, n)], Layout::name, Bits);
  }
  cudaFuncAttributes at;
  must(cudaFuncGetAttributes(&at, lying<N, Layout, Sums>), "attributes");
  const double ms = best_ms(run);
  line(Layout::name, Bits, Bits, (double)n / ms / 1e6, ms, at.numRegs, (int)at.localSizeBytes, (int)(n / block), block);
  cudaFree(d);
  cudaFree(r);
}

template <int Bits>
static void layouts() {
  measure_layout<Bits, separate_numbers, separate_numbers>();
  measure_layout<Bits, interleaved_numbers, separate_numbers>();
  measure_layout<Bits, separate_words, separate_words>();
  measure_layout<Bits, interleaved_words, separate_words>();
}

// 3.3. The same operations in C without carry flags: a carry is the upper half of a
// sum in 64 bits.
template <int N>
struct add_in_c {
  using state = pair<N>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    num<N> r;
    uint64_t c = 0;
    PIPPIN_UNROLL
    for (int i = 0; i < N; i++) {
      c += (uint64_t)s.x[i] + s.y[i];
      r[i] = (uint32_t)c;
      c >>= 32;
    }
    return {s.y, r};
  }
};
template <int N>
struct mul_in_c {
  using state = pair<N>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    num<2 * N> t = mp::zero<2 * N>();
    PIPPIN_UNROLL
    for (int i = 0; i < N; i++) {
      uint64_t c = 0;
      PIPPIN_UNROLL
      for (int j = 0; j < N; j++) {
        c += (uint64_t)s.x[j] * s.y[i] + t[i + j];
        t[i + j] = (uint32_t)c;
        c >>= 32;
      }
      t[i + N] = (uint32_t)c;
    }
    return {s.y, fold<N>(t)};
  }
};

template <int N>
static pair<N> odd_pair(int bits) {
  pair<N> s = {random_num<N>(bits), random_num<N>(bits)};
  s.x[0] |= 1;
  s.y[0] |= 1;
  return s;
}

template <class Op>
static void chained(const char* method, int bits) {
  constexpr int N = (int)(sizeof(typename Op::state) / 8);
  const measurement m = best_of<Op>(method, bits, "", {}, [&] { return odd_pair<N>(bits); });
  line(method, bits, bits, m.gops, m.ms, m.regs, m.local, m.blocks_per_sm * sms, m.block);
}

template <int Bits>
static void in_ptx_and_c() {
  constexpr int N = mp::limbs_for(Bits);
  chained<add_op<N>>("sum, PTX", Bits);
  chained<add_in_c<N>>("sum, C", Bits);
  chained<mul_op<N>>("product, PTX", Bits);
  chained<mul_in_c<N>>("product, C", Bits);
}

// 4.2. Grids and blocks, from one warp to all that a card can hold several times.
template <class Op, int Bits>
static void grids(const char* method) {
  constexpr int N = mp::limbs_for(Bits), steps = 1000;
  const size_t most = 1 << 20;
  std::vector<pair<N>> states(most);
  for (pair<N>& s : states) s = odd_pair<N>(Bits);
  pair<N>* d = to_device(states);
  time_once<Op>(d, {}, 257, 1, 32);
  pair<N> got, want = states[31];
  must(cudaMemcpy(&got, d + 31, sizeof got, cudaMemcpyDeviceToHost), "copy");
  for (int k = 0; k < 257; k++) want = Op::step(want, {});
  check(std::memcmp(&got, &want, sizeof got) == 0, method, Bits);
  cudaFuncAttributes at;
  must(cudaFuncGetAttributes(&at, chain<Op>), "attributes");
  for (int block : {32, 128, 512, 1024}) {
    if (block > at.maxThreadsPerBlock) continue;
    for (int grid = 1; (size_t)grid * block <= most && grid <= 16384; grid *= 2) {
      const double ms = best_ms([&] { chain<Op><<<grid, block>>>(d, {}, steps); });
      line(std::string(method) + ", " + std::to_string(Bits) + " bits, blocks of " + std::to_string(block), Bits, (double)grid * block,
           (double)grid * block * steps / ms / 1e6, ms, at.numRegs, (int)at.localSizeBytes, grid, block);
    }
  }
  cudaFree(d);
}

// 4.2. Both methods at all widths of First to Last limbs.
template <int First, int Last>
static void schoolbook_and_karatsuba() {
  chained<mul_op<First>>("schoolbook", 32 * First);
  chained<karatsuba_op<First>>("Karatsuba", 32 * First);
  if constexpr (First < Last) schoolbook_and_karatsuba<First + 1, Last>();
}

static int run(const std::string& which) {
  begin(which);
  if (which == "local") {
    local_and_global<109>(), local_and_global<131>(), local_and_global<163>(), local_and_global<191>(), local_and_global<239>();
  } else if (which == "layout") {
    layouts<109>(), layouts<163>(), layouts<191>(), layouts<239>(), layouts<512>(), layouts<1024>();
  } else if (which == "code") {
    in_ptx_and_c<109>(), in_ptx_and_c<131>(), in_ptx_and_c<163>(), in_ptx_and_c<191>(), in_ptx_and_c<239>(),
    in_ptx_and_c<512>(), in_ptx_and_c<1024>();
  } else if (which == "grid") {
    grids<mul_op<5>, 131>("schoolbook"), grids<karatsuba_op<5>, 131>("Karatsuba");
    grids<mul_op<8>, 239>("schoolbook"), grids<karatsuba_op<8>, 239>("Karatsuba");
  } else if (which == "karatsuba") {
    schoolbook_and_karatsuba<2, 64>();
  } else {
    std::fprintf(stderr, "tables: no table %s, but local, layout, code, grid and karatsuba\n", table);
    return 2;
  }
  std::printf("\n  ]\n}\n");
  return all_right ? 0 : 1;
}

}  // namespace pippin::throughput

int main(int argc, char** argv) { return pippin::throughput::run(argc > 1 ? argv[1] : ""); }
