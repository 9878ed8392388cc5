// Entries of curve.cuh for bls12_377, and of edwards.cuh.
#include "entries_curve.cuh"

namespace pippin::probe {

table part_bls12_377() {
  return {
#if !defined(PIPPIN_PROBE_SHORT)
      GROUP_ENTRIES(bls12_377_g1),
      GROUP_ENTRIES(bls12_377_g2),
#endif
      EDWARDS_ENTRIES(bls12_377_g1),
  };
}

}  // namespace pippin::probe
