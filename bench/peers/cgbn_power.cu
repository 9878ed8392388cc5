// Modular powers by CGBN (include/cgbn/cgbn.h): a number lies in 8 to 32 threads, and a power
// is made with windows of 5 bits by the library's Montgomery products, as its sample of powers
// does. The numbers are on the card before the clock runs. A program tries the numbers of
// threads that the library can do, and keeps the fastest.
//
//   PROGRAM NUMBERS ANSWER N BITS
//
// NUMBERS has the odd modulus, N bases below it and N exponents.
#include "peer.h"

#include <gmp.h> // the library asks for its types on the host

#include "cgbn/cgbn.h"

typedef cgbn_mem_t<WIDTH> number;

constexpr int window = 5; // bits

template <uint32_t threads>
__global__ void powers(const number* modulus, const number* base, const number* exponent, number* answer, uint32_t n) {
  typedef cgbn_context_t<threads> context_t;
  typedef cgbn_env_t<context_t, WIDTH> env_t;
  const uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / threads;
  if (i >= n) return;
  context_t context(cgbn_no_checks);
  env_t env(context);
  typename env_t::cgbn_t m, x, e, t, sum;
  typename env_t::cgbn_local_t table[1 << window]; // x^0, x^1, .. in Montgomery form
  cgbn_load(env, m, (number*)modulus);
  cgbn_load(env, x, (number*)base + i);
  cgbn_load(env, e, (number*)exponent + i);
  cgbn_set_ui32(env, t, 1);
  cgbn_bn2mont(env, sum, t, m);
  cgbn_store(env, table, sum);
  const uint32_t inverse = cgbn_bn2mont(env, x, x, m);
  cgbn_set(env, t, x);
  for (int k = 1; k < 1 << window; k++) {
    cgbn_store(env, table + k, t);
    cgbn_mont_mul(env, t, t, x, m, inverse);
  }
  for (int at = (WIDTH - 1) / window * window; at >= 0; at -= window) {
    for (int k = 0; k < window; k++) cgbn_mont_sqr(env, sum, sum, m, inverse);
    const int bits = at + window > WIDTH ? WIDTH - at : window;
    cgbn_load(env, t, table + cgbn_extract_bits_ui32(env, e, at, bits));
    cgbn_mont_mul(env, sum, sum, t, m, inverse);
  }
  cgbn_mont2bn(env, sum, sum, m, inverse);
  cgbn_store(env, answer + i, sum);
}

static number *modulus, *bases, *exponents, *answers;
static uint32_t n;

template <uint32_t threads>
static double run() {
  cudaLaunchConfig_t config{};
  config.blockDim.x = 128;
  config.gridDim.x = ((uint64_t)n * threads + 127) / 128;
  return peer::timed([&] {
    CUDA(cudaLaunchKernelEx(&config, powers<threads>, modulus, bases, exponents, answers, n));
    CUDA(cudaDeviceSynchronize());
  });
}

int main(int, char** arg) {
  n = strtoul(arg[3], nullptr, 10);
  if (atoi(arg[4]) != WIDTH) peer::fail("this program is for " + std::to_string(WIDTH) + " bits");
  const size_t bytes = sizeof(number) * n;
  const void* given = peer::file(arg[1], sizeof(number) + 2 * bytes);
  void* answer = peer::file(arg[2], bytes, true);
  CUDA(cudaMalloc(&modulus, sizeof(number) + 3 * bytes));
  CUDA(cudaMemcpy(modulus, given, sizeof(number) + 2 * bytes, cudaMemcpyHostToDevice));
  bases = modulus + 1, exponents = bases + n, answers = exponents + n;
  struct { int threads; double (*run)(); } ways[] = {
#if WIDTH <= 2048 // the library's division wants no more limbs in a thread than there are threads
      {8, run<8>},
#endif
      {16, run<16>}, {32, run<32>}}, best = ways[0];
  double least = 1e300;
  for (const auto& way : ways) {
    way.run();
    const double took = std::min(way.run(), way.run());
    if (took < least) least = took, best = way;
  }
  peer::serve(std::to_string(best.threads) + " threads a number, windows of 5 bits", 0, [&](uint8_t*) {
    const double took = best.run();
    CUDA(cudaMemcpy(answer, answers, bytes, cudaMemcpyDeviceToHost));
    return took;
  });
}
