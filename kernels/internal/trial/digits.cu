// Digits of 2^22 scalars of BN254: the project's, and modulo six units by three radices.
#include "check.h"
#include "digits.cuh"

using namespace pippin;
using six::mix;

namespace {

// ---- the oracle: words of 256 bits modulo r, by doublings and additions
struct u256 {
  uint32_t w[8];
};
u256 order() {
  u256 r;
  for (int i = 0; i < 8; i++) r.w[i] = curves::bn254_fr::p(i);
  return r;
}
bool less(const u256& a, const u256& b) {
  for (int i = 7; i >= 0; i--)
    if (a.w[i] != b.w[i]) return a.w[i] < b.w[i];
  return false;
}
u256 minus_words(const u256& a, const u256& b) {
  u256 r;
  int64_t c = 0;
  for (int i = 0; i < 8; i++) {
    c += (int64_t)a.w[i] - b.w[i];
    r.w[i] = (uint32_t)c;
    c >>= 32;
  }
  return r;
}
u256 plus(const u256& a, const u256& b) {
  u256 s;
  uint64_t c = 0;
  for (int i = 0; i < 8; i++) {
    c += (uint64_t)a.w[i] + b.w[i];
    s.w[i] = (uint32_t)c;
    c >>= 32;
  }
  return less(s, order()) ? s : minus_words(s, order());
}
u256 negative_of(const u256& a) {
  const u256 zero = {};
  return less(zero, a) ? minus_words(order(), a) : a;
}
u256 times(const u256& a, const u256& b) {
  u256 s = {};
  bool any = false;
  for (int i = 255; i >= 0; i--) {
    const bool bit = b.w[i / 32] >> i % 32 & 1;
    if (any) s = plus(s, s);
    if (bit) s = plus(s, a);
    any = any || bit;
  }
  return s;
}
u256 word(int64_t v) {
  u256 r = {};
  const uint64_t m = v < 0 ? (uint64_t)-v : (uint64_t)v;
  r.w[0] = (uint32_t)m;
  r.w[1] = (uint32_t)(m >> 32);
  return v < 0 ? negative_of(r) : r;
}
bool same(const u256& a, const u256& b) { return !less(a, b) && !less(b, a); }
u256 one_of() {
  u256 r;
  for (int i = 0; i < 8; i++) r.w[i] = curves::bn254_fr::one(i);
  return r;
}

constexpr uint64_t n = 1 << 22, each = 2048;

// What is compared: a form of digits, by its radix.
struct form {
  const char* name;
  uint32_t windows, places_log, shift;  // 2^places_log >= all buckets' places
  uint64_t places;
  int radix;  // of six::radices; -1: the project's digits of 20 bits
  uint64_t bins() const { return (places + (1ull << shift) - 1) >> shift; }
};

struct work {
  uint32_t *scalars, *counts, *totals, *next, *bad, *values, *keys;
};

void count(const form& f, const work& w) {
  const uint32_t tiles = n / each;
  const size_t room = 4 * f.bins();
  if (f.radix < 0) {
    grid::pippin_bn254_g1_bins_count<<<tiles, 512, room>>>(w.scalars, n, 20, f.windows, 1, each, f.shift, f.bins(), w.counts, w.totals, 1, w.bad, 0);
    return;
  }
  const six::radix& of = six::radices[f.radix];
  const grid::six_shape s = {of, of.m == 2048 ? 10u : of.m <= 2048 ? 10u : 11u};
  if (of.m == 2048)
    grid::six_count<11><<<tiles, 512, room>>>(w.scalars, n, s, each, f.shift, f.bins(), w.counts, w.totals, 1, w.bad);
  else
    grid::six_count<0><<<tiles, 512, room>>>(w.scalars, n, s, each, f.shift, f.bins(), w.counts, w.totals, 1, w.bad);
}
void scatter(const form& f, const work& w) {
  const uint32_t tiles = n / each;
  const size_t room = 8 * f.bins() + 6 * each * f.windows;
  if (f.radix < 0) {
    grid::pippin_bn254_g1_bins_scatter<<<tiles, 1024, room>>>(w.scalars, n, 20, f.windows, 1, each, f.shift, f.bins(), w.counts, w.next, n, w.values, w.keys);
    return;
  }
  const six::radix& of = six::radices[f.radix];
  const grid::six_shape s = {of, of.m <= 2048 ? 10u : 11u};
  if (of.m == 2048) {
    grid::six_scatter<11><<<tiles, 1024, room>>>(w.scalars, n, s, each, f.shift, f.bins(), w.counts, w.next, n, w.values, w.keys);
  } else {
    grid::six_scatter<0><<<tiles, 1024, room>>>(w.scalars, n, s, each, f.shift, f.bins(), w.counts, w.next, n, w.values, w.keys);
  }
}

template <class T> std::vector<T> down(const T* p, uint64_t count) {
  std::vector<T> v(count);
  CHECK(cudaMemcpy(v.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

bool chosen(uint64_t i) { return i < 1024 || i % 2039 == 0; }

// Whether the entries of chosen scalars, as they lie in bins, make up these scalars.
void check(const form& f, const work& w, const std::vector<uint32_t>& scalars, std::vector<uint32_t> ends) {
  const uint64_t all = ends.back();
  const auto values = down(w.values, all);
  const auto rests = down(reinterpret_cast<const uint16_t*>(w.keys), all);
  const uint32_t bad = down(w.bad, 1)[0];
  struct digit {
    int64_t x = 0, y = 0;
  };
  std::vector<int64_t> place(n, -1);
  std::vector<uint64_t> of;
  for (uint64_t i = 0; i < n; i++)
    if (chosen(i)) {
      place[i] = (int64_t)of.size();
      of.push_back(i);
    }
  std::vector<digit> digits(of.size() * f.windows);
  const int bits = f.radix < 0 ? 0 : six::radices[f.radix].m <= 2048 ? 10 : 11;
  const int64_t m = f.radix < 0 ? 0 : six::radices[f.radix].m;
  uint64_t wrong = 0, twice = 0, outside = 0, at = 0;
  for (uint64_t bin = 0; bin < ends.size(); bin++)
    for (; at < ends[bin]; at++) {
      const uint32_t v = values[at] & ~grid::negative, bucket = (uint32_t)(bin << f.shift) + rests[at];
      const bool minus = values[at] & grid::negative;
      const uint32_t power = f.radix < 0 ? 0 : v % 3, point = f.radix < 0 ? v : v / 3, row = point / n;
      const uint64_t i = point % n;
      if (bucket >= f.places || row >= f.windows) outside++;
      if (place[i] < 0) continue;
      digit& d = digits[place[i] * f.windows + row];
      if (d.x || d.y) twice++;
      if (f.radix < 0) {
        d.x = minus ? -(int64_t)(bucket + 1) : bucket + 1;
        continue;
      }
      const int64_t a = (bucket & ((1 << bits) - 1)) + 1, b = bucket >> bits;
      if (2 * a + b > m || a + 2 * b > m) outside++;
      // a + b (1 + w) times w^power; w^2 = -1 - w.
      int64_t x = a + b, y = b;
      for (uint32_t k = 0; k < power; k++) {
        const int64_t t = x;
        x = -y;
        y = t - y;
      }
      d = {minus ? -x : x, minus ? -y : y};
    }
  u256 lambda;
  for (int i = 0; i < 8; i++) lambda.w[i] = six::lambda(i);
  const u256 R = one_of();
  for (uint64_t j = 0; j < of.size(); j++) {
    u256 x = {}, y = {};
    for (int row = (int)f.windows - 1; row >= 0; row--) {
      const u256 radix = word(f.radix < 0 ? 1 << 20 : m);
      const digit& d = digits[j * f.windows + row];
      x = plus(times(x, radix), word(d.x));
      y = plus(times(y, radix), word(d.y));
    }
    u256 raw;
    for (int i = 0; i < 8; i++) raw.w[i] = scalars[of[j] * 8 + i];
    if (!same(times(plus(x, times(y, lambda)), R), raw)) wrong++;
  }
  std::printf("  %-22s %llu of %zu scalars wrong, %llu entries outside, %llu twice, %llu entries (%.3f a scalar)%s\n", f.name, (unsigned long long)wrong,
              of.size(), (unsigned long long)outside, (unsigned long long)twice, (unsigned long long)all, (double)all / n,
              wrong || outside || twice || bad != ~0u ? "  WRONG" : "");
}

}  // namespace

void run_digits() {
  std::vector<uint32_t> scalars(n * 8);
  for (uint64_t i = 0; i < n; i++)
    for (int j = 0; j < 8; j++) scalars[i * 8 + j] = j == 7 ? (uint32_t)mix(i * 8 + j + 1) % 0x30000000 : (uint32_t)mix(i * 8 + j + 1);
  u256 power = one_of(), zero = {};
  for (int i = 0; i < 510; i++) {  // 2^j and -2^j, 0 first
    const u256 s = i == 0 ? zero : i % 2 ? power : negative_of(power);
    if (i && i % 2 == 0) power = plus(power, power);
    for (int j = 0; j < 8; j++) scalars[i * 8 + j] = s.w[j];
  }
  const std::vector<form> forms = {
      {"20 bits, 13 windows", 13, 19, 10, 1ull << 19, -1},
      {"m = 2048, 12 windows", 12, 20, 10, 1ull << 20, 0},
      {"m = 1536, 12 windows", 12, 20, 10, 768ull << 10, 1},
      {"m = 3072, 11 windows", 11, 22, 11, 1536ull << 11, 2},
  };
  std::printf("digits of 2^22 scalars of BN254\n");
  six::shape("bins_count", grid::pippin_bn254_g1_bins_count, 512, 2048);
  six::shape("m = 2^11, count", grid::six_count<11>, 512, 4096);
  six::shape("any m, count", grid::six_count<0>, 512, 6144);
  six::shape("bins_scatter", grid::pippin_bn254_g1_bins_scatter, 1024);
  six::shape("m = 2^11, scatter", grid::six_scatter<11>, 1024);
  six::shape("any m, scatter", grid::six_scatter<0>, 1024);
  const auto allow = [](auto kernel) { CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10)); };
  allow(grid::pippin_bn254_g1_bins_scatter);
  allow(grid::six_scatter<11>);
  allow(grid::six_scatter<0>);
  const uint64_t most = 2048;
  work w;
  w.scalars = six::take<uint32_t>(n * 8);
  CHECK(cudaMemcpy(w.scalars, scalars.data(), n * 32, cudaMemcpyHostToDevice));
  w.bad = six::take<uint32_t>(1);
  w.values = six::take<uint32_t>(n * 13);
  w.keys = six::take<uint32_t>(n * 13 / 2);
  CHECK(cudaMemset(w.bad, 0xff, 4));
  std::vector<work> works;
  std::vector<uint32_t*> begins;
  std::vector<std::vector<uint32_t>> ends;
  for (const form& f : forms) {
    work v = w;
    v.counts = six::take<uint32_t>(n / each * most);
    v.totals = six::take<uint32_t>(most);
    v.next = six::take<uint32_t>(most);
    count(f, v);
    CHECK(cudaDeviceSynchronize());
    const auto totals = down(v.totals, f.bins());
    std::vector<uint32_t> begin(f.bins()), end(f.bins());
    uint32_t sum = 0;
    for (uint64_t b = 0; b < f.bins(); b++) {
      begin[b] = sum;
      end[b] = sum += totals[b];
    }
    begins.push_back(six::take<uint32_t>(most));
    CHECK(cudaMemcpy(begins.back(), begin.data(), 4 * f.bins(), cudaMemcpyHostToDevice));
    ends.push_back(end);
    works.push_back(v);
    CHECK(cudaMemcpy(v.next, begins.back(), 4 * f.bins(), cudaMemcpyDeviceToDevice));
    scatter(f, v);
    CHECK(cudaDeviceSynchronize());
    check(f, v, scalars, end);
  }
  std::vector<six::run> runs;
  for (size_t i = 0; i < forms.size(); i++) {
    const form& f = forms[i];
    const work v = works[i];
    const uint32_t* begin = begins[i];
    runs.push_back({f.name, [=] { CHECK(cudaMemsetAsync(v.totals, 0, 4 * most)); }, [=] { count(f, v); }});
    runs.push_back({f.name, [=] { CHECK(cudaMemcpyAsync(v.next, begin, 4 * f.bins(), cudaMemcpyDeviceToDevice)); }, [=] { scatter(f, v); }});
  }
  const auto ms = six::turns(runs, 21);
  const auto ns = [&](size_t i) { return ms[i] * 1e6 / n; };
  for (size_t i = 0; i < forms.size(); i++)
    std::printf("  %-22s count %.4f + scatter %.4f = %.4f ns a scalar, %+.4f\n", forms[i].name, ns(2 * i), ns(2 * i + 1), ns(2 * i) + ns(2 * i + 1),
                ns(2 * i) + ns(2 * i + 1) - ns(0) - ns(1));
  CHECK(cudaDeviceReset());
}
