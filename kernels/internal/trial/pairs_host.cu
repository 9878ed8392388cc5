// The first level of pairs of BLS12-381 G1 over records of 96, 144 and 192 bytes.
#include "check.h"
#include "constants.h"
#include "curves/bls12_381.cuh"
#include "grid/msm/layout.cuh"
#include "thread/curve.cuh"

using namespace pippin;
using six::mix;
using F = prime_field<curves::bls12_381_fp>;

#define DECLARE(name)                                                                                                             \
  void name(int part, uint32_t threads, const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, \
            uint32_t* sums, uint32_t* before, uint32_t* products, uint64_t room);
DECLARE(pairs_96)
DECLARE(pairs_144)
DECLARE(pairs_192)

namespace {

constexpr int N = F::words;
__host__ __device__ inline F::elem coordinate(uint64_t i, int c) {
  F::elem r;
  for (int j = 0; j < N; j++) {
    const uint32_t w = (uint32_t)mix((i * 2 + c) * 16 + j + 777);
    r.v[j] = j == N - 1 ? w % 0x19000000 : w;
  }
  return r;
}
__host__ __device__ inline F::elem beta() {
  F::elem r;
  for (int j = 0; j < N; j++) r.v[j] = six::beta_381(j);
  return r;
}
__global__ void fill(uint32_t* points, uint64_t n, int form) {
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
    uint32_t* p = points + i * form;
    const F::elem x = coordinate(i, 0), bx = F::mul(x, beta());
    F::store(p, x);
    if (form > 24) F::store(p + N, bx);
    if (form > 36) F::store(p + 2 * N, F::mul(bx, beta()));
    F::store(p + form - N, coordinate(i, 1));
  }
}
__host__ __device__ inline uint32_t value_of(uint64_t e, uint64_t n, bool powers) {
  const uint64_t r = mix(e + (1ull << 41));
  const uint32_t point = (uint32_t)((r & 0xffffffffffull) % n);
  return (powers ? 3 * point + (uint32_t)(r >> 40 & 0xffff) % 3 : point) | (uint32_t)(r >> 63) << 31;
}
__global__ void values_of(uint32_t* v, uint64_t count, uint64_t n, bool powers) {
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x)
    v[i] = value_of(i, n, powers);
}
affine<F> entry_of(uint64_t e, uint64_t n, bool powers) {
  const uint32_t v = value_of(e, n, powers), entry = v & ~grid::negative;
  F::elem x = coordinate(powers ? entry / 3 : entry, 0);
  for (uint32_t k = powers ? entry % 3 : 0; k > 0; k--) x = F::mul(x, beta());
  return neg_if((v & grid::negative) != 0, affine<F>{x, coordinate(powers ? entry / 3 : entry, 1)});
}

}  // namespace

void run_pairs() {
  int sms;
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  const uint64_t n = 12ull << 22, length = 16, tasks = 1 << 22, entries = tasks * length, additions = entries / 2;
  const uint32_t threads = sms * 4 * 128;
  std::printf("first level of pairs of BLS12-381 G1: %.1f M points of a table, %.1f M additions\n", n / 1e6, additions / 1e6);
  using launch = void (*)(int, uint32_t, const uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*, uint32_t*, uint32_t*, uint32_t*, uint64_t);
  struct kind {
    const char* name;
    launch go;
    int words;
  };
  const std::vector<kind> kinds = {{"96 bytes", pairs_96, 24}, {"144 bytes", pairs_144, 36}, {"192 bytes", pairs_192, 48}};
  uint32_t* const values[2] = {six::take<uint32_t>(entries), six::take<uint32_t>(entries)};
  for (int i = 0; i < 2; i++) values_of<<<sms * 8, 256>>>(values[i], entries, n, i == 1);
  std::vector<uint32_t> list(tasks * 3);
  for (uint64_t t = 0; t < tasks; t++) {
    list[3 * t] = (uint32_t)(t * length);
    list[3 * t + 1] = (uint32_t)length;
    list[3 * t + 2] = (uint32_t)t;
  }
  uint32_t* const list_there = six::take<uint32_t>(tasks * 3);
  CHECK(cudaMemcpy(list_there, list.data(), tasks * 12, cudaMemcpyHostToDevice));
  uint32_t* const work = six::take<uint32_t>(grid::tally_words);
  const uint32_t count = (uint32_t)tasks;
  CHECK(cudaMemcpy(work, &count, 4, cudaMemcpyHostToDevice));
  std::vector<six::run> runs;
  std::vector<uint32_t*> sums;
  for (const kind& k : kinds) {
    std::printf("  %s\n", k.name);
    k.go(3, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    uint32_t* const points = six::take<uint32_t>(n * k.words);
    fill<<<sms * 8, 256>>>(points, n, k.words);
    // A sum has place 2j of its task's left operand: (j << 0) tasks + t.
    uint32_t *const out = six::take<uint32_t>(additions * 2 * N), *const before = six::take<uint32_t>(additions * N),
                    *const products = six::take<uint32_t>((uint64_t)threads * N), *const kept = six::take<uint32_t>((uint64_t)threads * N);
    sums.push_back(out);
    const uint32_t* const v = values[k.words > 24];
    const launch go = k.go;
    const auto part = [=](int p) { go(p, threads, work, list_there, v, points, out, before, products, tasks); };
    part(0);
    part(1);
    CHECK(cudaMemcpy(kept, products, (uint64_t)threads * N * 4, cudaMemcpyDeviceToDevice));
    runs.push_back({k.name, [] {}, [=] { part(0); }});
    runs.push_back({k.name, [=] { CHECK(cudaMemcpyAsync(products, kept, (uint64_t)threads * N * 4, cudaMemcpyDeviceToDevice)); }, [=] { part(2); }});
  }
  const auto ms = six::turns(runs, 9);
  for (size_t i = 0; i < kinds.size(); i++) {
    uint64_t wrong = 0, looked = 0;
    for (uint64_t t = 5; t < tasks; t += tasks / 97)
      for (uint64_t j = 0; j < length / 2; j++, looked++) {
        std::vector<uint32_t> got(2 * N);
        CHECK(cudaMemcpy(got.data(), sums[i] + (j * tasks + t) * 2 * N, 8 * N, cudaMemcpyDeviceToHost));
        const affine<F> a = entry_of(t * length + 2 * j, n, i > 0), b = entry_of(t * length + 2 * j + 1, n, i > 0);
        const F::elem slope = F::mul(F::sub(b.y, a.y), F::inv(F::sub(b.x, a.x))), x = F::sub(F::sub(F::sqr(slope), a.x), b.x);
        if (!eq(affine<F>{F::load_raw(got.data()), F::load_raw(got.data() + N)}, {x, F::sub(F::mul(slope, F::sub(a.x, x)), a.y)})) wrong++;
      }
    const double there = ms[2 * i] * 1e6 / additions, back = ms[2 * i + 1] * 1e6 / additions, first = (ms[0] + ms[1]) * 1e6 / additions;
    std::printf("  %-22s there %.4f + back %.4f = %.4f ns an addition, %+.2f %%; %llu of %llu sums wrong%s\n", kinds[i].name, there, back, there + back,
                100 * ((there + back) / first - 1), (unsigned long long)wrong, (unsigned long long)looked, wrong ? "  WRONG" : "");
  }
  CHECK(cudaDeviceReset());
}
