// The MSM of open-icicle and of icicle-gnark (backend/cuda/src/msm/cuda_msm.cuh). The points
// and their multiples are on the card before the clock runs. A program tries the window
// that the library chooses and those near it, and keeps the fastest.
#include "peer.h"

#include "cuda_msm.cuh"
#include "icicle/curves/curve_config.h"

using namespace curve_config;
typedef scalar_t S;
#ifdef G2_ENABLED
typedef g2_affine_t A;
typedef g2_projective_t P;
#else
typedef affine_t A;
typedef projective_t P;
#endif
typedef decltype(A::x) F;

#ifdef ICICLE_GNARK // whose functions are static
static A to_plain(const A& a) { return A::from_montgomery(a); }
// The library's inverse, which its to_affine uses, is wrong on the host when nvcc 13.5
// compiles it, and right when g++ does. So this is z^(p-2), by the library's products.
static A to_memory(const P& p) {
  auto exponent = F::get_modulus();
  uint64_t borrow = 2;
  for (uint32_t& limb : exponent.limbs) {
    const uint64_t less = limb - borrow;
    limb = (uint32_t)less;
    borrow = less >> 63;
  }
  F inverse = F::one();
  for (int i = 8 * sizeof exponent.limbs - 1; i >= 0; i--) {
    inverse = inverse * inverse;
    if (exponent.limbs[i / 32] >> i % 32 & 1) inverse = inverse * p.z;
  }
  return A::to_montgomery(A{p.x * inverse, p.y * inverse});
}
#else
static A to_plain(const A& a) { return a.from_montgomery(); }
static A to_memory(P p) { return p.to_affine().to_montgomery(); }
#endif

// card is the points of an MSM on the card, for one window.
struct card {
  const A* points;
  S* scalars;
  int n;
  icicle::MSMConfig config = icicle::default_msm_config();
  icicle::ConfigExtension extension;
  A* multiples = nullptr;

  card(const A* points, S* scalars, int n, int factor, int window) : points(points), scalars(scalars), n(n) {
    config.precompute_factor = factor;
    config.c = window;
    config.are_points_on_device = true;
    if (factor == 1) return;
    CUDA(cudaMalloc(&multiples, sizeof(A) * n * factor));
    config.ext = &extension;
    CUDA((msm::cuda_precompute_msm_points<S, A, P>(points, n, config, multiples)));
    CUDA(cudaDeviceSynchronize());
  }
  ~card() {
    if (multiples) CUDA(cudaFree(multiples));
  }

  double run(P* sum) {
    config.ext = &extension;
    return peer::timed([&] { CUDA((msm::msm_cuda<S, A, P>(scalars, multiples ? multiples : points, n, config, sum))); });
  }
};

// window is the bits of the fastest window.
static int window(const A* points, S* scalars, int n, int factor) {
  int chosen = msm::get_optimal_c(n), best = 0;
  double least = 1e300;
  for (int c : {0, chosen - 1, chosen + 1, chosen + 2}) { // 0: as the library chooses
    if (factor > 1 && c > MAX_C_FOR_PRECOMPUTATION) continue;
    card t(points, scalars, n, factor, c);
    P sum;
    t.run(&sum);
    double took = std::min(t.run(&sum), t.run(&sum));
    if (took < least) least = took, best = c;
  }
  return best;
}

int main(int, char** arg) {
  size_t n = strtoull(arg[3], nullptr, 10);
  int factor = atoi(arg[4]);
  peer::keep_pool();
  auto* given = (const A*)peer::file(arg[1], n * sizeof(A));
  auto* scalars = (S*)peer::pinned(arg[2], n * sizeof(S));
  std::vector<A> converted(n);
  peer::shared(n, [&](size_t from, size_t to) {
    for (size_t i = from; i < to; i++) converted[i] = to_plain(given[i]);
  });
  A* points;
  CUDA(cudaMalloc(&points, n * sizeof(A)));
  CUDA(cudaMemcpy(points, converted.data(), n * sizeof(A), cudaMemcpyHostToDevice));
  int c = window(points, scalars, (int)n, factor);
  card all(points, scalars, (int)n, factor, c);
  peer::serve(c ? "windows of " + std::to_string(c) + " bits" : "windows as the library chooses", sizeof(A), [&](uint8_t* answer) {
    P sum;
    double took = all.run(&sum);
    if (!(sum.z == F::zero())) {
      A a = to_memory(sum);
      memcpy(answer, (void*)&a, sizeof a);
    }
    return took;
  });
}
