// look_back.cc: long.cu's look_back on the host, over states that change between two
// reads. All lanes must go the same way, or they wait for each other for ever.
#include <cstdio>

#include "grid/number/long.cu"

using namespace pippin;
using namespace pippin::grid;

// states are those of tiles of which the nearest hands a carry on when it is first read,
// and knows later what it sends.
struct states {
  mutable uint32_t reads = 0;
  uint32_t then;
  uint32_t operator[](uint64_t tile) const { return tile == 2 ? reads++ == 0 ? tile_hands_on : then : tile_stops; }
};

int main() {
  int wrong = 0;
  for (const uint32_t then : {tile_carries, tile_stops}) {
    const states s = {0, then};
    const fakecuda_launch l = {{1, 1, 1}, {32, 1, 1}, 0};
    host::launch(l, true, [&] {
      wrong += look_back(s, 3, 0) != (then == tile_carries);
      __syncthreads();  // as long_add does
    });
  }
  std::printf("%d lanes are wrong\n", wrong);
  return wrong != 0;
}
