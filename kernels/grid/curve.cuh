// curve.cuh: the curve and group that a file is compiled for, by
// -DPIPPIN_CURVE=bn254 -DPIPPIN_GROUP=g1. This file is the seam where another
// representation of a field is put in: the kernels use group::field and
// group::scalar through the concept Field alone.
#pragma once
#include "../thread/curve.cuh"

#define PIPPIN_QUOTE(x) #x
#define PIPPIN_HEADER(c) PIPPIN_QUOTE(../curves/c.cuh)
#include PIPPIN_HEADER(PIPPIN_CURVE)

namespace pippin::grid {

#if defined(PIPPIN_GROUP)
using group = PIPPIN_GROUP<curves::PIPPIN_CURVE>;
#else
using group = g1<curves::PIPPIN_CURVE>;
#endif
using field = group::field;

}  // namespace pippin::grid
