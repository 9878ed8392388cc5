// The MSM by yrrid and Snarkify for ZPrize 2023, for scalars of any distribution
// (zprize-2023-uniform-scalars). It makes all multiples of the points before the clock runs.
#include "peer.h"

#include "MSMBatch.cu"

int main(int, char** arg) {
  size_t n = strtoull(arg[3], nullptr, 10);
  size_t point = 2 * 48;
  if (n > 1 << 25) peer::fail("its sizes in bytes are numbers of 32 bits: at most 2^25 points");
  peer::aside();
  void* points = peer::pinned(arg[1], n * point);
  void* scalars = peer::pinned(arg[2], n * 32);
  void* context = createContext(CURVE, 1, (uint32_t)n);
  CUDA((cudaError_t)preprocessPoints(context, points, (uint32_t)n));
  peer::serve("", point, [&](uint8_t* answer) {
    return peer::timed([&] { CUDA((cudaError_t)processBatches(context, answer, &scalars, 1, (uint32_t)n)); });
  });
}
