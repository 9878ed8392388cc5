#include "check.h"
void run_digits();
void run_loop();
void run_pairs();
int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  std::printf("%s, %d multiprocessors, %.0f GB\n", p.name, p.multiProcessorCount, p.totalGlobalMem / 1e9);
  run_digits();
  std::fflush(stdout);
  run_loop();
  std::fflush(stdout);
  run_pairs();
}
