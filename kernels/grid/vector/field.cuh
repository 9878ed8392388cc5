// field.cuh: the field that a file is compiled for, by -DPIPPIN_CURVE=bn254.
#pragma once
#include "../../block/elements.cuh"
#include "../curve.cuh"
#include "layout.cuh"

#include PIPPIN_HEADER(PIPPIN_CURVE)

namespace pippin::grid {

using field = prime_field<curves::PIPPIN_CURVE::fr>;
constexpr int words = field::words;

}  // namespace pippin::grid
