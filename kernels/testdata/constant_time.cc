// constant_time.cc: one kernel on the host with its secrets marked as undefined, so
// that valgrind's memcheck tells of every branch and address that depends on them. What
// is compiled in is -DPIPPIN_SOURCE and the macros of its unit; -DPIPPIN_CASE says which
// kernel of it. TestConstantTime compiles and runs it.
//
// Moduli, widths and counts are public. So is whether an operand is below its modulus or
// in its field, which the answer tells: the test puts told() around those comparisons
// and nothing else.
#include <valgrind/memcheck.h>

#include <cstdio>
#include <cstring>
#include <vector>

// What the answer tells in any case is no secret.
static bool told(bool b) {
  VALGRIND_MAKE_MEM_DEFINED(&b, sizeof b);
  return b;
}

#include PIPPIN_SOURCE

#define PIPPIN_HOST(name) PIPPIN_JOIN(host_, PIPPIN_SYMBOL(name))

using namespace pippin;
using namespace pippin::grid;
using numbers = std::vector<uint32_t>;

// n words that look random, below 2^(32n - 1).
static numbers some(size_t n, uint64_t seed) {
  numbers v(n);
  for (uint32_t& w : v) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    w = (uint32_t)(seed >> 32);
  }
  v.back() >>= 1;
  return v;
}

// An odd modulus above all of some's.
static numbers modulus(size_t n) {
  numbers p = some(n, 7);
  p[0] |= 1;
  p.back() |= 0x80000000;
  return p;
}

static numbers secret(numbers v) {
  VALGRIND_MAKE_MEM_UNDEFINED(v.data(), 4 * v.size());
  return v;
}

static void run(unsigned threads, unsigned shared_words, const std::function<void()>& kernel) {
  const fakecuda_launch l = {{1, 1, 1}, {threads, 1, 1}, 4 * shared_words};
  host::launch(l, true, kernel);
}

// PIPPIN_CASE's answers to secret or public inputs.
static numbers answers(bool hidden) {
  const auto input = [&](size_t n, uint64_t seed) { return hidden ? secret(some(n, seed)) : some(n, seed); };
  numbers bad(number_reasons, number_no_element);
#if defined(PIPPIN_CASE_power)
  constexpr uint32_t length = PIPPIN_BITS / 32;
  const numbers x = input(length, 1), e = input(1, 2), p = modulus(length);
  numbers one = p, r(length), table(2 * PIPPIN_SAMPLES * power_entries * 128);
  for (uint32_t& w : one) w = ~w;  // 2^Bits - 1 - p
  one[0]++;
  run(128, 0, [&] { PIPPIN_HOST(power)(x.data(), e.data(), p.data(), one.data(), r.data(), 1, 1, 0, 0, table.data()); });
#elif defined(PIPPIN_CASE_narrow_power)
  const numbers x = input(PIPPIN_WORDS, 1), e = input(1, 2), p = modulus(PIPPIN_WORDS), factor = some(PIPPIN_WORDS, 3);
  numbers r(PIPPIN_WORDS), table(PIPPIN_WORDS * power_entries * 32);
  run(32, 0, [&] { PIPPIN_HOST(narrow_power)(x.data(), 0, e.data(), 1, 0, p.data(), 0, factor.data(), r.data(), 1, 0, table.data(), bad.data()); });
#elif defined(PIPPIN_CASE_grouped_power)
  const numbers x = input(PIPPIN_WORDS, 1), e = input(1, 2), p = modulus(PIPPIN_WORDS), factor = some(PIPPIN_WORDS, 3);
  numbers r(PIPPIN_WORDS), table(PIPPIN_WORDS / PIPPIN_THREADS * power_entries * 32);
  run(32, 0, [&] { PIPPIN_HOST(grouped_power)(x.data(), 0, e.data(), 1, 0, p.data(), 0, factor.data(), r.data(), 1, 0, table.data(), bad.data()); });
#elif defined(PIPPIN_CASE_wide_power)
  constexpr uint32_t length = 5;
  const numbers x = input(length, 1), e = input(1, 2), p = modulus(length);
  numbers r(length), states(length * (power_entries + 1));
  run(32, wide_room + wide_arrays * length, [&] { PIPPIN_HOST(wide_power_begin)(x.data(), 0, p.data(), 0, length, 1, 0, states.data(), bad.data()); });
  run(32, wide_room + wide_arrays * length,
      [&] { PIPPIN_HOST(wide_power)(e.data(), 1, 0, p.data(), 0, r.data(), length, 1, 32 / power_window, 32 / power_window, 1, states.data()); });
#elif defined(PIPPIN_CASE_narrow_residue)
  const numbers x = input(PIPPIN_WORDS, 1), y = input(PIPPIN_WORDS, 2), p = modulus(PIPPIN_WORDS), factor = some(PIPPIN_WORDS, 3);
  numbers r(PIPPIN_WORDS);
  run(32, 0, [&] { PIPPIN_HOST(narrow_residue)(PIPPIN_OP, x.data(), 0, y.data(), 0, p.data(), 0, factor.data(), r.data(), 1, 0, bad.data()); });
#elif defined(PIPPIN_CASE_grouped_residue)
  const numbers x = input(PIPPIN_WORDS, 1), y = input(PIPPIN_WORDS, 2), p = modulus(PIPPIN_WORDS), factor = some(PIPPIN_WORDS, 3);
  numbers r(PIPPIN_WORDS);
  run(32, 0, [&] { PIPPIN_HOST(grouped_residue)(PIPPIN_OP, x.data(), 0, y.data(), 0, p.data(), 0, factor.data(), r.data(), 1, 0, bad.data()); });
#elif defined(PIPPIN_CASE_wide_residue)
  // A reduction has an A of twice the words, an inverse no B.
  constexpr uint32_t length = 5, words = PIPPIN_OP == number_reduce ? 2 * length : length;
  const numbers x = input(words, 1), y = input(length, 2), p = modulus(length);
  const uint32_t* const b = PIPPIN_OP == number_reduce || PIPPIN_OP == number_inverse ? nullptr : y.data();
  numbers r(length);
  run(32, wide_room + wide_arrays * length,
      [&] { PIPPIN_HOST(wide_residue)(PIPPIN_OP, x.data(), words, 0, b, 0, p.data(), 0, r.data(), length, 1, 0, bad.data()); });
#elif defined(PIPPIN_CASE_binary)
  // PIPPIN_OP is binary_mul, binary_sqr or binary_inverse.
  constexpr uint32_t words = PIPPIN_BITS / 32;
  const numbers x = input(words, 1), y = input(words, 2);
  numbers r(words);
  run(128, 4 * 3 * 32 * (words + binary_pad), [&] { PIPPIN_HOST(PIPPIN_OP)(x.data(), PIPPIN_B r.data(), 1); });
#elif defined(PIPPIN_CASE_wide_binary)
  constexpr uint32_t words = 5, degree = 160;  // x^160 + x^5 + x^3 + x^2 + 1
  const numbers x = input(words, 1), y = input(words, 2);
  numbers r(words);
  run(32, 9 * words, [&] { PIPPIN_HOST(wide_binary)(PIPPIN_OP, x.data(), 0, y.data(), 0, r.data(), words, degree, 5, 3, 2, 1, bad.data()); });
#elif defined(PIPPIN_CASE_short_binary)
  constexpr uint32_t words = 3, degree = 96;  // x^96 + x^10 + x^9 + x^6 + 1
  const numbers x = input(words, 1), y = input(words, 2);
  numbers r(words);
  run(32, 1, [&] { PIPPIN_HOST(short_binary)(PIPPIN_OP, x.data(), 0, y.data(), 0, r.data(), degree, 1 << 10 | 1 << 9 | 1 << 6 | 1, 0, 1, bad.data()); });
#endif
  VALGRIND_MAKE_MEM_DEFINED(r.data(), 4 * r.size());
  VALGRIND_MAKE_MEM_DEFINED(bad.data(), 4 * bad.size());
  for (const uint32_t w : bad)
    if (w != number_no_element) std::printf("refused\n");
  return r;
}

int main() {
  const numbers known = answers(false), hidden = answers(true);
  const bool same = known == hidden;
  bool zero = true;
  for (const uint32_t w : known) zero &= w == 0;
  std::printf("%s\n", !same ? "the answers differ" : zero ? "the answers are 0" : "right");
  return same && !zero ? 0 : 1;
}
