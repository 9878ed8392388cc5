// throughput: how many operations a second one GPU does with one thread a
// number, every multiprocessor full, each thread a chain in which every result
// is an operand of the next operation. Prints a JSON record of the machine and
// of every measurement. The last values of some threads are computed again on
// the host; a difference ends the program with status 1.
//
//   throughput [PREFIX]     only operations whose name begins so
#include "../../curves/bls12_377.cuh"
#include "../../curves/bls12_381.cuh"
#include "../../curves/bn254.cuh"
#include "../../curves/bw6_761.cuh"
#include "../../thread/binary.cuh"
#include "../../thread/edwards.cuh"
#include "../../thread/fixed.cuh"
#include "measure.cuh"

namespace pippin::throughput {

static std::vector<measurement> results;
static std::string prefix;

// Measures Op when its name begins with the prefix.
template <class Op, class Init>
static void measure(const char* op, int bits, const char* modulus, const typename Op::params& p, const Init& init) {
  if (std::strncmp(op, prefix.c_str(), prefix.size()) == 0) results.push_back(best_of<Op>(op, bits, modulus, p, init));
}

template <int N>
struct sub_op {
  using state = pair<N>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) { return {s.y, mp::sub(s.x, s.y)}; }
};

template <int N>
struct sqr_op {
  using state = pair<N>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    const num<2 * N> t = mp::sqr(s.x);
    num<N> r = mp::slice<N / 2, N>(t);
    r[0] ^= t[0];
    r[N - 1] ^= t[2 * N - 1];
    return {r, s.y};
  }
};

// Modulo a number of Bits bits known at run time.
template <int Bits>
struct modadd_op {
  static constexpr int N = mp::limbs_for(Bits);
  using state = pair<N>;
  using params = mp::modulus<N, Bits>;
  PIPPIN_HD static state step(const state& s, const params& m) {
    return {s.y, mp::mod_add(s.x, s.y, m)};
  }
};
template <int Bits>
struct montmul_op {
  static constexpr int N = mp::limbs_for(Bits);
  using state = pair<N>;
  using params = mp::modulus<N, Bits>;
  PIPPIN_HD static state step(const state& s, const params& m) {
    return {s.y, mp::mont_mul(s.x, s.y, m)};
  }
};
template <int Bits>
struct montsqr_op {
  static constexpr int N = mp::limbs_for(Bits);
  using state = pair<N>;
  using params = mp::modulus<N, Bits>;
  PIPPIN_HD static state step(const state& s, const params& m) {
    return {mp::mont_sqr(s.x, m), s.y};
  }
};

// In a field whose modulus the compiler knows.
template <class C>
struct field_state {
  typename prime_field<C>::elem x, y;
};
template <class C>
struct field_add_op {
  using state = field_state<C>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    return {s.y, prime_field<C>::add(s.x, s.y)};
  }
};
template <class C>
struct field_mul_op {
  using state = field_state<C>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    return {s.y, prime_field<C>::mul(s.x, s.y)};
  }
};
template <class C>
struct field_sqr_op {
  using state = field_state<C>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    return {prime_field<C>::sqr(s.x), s.y};
  }
};
// By one factor again and again.
template <class C>
struct field_fixed_op {
  using state = field_state<C>;
  using params = mp::factor<C::limbs>;
  PIPPIN_HD static state step(const state& s, const params& w) {
    return {reduce<prime_field<C>::bound>(mul(s.x, w)), s.y};
  }
};

// In GF(2^N), operands in registers.
template <int N>
struct binary_state {
  uint64_t x[gf2::field<N>::words], y[gf2::field<N>::words];
};
template <int N>
struct binary_mul_op {
  using state = binary_state<N>;
  using params = none;
  static constexpr int turn = N <= 128 ? 8 : 1;
  PIPPIN_HD static state step(const state& s, const params&) {
    state r;
    PIPPIN_UNROLL
    for (int i = 0; i < gf2::field<N>::words; i++) r.x[i] = s.y[i];
    gf2::field<N>::mul(r.y, s.x, s.y);
    return r;
  }
};
template <int N>
struct binary_sqr_op {
  using state = binary_state<N>;
  using params = none;
  static constexpr int turn = N <= 128 ? 8 : 1;
  PIPPIN_HD static state step(const state& s, const params&) {
    state r = s;
    gf2::field<N>::sqr(r.x, s.x);
    return r;
  }
};

// A bucket sum that takes in one point again and again, and so the same for the
// Edwards form.
template <class G>
struct xyzz_op {
  using F = typename G::field;
  struct state {
    xyzz<F> sum;
  };
  using params = affine<F>;
  PIPPIN_HD static state step(const state& s, const params& p) { return {add(s.sum, p)}; }
};
template <class G>
struct edwards_op {
  using F = typename G::field;
  struct state {
    extended<F> sum;
  };
  using params = niels<F>;
  PIPPIN_HD static state step(const state& s, const params& p) {
    return {edwards<typename G::curve>::add(s.sum, p)};
  }
};

template <int Bits>
static void plain() {
  constexpr int N = mp::limbs_for(Bits);
  const auto init = [] {
    pair<N> s = {random_num<N>(Bits), random_num<N>(Bits)};
    s.x[0] |= 1;
    s.y[0] |= 1;
    return s;
  };
  measure<add_op<N>>("add", Bits, "", {}, init);
  measure<sub_op<N>>("sub", Bits, "", {}, init);
  measure<mul_op<N>>("mul", Bits, "", {}, init);
  measure<sqr_op<N>>("sqr", Bits, "", {}, init);
  measure<karatsuba_op<N>>("karatsuba", Bits, "", {}, init);
}

template <int Bits>
static void modular() {
  constexpr int N = mp::limbs_for(Bits);
  num<N> p = random_num<N>(Bits);
  p[0] |= 1;
  p[N - 1] |= 1u << (Bits - 1) % 32;
  const auto m = mp::make_modulus<Bits>(p);
  const auto init = [&] {
    pair<N> s = {random_num<N>(Bits), random_num<N>(Bits)};
    s.x = mp::to_mont(s.x, m);
    s.y = mp::to_mont(s.y, m);
    return s;
  };
  const std::string name = "runtime, " + std::to_string(Bits) + " bits";
  measure<modadd_op<Bits>>("modadd", Bits, name.c_str(), m, init);
  measure<montmul_op<Bits>>("montmul", Bits, name.c_str(), m, init);
  measure<montsqr_op<Bits>>("montsqr", Bits, name.c_str(), m, init);
}

template <int N>
static void binary() {
  const auto init = [] {
    binary_state<N> s = {};
    for (int i = 0; i < N; i++) {
      s.x[i / 64] |= (uint64_t)(next_random() & 1) << i % 64;
      s.y[i / 64] |= (uint64_t)(next_random() & 1) << i % 64;
    }
    return s;
  };
  measure<binary_mul_op<N>>("binary_mul", N, "", {}, init);
  measure<binary_sqr_op<N>>("binary_sqr", N, "", {}, init);
}

template <class C>
static void in_field(const char* name) {
  using F = prime_field<C>;
  const auto init = [] {
    field_state<C> s;
    s.x = F::from_integer(random_num<C::limbs>(C::bits - 1));
    s.y = F::from_integer(random_num<C::limbs>(C::bits - 1));
    return s;
  };
  measure<field_add_op<C>>("modadd", 32 * C::limbs, name, {}, init);
  measure<field_mul_op<C>>("montmul", 32 * C::limbs, name, {}, init);
  measure<field_sqr_op<C>>("montsqr", 32 * C::limbs, name, {}, init);
  measure<field_fixed_op<C>>("fixedmul", 32 * C::limbs, name,
                             mp::make_factor(reduce<1>(init().x).v, static_modulus<C>{}), init);
}

template <class G>
static void bucket(const char* name) {
  using F = typename G::field;
  const affine<F> g = G::generator();
  xyzz<F> sum = dbl(g);
  const auto init = [&] {
    sum = dbl(add(sum, g));
    return typename xyzz_op<G>::state{sum};
  };
  measure<xyzz_op<G>>("xyzz_add_affine", 32 * F::words, name, g, init);
}

static void edwards_bucket() {
  using G = g1<curves::bls12_377>;
  using E = edwards<G::curve>;
  using F = G::field;
  const auto g = G::generator();
  const niels<F> n = E::from_weierstrass(g, F::inv(E::denominator(g)));
  extended<F> sum = E::add(E::neutral(), n);
  const auto init = [&] {
    sum = E::dbl(E::add(sum, n));
    return edwards_op<G>::state{sum};
  };
  measure<edwards_op<G>>("edwards_add_niels", 32 * F::words, "bls12_377_g1", n, init);
}

static void print() {
  print_machine();
  for (size_t i = 0; i < results.size(); i++) {
    const measurement& m = results[i];
    std::printf("    {\"op\": \"%s\", \"bits\": %d, \"modulus\": \"%s\", \"gops\": %.3f, ", m.op.c_str(),
                m.bits, m.modulus.c_str(), m.gops);
    std::printf("\"regs\": %d, \"local_bytes\": %d, \"block\": %d, \"blocks_per_sm\": %d, ", m.regs,
                m.local, m.block, m.blocks_per_sm);
    std::printf("\"steps\": %d, \"min_ms\": %.3f, \"checked\": true}%s\n", m.steps, m.ms,
                i + 1 < results.size() ? "," : "");
  }
  std::printf("  ]\n}\n");
}

static int run() {
  in_field<curves::bn254_fp>("bn254_fp");
  in_field<curves::bls12_381_fp>("bls12_381_fp");
  in_field<curves::bls12_377_fp>("bls12_377_fp");
  in_field<curves::bw6_761_fp>("bw6_761_fp");
  in_field<curves::bls12_381_fr>("bls12_381_fr");
  modular<109>();
  modular<131>();
  modular<163>();
  modular<191>();
  modular<239>();
  modular<128>();
  modular<256>();
  modular<384>();
  modular<512>();
  modular<768>();
  modular<1023>();
  modular<1024>();
  plain<109>();
  plain<131>();
  plain<163>();
  plain<191>();
  plain<239>();
  plain<256>();
  plain<384>();
  plain<512>();
  plain<768>();
  plain<1024>();
  binary<32>();
  binary<64>();
  binary<96>();
  binary<128>();
  binary<192>();
  binary<256>();
  binary<512>();
  bucket<g1<curves::bn254>>("bn254_g1");
  bucket<g1<curves::bls12_381>>("bls12_381_g1");
  bucket<g1<curves::bls12_377>>("bls12_377_g1");
  bucket<g1<curves::bw6_761>>("bw6_761_g1");
  bucket<g2<curves::bn254>>("bn254_g2");
  bucket<g2<curves::bls12_381>>("bls12_381_g2");
  edwards_bucket();
  if (!all_right) return 1;
  print();
  return 0;
}

}  // namespace pippin::throughput

int main(int argc, char** argv) {
  if (argc > 1) pippin::throughput::prefix = argv[1];
  return pippin::throughput::run();
}
