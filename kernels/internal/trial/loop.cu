// The accumulation of BN254 G1 over records of 64, 96 and 128 bytes.
#include "check.h"
#include "constants.h"
#include "grid/msm/accumulate.cu"

namespace pippin::grid {

// Where a value's coordinates are. Form is the words of a record: 16 has x, y; 24 has x, beta x, y;
// 32 has x, beta x, beta^2 x, y. In the latter two a value is 3 (the record) + the power of beta.
template <int Form> struct record {
  const uint32_t *x, *y;
  uint32_t power;
  __device__ __forceinline__ record(const uint32_t* points, uint32_t v) {
    if constexpr (Form == 16) {
      x = points + v * (uint64_t)16;
      y = x + 8;
      power = 0;
    } else {
      const uint32_t i = v / 3;
      power = v - 3 * i;
      const uint32_t* const first = points + i * (uint64_t)Form;
      y = first + Form - 8;
      x = Form == 32 || power == 1 ? first + power * 8 : first;
    }
  }
  template <class F> __device__ __forceinline__ affine<F> load() const {
    typename F::elem a = F::load(x);
    if constexpr (Form == 24)
      if (power == 2) a = F::neg(F::add(a, F::load(x + 8)));
    return {a, F::load(y)};
  }
};

template <int Form> PIPPIN_CALLED void equal_record(uint32_t* dst, const uint32_t* points, uint32_t v) {
  const record<Form> r(points, v & ~negative);
  store_xyzz_raw(dst, pippin::dbl(pippin::neg_if((v & negative) != 0, r.template load<cold_field>())));
}

// accumulate over records, otherwise as it is.
template <int Form>
__global__ void __launch_bounds__(128, 4) accumulate_records(const uint32_t* work, const uint32_t* tasks, const uint32_t* values,
                                                          const uint32_t* points, uint32_t* buckets, uint32_t* slots) {
  using L = hot_law;
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= reinterpret_cast<const tally*>(work)->tasks) return;
  const task k = reinterpret_cast<const task*>(tasks)[t];
  const bool fresh = (k.length_split & negative) != 0;
  uint32_t* const out = (fresh ? slots : buckets) + k.to * (uint64_t)L::sum_words;
  const uint32_t length = k.length_split & ~negative;
  values += k.start;
  typename L::sum sum = fresh ? L::zero() : L::load_sum(out);
  uint32_t next = values[0];
#pragma unroll 1
  for (uint32_t i = 0; i < length; i++) {
    const uint32_t v = next;
    if (i + 1 < length) next = values[i + 1];
    const bool minus = (v & negative) != 0;
    const record<Form> r(points, v & ~negative);
    L::add(sum, L::neg_if(minus, r.template load<hot_field>()), [&] {
      equal_record<Form>(out, points, v);
      sum = L::load_sum(out);
    });
  }
  L::store_sum(out, sum);
}

}  // namespace pippin::grid

using namespace pippin;
using six::mix;
using F = grid::field;

namespace {

// Word j of coordinate c (0: x, 1: y) of point i: any number below p.
__host__ __device__ inline uint32_t word_of(uint64_t i, int c, int j) {
  const uint32_t w = (uint32_t)mix((i * 2 + c) * 8 + j + 12345);
  return j == 7 ? w % 0x30000000 : w;
}
__host__ __device__ inline F::elem coordinate(uint64_t i, int c) {
  F::elem r;
  for (int j = 0; j < 8; j++) r.v[j] = word_of(i, c, j);
  return r;
}
__host__ __device__ inline F::elem beta() {
  F::elem r;
  for (int j = 0; j < 8; j++) r.v[j] = six::beta_254(j);
  return r;
}
__global__ void fill(uint32_t* points, uint64_t n, int form) {
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
    uint32_t* p = points + i * form;
    const F::elem x = coordinate(i, 0), bx = F::mul(x, beta());
    F::store(p, x);
    if (form > 16) F::store(p + 8, bx);
    if (form > 24) F::store(p + 16, F::mul(bx, beta()));
    F::store(p + form - 8, coordinate(i, 1));
  }
}
// Values of all tasks: a point, the power of beta, the sign, each at random.
__host__ __device__ inline uint32_t value_of(uint64_t e, uint64_t n, bool powers) {
  const uint64_t r = mix(e + (1ull << 40));
  const uint32_t point = (uint32_t)((r & 0xffffffffffull) % n);
  return (powers ? 3 * point + (uint32_t)(r >> 40 & 0xffff) % 3 : point) | (uint32_t)(r >> 63) << 31;
}
__global__ void values_of(uint32_t* v, uint64_t count, uint64_t n, bool powers) {
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x)
    v[i] = value_of(i, n, powers);
}

}  // namespace

void run_loop() {
  int sms;
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  const uint64_t n = 11ull << 24, length = 64, tasks = (uint64_t)sms * 4 * 128 * 12, entries = tasks * length;
  std::printf("accumulation of BN254 G1: %.1f M points of a table, %.1f M additions in tasks of %llu\n", n / 1e6, entries / 1e6, (unsigned long long)length);
  six::shape("accumulate", grid::pippin_bn254_g1_accumulate, 128);
  six::shape("the same, 64 bytes", grid::accumulate_records<16>, 128);
  six::shape("96 bytes", grid::accumulate_records<24>, 128);
  six::shape("128 bytes", grid::accumulate_records<32>, 128);
  uint32_t *points[3], *values[2];
  const int forms[3] = {16, 24, 32};
  for (int i = 0; i < 3; i++) {
    points[i] = six::take<uint32_t>(n * forms[i]);
    fill<<<sms * 8, 256>>>(points[i], n, forms[i]);
  }
  for (int i = 0; i < 2; i++) {
    values[i] = six::take<uint32_t>(entries);
    values_of<<<sms * 8, 256>>>(values[i], entries, n, i == 1);
  }
  std::vector<uint32_t> list(tasks * 3);
  for (uint64_t t = 0; t < tasks; t++) {
    list[3 * t] = (uint32_t)(t * length);
    list[3 * t + 1] = (uint32_t)length | grid::negative;  // fresh
    list[3 * t + 2] = (uint32_t)t;
  }
  uint32_t* const list_there = six::take<uint32_t>(tasks * 3);
  CHECK(cudaMemcpy(list_there, list.data(), tasks * 12, cudaMemcpyHostToDevice));
  uint32_t* const work = six::take<uint32_t>(grid::tally_words);
  const uint32_t count = (uint32_t)tasks;
  CHECK(cudaMemcpy(work, &count, 4, cudaMemcpyHostToDevice));
  const uint32_t blocks = (uint32_t)(tasks / 128);
  struct kind {
    const char* name;
    void (*kernel)(const uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*, uint32_t*, uint32_t*);
    int form, value;
  };
  const std::vector<kind> kinds = {{"accumulate, 64 bytes", grid::pippin_bn254_g1_accumulate, 0, 0},
                                   {"records of 64", grid::accumulate_records<16>, 0, 0},
                                   {"records of 96", grid::accumulate_records<24>, 1, 1},
                                   {"records of 128", grid::accumulate_records<32>, 2, 1}};
  std::vector<six::run> runs;
  std::vector<uint32_t*> sums;
  for (const kind& k : kinds) {
    uint32_t* const out = six::take<uint32_t>(tasks * 32);
    sums.push_back(out);
    runs.push_back({k.name, [] {}, [=] { k.kernel<<<blocks, 128>>>(work, list_there, values[k.value], points[k.form], out, out); }});
  }
  const auto ms = six::turns(runs, 11);
  const F::elem b = beta(), bb = F::mul(b, b);
  for (size_t i = 0; i < kinds.size(); i++) {
    uint64_t wrong = 0, looked = 0;
    for (uint64_t t = 0; t < tasks; t += tasks / 61, looked++) {
      std::vector<uint32_t> got(32);
      CHECK(cudaMemcpy(got.data(), sums[i] + t * 32, 128, cudaMemcpyDeviceToHost));
      xyzz<F> want = xyzz_infinity<F>();
      for (uint64_t e = t * length; e < (t + 1) * length; e++) {
        const uint32_t v = value_of(e, n, kinds[i].value), entry = v & ~grid::negative;
        const uint64_t point = kinds[i].value ? entry / 3 : entry;
        const uint32_t power = kinds[i].value ? entry % 3 : 0;
        F::elem x = coordinate(point, 0);
        if (power) x = F::mul(x, power == 1 ? b : bb);
        want = add(want, neg_if((v & grid::negative) != 0, affine<F>{x, coordinate(point, 1)}));
      }
      if (!eq(load_xyzz<F>(got.data()), want)) wrong++;
    }
    std::printf("  %-22s %.5f ns an addition, %5.2f G/s, %+.2f %%; %llu of %llu sums wrong%s\n", kinds[i].name, ms[i] * 1e6 / entries, entries / (ms[i] * 1e6),
                100 * (ms[i] / ms[0] - 1), (unsigned long long)wrong, (unsigned long long)looked, wrong ? "  WRONG" : "");
  }
  CHECK(cudaDeviceReset());
}
