// outlined.cuh: a field whose products are calls, for code that is not hot.
//
// Contract: that of the field. Scope: one thread. Cost: a call for each product.
#pragma once
#include "fp2.cuh"

#if defined(__CUDACC__)
#define PIPPIN_CALLED inline __device__ __noinline__
#else
#define PIPPIN_CALLED inline
#endif

namespace pippin {

// outlined is F with mul and sqr as called functions, not in place. A point addition is then a
// few hundred instructions instead of ten thousand. Its elements are F's words, so it may load
// raw what F stores raw.
template <Field F>
struct outlined : F {
  using elem = typename F::elem;
  PIPPIN_CALLED static elem mul(const elem a, const elem b) { return F::mul(a, b); }
  PIPPIN_CALLED static elem sqr(const elem a) { return F::sqr(a); }
  PIPPIN_HD static elem mul_sub(const elem& a, const elem& b, const elem& c, const elem& d) {
    return F::sub(mul(a, b), mul(c, d));
  }
};
template <Field F, int U>
struct outlined<fp2<F, U>> : fp2<F, U> {
  using elem = typename fp2<F, U>::elem;
  PIPPIN_CALLED static elem mul(const elem a, const elem b) { return fp2<F, U>::mul_wide(a, b); }
  PIPPIN_CALLED static elem sqr(const elem a) { return fp2<F, U>::sqr(a); }
  PIPPIN_HD static elem mul_sub(const elem& a, const elem& b, const elem& c, const elem& d) {
    return fp2<F, U>::sub(mul(a, b), mul(c, d));
  }
};

}  // namespace pippin
