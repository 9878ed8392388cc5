// In place of the header of this name of open-icicle and icicle-gnark: their MSM by their own
// arithmetic for the host, a product for each scalar.
#pragma once
#include <cuda_runtime.h>

#include "icicle/curves/affine.h"
#include "icicle/curves/projective.h"
#include "icicle/fields/field.h"
#include "icicle/msm.h"

#define MAX_C_FOR_PRECOMPUTATION 22

namespace msm {

inline int get_optimal_c(int n) { return std::max((int)std::ceil(std::log2(n)) - 4, 1); }

template <class S, class A, class P>
cudaError_t cuda_precompute_msm_points(const A* points, int n, const icicle::MSMConfig& config, A* multiples) {
  for (int i = 0; i < n; i++) std::fill_n(multiples + i * config.precompute_factor, config.precompute_factor, points[i]);
  return cudaSuccess;
}

template <class S, class A, class P>
cudaError_t msm_cuda(const S* scalars, const A* points, int n, const icicle::MSMConfig& config, P* sum) {
  *sum = P::zero();
  for (int i = 0; i < n; i++) *sum = *sum + scalars[i] * P::from_affine(points[i * config.precompute_factor]);
  return cudaSuccess;
}

} // namespace msm
