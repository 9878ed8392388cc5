// sppark's MSM (msm/pippenger.cuh). The points are on the card before the clock runs.
#include "peer.h"

#if defined(FEATURE_BLS12_381)
#include <ff/bls12-381-fp2.hpp>
#elif defined(FEATURE_BLS12_377)
#include <ff/bls12-377-fp2.hpp>
#elif defined(FEATURE_BN254)
#include <ff/alt_bn128-fp2.hpp>
#endif
#include <ec/jacobian_t.hpp>
#include <ec/xyzz_t.hpp>

#ifdef G2_ENABLED
typedef fp2_t field;
#else
typedef fp_t field;
#endif
typedef jacobian_t<field> point_t;
typedef xyzz_t<field> bucket_t;
typedef bucket_t::affine_t affine_t;
typedef fr_t scalar_t;

#include <msm/pippenger.cuh>
#include <util/all_gpus.cpp>

#ifndef __CUDA_ARCH__
// Coordinates as these types have them in memory.
struct jacobian {
  field x, y, z;
};
struct affine {
  field x, y;
};
static_assert(sizeof(jacobian) == sizeof(point_t) && sizeof(affine) == sizeof(affine_t), "another layout");

int main(int, char** arg) {
  size_t n = strtoull(arg[3], nullptr, 10);
  if (strcmp(arg[4], "1")) peer::fail("sppark makes no multiples of points");
  peer::keep_pool();
  auto* points = (const affine_t*)peer::pinned(arg[1], n * sizeof(affine));
  auto* scalars = (const scalar_t*)peer::pinned(arg[2], n * sizeof(scalar_t));
  msm_t<bucket_t, point_t, affine_t, scalar_t> msm(points, n);
  peer::serve("", sizeof(affine), [&](uint8_t* answer) {
    point_t sum;
    double took = peer::timed([&] {
      RustError e = msm.invoke(sum, (const affine_t*)nullptr, n, scalars, false);
      if (e.code) peer::fail("sppark: " + std::string(e.message ? e.message : cudaGetErrorString((cudaError_t)e.code)));
    });
    if (!sum.is_inf()) {
      jacobian j;
      memcpy((void*)&j, (void*)&sum, sizeof j);
      field inverse = 1 / j.z, square = inverse * inverse;
      affine a{j.x * square, j.y * square * inverse};
      memcpy(answer, (void*)&a, sizeof a);
    }
    return took;
  });
}
#endif
