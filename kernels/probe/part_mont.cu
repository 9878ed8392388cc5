// Entries of mont.cuh, by the bits of the modulus.
#include "ops_mont.cuh"

namespace pippin::probe {

// With at least a spare bit: the lazy operations exist.
#define SPARE(op)                                                               \
  PROBE_N(op, 29), PROBE_N(op, 61), PROBE_N(op, 95), PROBE_N(op, 109), PROBE_N(op, 131), \
      PROBE_N(op, 163), PROBE_N(op, 191), PROBE_N(op, 239), PROBE_N(op, 255), PROBE_N(op, 377), \
      PROBE_N(op, 761), PROBE_N(op, 991)
// No spare bit: sums of residues carry.
#define FULL(op)                                                                \
  PROBE_N(op, 32), PROBE_N(op, 64), PROBE_N(op, 96), PROBE_N(op, 128), PROBE_N(op, 160), \
      PROBE_N(op, 256), PROBE_N(op, 384), PROBE_N(op, 512), PROBE_N(op, 768), PROBE_N(op, 1024)
#define BOTH(op) SPARE(op), FULL(op), PROBE_N(op, 2048)
// Inverses and powers, whose model is slow.
#define SOME(op)                                                                \
  PROBE_N(op, 32), PROBE_N(op, 61), PROBE_N(op, 96), PROBE_N(op, 131), PROBE_N(op, 255), \
      PROBE_N(op, 256), PROBE_N(op, 381), PROBE_N(op, 768), PROBE_N(op, 1024)

table part_mont() {
  return {
      BOTH(mont_make_modulus), BOTH(mod_add), BOTH(mod_sub), BOTH(mod_dbl), BOTH(mod_neg),
      BOTH(mont_mul), BOTH(mont_sqr), BOTH(mont_reduce), BOTH(to_mont), BOTH(from_mont),
      SPARE(mont_mul_lazy), SPARE(mont_sqr_lazy), SPARE(mont_reduce_lazy),
      SOME(mont_pow), SOME(mont_pow_fast), SOME(mod_inverse), SOME(mod_inverse_fast),
      SOME(mont_inverse), SOME(mont_inverse_fast),
  };
}

}  // namespace pippin::probe
