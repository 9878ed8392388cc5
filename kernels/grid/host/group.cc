// group.cc: the kernels of a curve's group, and with G1 those of its scalars, for
// the host. Compiled with PIPPIN_CURVE and PIPPIN_GROUP.
#include "../accumulate.cu"
#include "../points.cu"
#include "../reduce.cu"

PIPPIN_EXPORT_OF(PIPPIN_OF_GROUP(accumulate), false)
PIPPIN_EXPORT_OF(PIPPIN_OF_GROUP(fold), false)
PIPPIN_EXPORT_OF(PIPPIN_OF_GROUP(fold_finish), false)
PIPPIN_EXPORT_OF(PIPPIN_OF_GROUP(reduce), false)
PIPPIN_EXPORT_OF(PIPPIN_OF_GROUP(set_sums), false)
PIPPIN_EXPORT_OF(PIPPIN_OF_GROUP(check), false)

#if defined(PIPPIN_SCALARS)
#include "../digits.cu"
PIPPIN_EXPORT_OF(PIPPIN_OF_CURVE(digits), false)
#endif
