// Entries of field.cuh, fixed.cuh and fp2.cuh.
#include "ops_field.cuh"

namespace pippin::probe {

#if defined(PIPPIN_PROBE_SHORT)
// Each kind: with room for multiples, without, and the larger one.
#define PRIME(op) PROBE(op, bn254_fp), PROBE(op, bls12_381_fr), PROBE(op, bls12_377_fp)
#define QUADRATIC(op) PROBE(op, bn254_fp2), PROBE(op, bls12_377_fp2)
#define LOOPS(op) PROBE(op, bn254_fp_loop), PROBE(op, bls12_377_fp_loop)
#define INVERTED(op) PROBE(op, bn254_fp), PROBE(op, bls12_381_fr), PROBE(op, bn254_fp2)
#else
#define PRIME(op)                                                                    \
  PROBE(op, bn254_fp), PROBE(op, bn254_fr), PROBE(op, bls12_377_fp), PROBE(op, bls12_377_fr), \
      PROBE(op, bls12_381_fp), PROBE(op, bls12_381_fr), PROBE(op, bw6_761_fp),       \
      PROBE(op, bw6_761_fr)
#define QUADRATIC(op) \
  PROBE(op, bn254_fp2), PROBE(op, bls12_377_fp2), PROBE(op, bls12_381_fp2)
#define LOOPS(op) PROBE(op, bn254_fp_loop), PROBE(op, bls12_377_fp_loop), PROBE(op, bls12_381_fp_loop), PROBE(op, bw6_761_fp_loop)
#define INVERTED(op) FIELDS(op)
#endif
#define FIELDS(op) PRIME(op), QUADRATIC(op)

table part_field() {
  return {
      FIELDS(field_zero), FIELDS(field_one), FIELDS(field_add), FIELDS(field_sub),
      FIELDS(field_neg), FIELDS(field_dbl), FIELDS(field_mul), FIELDS(field_sqr),
      LOOPS(field_mul), LOOPS(field_sqr), PRIME(field_product), LOOPS(field_product),
      FIELDS(field_mul_sub), QUADRATIC(fp2_mul_wide),
      INVERTED(field_inv), FIELDS(field_raw), FIELDS(field_is_zero),
      FIELDS(field_eq), FIELDS(field_select), FIELDS(field_load), FIELDS(field_store),
      QUADRATIC(fp2_minus_u_squared), PRIME(field_to_integer), PRIME(field_from_integer),
      PRIME(fe_add_lazy), PRIME(fe_sub_lazy), PRIME(fe_sub), PRIME(fe_mul), PRIME(fe_sqr),
      PRIME(fe_mul_fixed), PRIME(fe_reduce), PRIME(fe_widen), PRIME(fe_is_zero),
  };
}

}  // namespace pippin::probe
