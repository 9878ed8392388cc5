// Entries of curve.cuh for bn254.
#include "entries_curve.cuh"

namespace pippin::probe {

table part_bn254() {
  return {
      GROUP_ENTRIES(bn254_g1),
      GROUP_ENTRIES(bn254_g2),
  };
}

}  // namespace pippin::probe
