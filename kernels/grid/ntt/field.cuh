// field.cuh: the field that a file is compiled for, and its roots of unity.
#pragma once
#include "../curve.cuh"
#include PIPPIN_HEADER(PIPPIN_CURVE)
#include PIPPIN_HEADER(PIPPIN_ROOTS)

namespace pippin::grid {

using field = curves::PIPPIN_CURVE::fr;
using roots = curves::PIPPIN_ROOTS;

}  // namespace pippin::grid
