// Entries of curve.cuh for bw6_761.
#include "entries_curve.cuh"

namespace pippin::probe {

table part_bw6_761() {
  return {
      GROUP_ENTRIES(bw6_761_g1),
      GROUP_ENTRIES(bw6_761_g2),
  };
}

}  // namespace pippin::probe
