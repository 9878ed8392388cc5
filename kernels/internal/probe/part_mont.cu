// Entries of mont.cuh and fixed.cuh, by the bits of the modulus.
#include "ops_mont.cuh"

namespace pippin::probe {

#if defined(PIPPIN_PROBE_SHORT)
#define SPARE(op) PROBE_N(op, 29), PROBE_N(op, 131), PROBE_N(op, 255)
#define FULL(op) PROBE_N(op, 32), PROBE_N(op, 256)
#define PRODUCTS(op) SPARE(op), FULL(op)
#define SUMS(op) PROBE_N(op, 131), PROBE_N(op, 256)
#define SOME(op) PROBE_N(op, 96), PROBE_N(op, 256)
#define HIGH(op) PROBE_N(op, 2), PROBE_N(op, 5), PROBE_N(op, 8)
#define FIXED(op) PROBE_N(op, 61), PROBE_N(op, 131), PROBE_N(op, 255)
#else
// With at least a spare bit: the lazy operations exist. 29 bits is one limb; 109
// to 239 take 4 to 8 limbs, 131 an odd number.
#define SPARE(op)                                                               \
  PROBE_N(op, 29), PROBE_N(op, 61), PROBE_N(op, 109), PROBE_N(op, 131), PROBE_N(op, 163), \
      PROBE_N(op, 191), PROBE_N(op, 239), PROBE_N(op, 255), PROBE_N(op, 377), PROBE_N(op, 761)
// No spare bit: sums of residues carry.
#define FULL(op)                                                                \
  PROBE_N(op, 32), PROBE_N(op, 64), PROBE_N(op, 96), PROBE_N(op, 128), PROBE_N(op, 160), \
      PROBE_N(op, 256), PROBE_N(op, 384), PROBE_N(op, 512), PROBE_N(op, 768), PROBE_N(op, 1024)
#define PRODUCTS(op) SPARE(op), FULL(op), PROBE_N(op, 2048)
// What is one loop over the limbs.
#define SUMS(op)                                                                \
  PROBE_N(op, 29), PROBE_N(op, 131), PROBE_N(op, 255), PROBE_N(op, 32), PROBE_N(op, 96), \
      PROBE_N(op, 256), PROBE_N(op, 1024)
// Inverses and powers, whose model is slow.
#define SOME(op)                                                                \
  PROBE_N(op, 32), PROBE_N(op, 96), PROBE_N(op, 131), PROBE_N(op, 256), PROBE_N(op, 381), \
      PROBE_N(op, 768), PROBE_N(op, 1024)
// By limbs.
#define HIGH(op) \
  PROBE_N(op, 2), PROBE_N(op, 3), PROBE_N(op, 4), PROBE_N(op, 5), PROBE_N(op, 8), PROBE_N(op, 12), \
      PROBE_N(op, 24), PROBE_N(op, 64)
// From two limbs on, with a spare bit.
#define FIXED(op)                                                               \
  PROBE_N(op, 61), PROBE_N(op, 95), PROBE_N(op, 131), PROBE_N(op, 239), PROBE_N(op, 255), \
      PROBE_N(op, 377), PROBE_N(op, 761)
#endif

table part_mont() {
  return {
      SUMS(mont_make_modulus), SUMS(mod_add), SUMS(mod_sub), SUMS(mod_dbl), SUMS(mod_neg),
      PRODUCTS(mont_mul), PRODUCTS(mont_sqr), SUMS(mont_reduce), SUMS(to_mont), SUMS(from_mont),
      SPARE(mont_mul_lazy), SPARE(mont_sqr_lazy), SPARE(mont_reduce_lazy),
      SOME(mont_pow), SOME(mont_pow_fast), SOME(mod_inverse), SOME(mont_inverse),
      HIGH(mul_high), FIXED(make_factor), FIXED(mul_fixed_lazy),
  };
}

}  // namespace pippin::probe
