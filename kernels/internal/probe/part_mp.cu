// Entries of ptx.cuh, carry.cuh and mp.cuh.
#include "ops_mp.cuh"

namespace pippin::probe {

#if defined(PIPPIN_PROBE_SHORT)
#define KARATSUBA_WIDTHS(op) PROBE_N(op, 2), PROBE_N(op, 3), PROBE_N(op, 8)
#define WIDTHS(op) PROBE_N(op, 1), PROBE_N(op, 3)
#define ROWS(op) PROBE_N(op, 1), PROBE_N(op, 3)
#else
// For products: every width to 9, around the curves' and the largest, odd ones
// among them. Karatsuba begins at 2 limbs.
#define KARATSUBA_WIDTHS(op)                                                    \
  PROBE_N(op, 2), PROBE_N(op, 3), PROBE_N(op, 4), PROBE_N(op, 5), PROBE_N(op, 6), \
      PROBE_N(op, 7), PROBE_N(op, 8), PROBE_N(op, 9), PROBE_N(op, 12), PROBE_N(op, 16), \
      PROBE_N(op, 24), PROBE_N(op, 31), PROBE_N(op, 64)
// For what is one chain or one loop over the limbs.
#define WIDTHS(op)                                                              \
  PROBE_N(op, 1), PROBE_N(op, 2), PROBE_N(op, 3), PROBE_N(op, 5), PROBE_N(op, 8), \
      PROBE_N(op, 24), PROBE_N(op, 64)
// Rows are counted in double words.
#define ROWS(op) \
  PROBE_N(op, 1), PROBE_N(op, 2), PROBE_N(op, 3), PROBE_N(op, 6), PROBE_N(op, 16)
#endif
#define PRODUCT_WIDTHS(op) PROBE_N(op, 1), KARATSUBA_WIDTHS(op)

table part_mp() {
  return {
      PROBE_N(ptx_add, 0), PROBE_N(ptx_sub, 0), PROBE_N(ptx_mad_wide, 0), PROBE_N(ptx_mul, 0),
      PROBE_N(ptx_plain, 0), PROBE_N(ptx_reversed, 0), PROBE_N(ptx_funnel, 0),
      WIDTHS(carry_add), WIDTHS(carry_add_in), WIDTHS(carry_add_fit),
      WIDTHS(carry_sub), WIDTHS(carry_sub_in), WIDTHS(carry_sub_fit),
      WIDTHS(carry_less),
      ROWS(carry_mul_row), ROWS(carry_mad_row), ROWS(carry_mad_row_fit),
      ROWS(carry_mad_row_above), ROWS(carry_mad_row_above_fit), ROWS(carry_shift_row),
      ROWS(carry_shift_row_fit), ROWS(carry_shift_row_open), ROWS(carry_diagonal),
      ROWS(carry_add_squares),
      WIDTHS(mp_from_word), WIDTHS(mp_zero), WIDTHS(mp_resize),
      WIDTHS(mp_slice), WIDTHS(mp_add), WIDTHS(mp_add_carry),
      WIDTHS(mp_add_carry_in), WIDTHS(mp_add_exact), WIDTHS(mp_sub),
      WIDTHS(mp_sub_borrow), WIDTHS(mp_sub_borrow_in), WIDTHS(mp_is_zero),
      WIDTHS(mp_eq), WIDTHS(mp_less), WIDTHS(mp_cmp), WIDTHS(mp_select),
      WIDTHS(mp_shl), WIDTHS(mp_shr), WIDTHS(mp_shl1), WIDTHS(mp_shr1),
      PRODUCT_WIDTHS(mp_mul), WIDTHS(mp_mul_low), WIDTHS(mp_mul_by_3), PRODUCT_WIDTHS(mp_sqr),
      KARATSUBA_WIDTHS(mp_mul_karatsuba), WIDTHS(mp_neg), WIDTHS(mp_is_negative),
      WIDTHS(mp_abs), WIDTHS(mp_sign_extend), WIDTHS(mp_sar),
      WIDTHS(mp_less_signed), WIDTHS(mp_mul_signed),
      PROBE_N(mp_mul_bits, 109), PROBE_N(mp_mul_bits, 131), PROBE_N(mp_mul_bits, 163),
      PROBE_N(mp_mul_bits, 191), PROBE_N(mp_mul_bits, 239), PROBE_N(mp_mul_bits, 33),
  };
}

}  // namespace pippin::probe
