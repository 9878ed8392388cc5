// field.cuh: the field that a file is compiled for, and its roots of unity.
#pragma once
#define PIPPIN_QUOTE(x) #x
#define PIPPIN_HEADER(c) PIPPIN_QUOTE(../../curves/c.cuh)
#include PIPPIN_HEADER(PIPPIN_CURVE)
#include PIPPIN_HEADER(PIPPIN_ROOTS)

namespace pippin::grid {

using field = curves::PIPPIN_CURVE::fr;
using roots = curves::PIPPIN_ROOTS;

}  // namespace pippin::grid
