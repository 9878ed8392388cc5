// scalars.cu: the digits of scalars by which points are multiplied. Compiled for one
// curve.
#include "group.cuh"

namespace pippin::grid {

// Digits of n scalars, from the first on and mod all. Of scalar k they are those of k1 and
// k2, small and k1 + lambda k2 = k mod r, where lambda is what the endomorphism multiplies
// by. With (a, b) and (c, d) the shortest vectors for which a + lambda b = 0 mod r,
//
//   k1 = k - u a - v c,  k2 = -u b - v d,  u = [k g / 2^s],  v = [k h / 2^s]
//
// rounded, s = 32 (N + 2). lattice: g, h, a, b, c, d, N words each, the last four in
// two's complement. digits: bytes [place][k1 or k2][scalar], the sum of digit 2^(bits
// place) being k1 and k2, where bits is `window`, at most 7, and digits are above
// -2^(window - 1), at most that. With a window of 1 they are a non-adjacent form: 0 or odd
// from -7 to 7, four places of five or more 0.
// Source: Gallant, Lambert and Vanstone 2001.
PIPPIN_KERNEL((128), recode)
(const uint32_t* scalars, uint64_t all, uint64_t first, uint64_t n, const uint32_t* lattice, uint32_t* digits, uint64_t places,
 uint64_t window) {
  using F = scalar_field;
  constexpr int N = F::words;
  using num = mp::num<N>;
  const bool naf = window == 1;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const num k = F::to_integer(F::load(scalars + (first + i) % all * N));
  num part[2];
  const auto rounded = [&](const uint32_t* factor) {
    num above = mp::resize<N>(mp::slice<N + 1, N - 1>(mp::mul(k, load_words<N>(factor))));
    above = mp::add(above, mp::from_word<N>(0x80000000));
    return mp::resize<N>(mp::slice<1, N - 1>(above));
  };
  const num u = rounded(lattice), v = rounded(lattice + N);
  const auto product = [&](const num& x, int at) { return mp::mul_low<N>(x, load_words<N>(lattice + at * N)); };
  part[0] = mp::sub(k, mp::add(product(u, 2), product(v, 4)));
  part[1] = mp::neg(mp::add(product(u, 3), product(v, 5)));
  int8_t* const out = reinterpret_cast<int8_t*>(digits) + i;
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    num rest = mp::select(half != 0, part[1], part[0]);
    const bool minus = mp::is_negative(rest);
    rest = mp::abs(rest);
#pragma unroll 1
    for (uint64_t place = 0; place < places; place++) {
      int digit = (int)(rest[0] & (naf ? 15 : (1 << window) - 1));
      if (naf) {
        if (digit % 2 == 0) {
          digit = 0;
        } else if (digit > 8) {
          digit -= 16;
        }
        rest = digit < 0 ? mp::add(rest, mp::from_word<N>((uint32_t)-digit)) : mp::sub(rest, mp::from_word<N>((uint32_t)digit));
        rest = mp::shr1(rest);
      } else {
        rest = mp::shr(rest, (uint32_t)window);
        if (digit > 1 << (window - 1)) {
          digit -= 1 << window;
          rest = mp::add(rest, mp::from_word<N>(1));
        }
      }
      out[(place * 2 + half) * n] = (int8_t)(minus ? -digit : digit);
    }
  }
}

}  // namespace pippin::grid
