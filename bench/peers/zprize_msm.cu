// The MSM by yrrid and Snarkify for ZPrize 2023, for scalars of any distribution
// (zprize-2023-uniform-scalars). It makes all multiples of the points before the clock runs.
#include "peer.h"

#include "MSMBatch.cu"

int main(int, char** arg) {
  size_t n = strtoull(arg[3], nullptr, 10);
  size_t point = 2 * 48;
  fflush(stdout);
  int out = dup(1); // the library writes to standard output
  dup2(2, 1);
  void* points = peer::pinned(arg[1], n * point);
  void* scalars = peer::pinned(arg[2], n * 32);
  void* context = createContext(CURVE, 1, (uint32_t)n);
  CUDA((cudaError_t)preprocessPoints(context, points, (uint32_t)n));
  fflush(stdout);
  dup2(out, 1);
  peer::serve("", point, [&](uint8_t* answer) {
    return peer::timed([&] { CUDA((cudaError_t)processBatches(context, answer, &scalars, 1, (uint32_t)n)); });
  });
}
