// Entries of curve.cuh for bls12_381.
#include "entries_curve.cuh"

namespace pippin::probe {

table part_bls12_381() {
  return {
      GROUP_ENTRIES(bls12_381_g1),
      GROUP_ENTRIES(bls12_381_g2),
  };
}

}  // namespace pippin::probe
