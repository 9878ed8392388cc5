// curve.cuh: the names of headers of kernels/curves.
#pragma once

// PIPPIN_HEADER(PIPPIN_CURVE) is the header of the curve that a file is compiled for, as an
// #include in a folder of grid names it: -DPIPPIN_CURVE=bn254. kernelgen reads such lines.
#define PIPPIN_QUOTE(x) #x
#define PIPPIN_HEADER(c) PIPPIN_QUOTE(../../curves/c.cuh)
