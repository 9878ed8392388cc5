// The entries of a group, for the part of its curve.
#pragma once
#include "ops_curve.cuh"

#define GROUP_ENTRIES(g)                                                          \
  PROBE(group_constants, g), PROBE(affine_infinity, g), PROBE(xyzz_infinity, g),  \
      PROBE(jacobian_infinity, g), PROBE(affine_is_infinity, g),                  \
      PROBE(xyzz_is_infinity, g), PROBE(jacobian_is_infinity, g),                 \
      PROBE(affine_is_on_curve, g), PROBE(affine_neg, g), PROBE(xyzz_neg, g),     \
      PROBE(jacobian_neg, g), PROBE(affine_neg_if, g), PROBE(affine_to_xyzz, g),  \
      PROBE(affine_to_jacobian, g), PROBE(xyzz_to_jacobian, g),                   \
      PROBE(xyzz_to_affine, g), PROBE(jacobian_to_affine, g), PROBE(affine_dbl, g), \
      PROBE(xyzz_dbl, g), PROBE(jacobian_dbl, g), PROBE(xyzz_add_affine, g),      \
      PROBE(xyzz_add_affine_raw, g), PROBE(xyzz_add, g), PROBE(jacobian_add_affine, g), \
      PROBE(jacobian_add, g), PROBE(affine_eq, g), PROBE(xyzz_eq, g),             \
      PROBE(affine_chord_denominator, g), PROBE(affine_add_with, g),              \
      PROBE(field_batch_inverse, g), PROBE(law_zero, g), PROBE(law_add, g),       \
      PROBE(law_sub, g), PROBE(law_add_sums, g), PROBE(law_result, g)

#define EDWARDS_ENTRIES(g)                                                        \
  PROBE(edwards_constants, g), PROBE(edwards_neutral, g), PROBE(edwards_denominator, g), \
      PROBE(edwards_from_weierstrass, g), PROBE(edwards_to_weierstrass, g),       \
      PROBE(edwards_neg, g), PROBE(edwards_neg_niels, g), PROBE(edwards_add_niels, g), \
      PROBE(edwards_add, g), PROBE(edwards_dbl, g), PROBE(edwards_to_jacobian, g), \
      PROBE(edwards_law_add, g), PROBE(edwards_law_sub, g),                       \
      PROBE(edwards_law_add_sums, g)
