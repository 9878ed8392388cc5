// outlined.cuh: a field whose products are calls, for code that is not hot.
#pragma once
#include "../thread/curve.cuh"

namespace pippin::grid {

#if defined(__CUDACC__)
#define PIPPIN_CALLED inline __device__ __noinline__
#else
#define PIPPIN_CALLED inline
#endif

// outlined is F with mul and sqr as functions of their own: a point addition is
// then a few hundred instructions instead of ten thousand. Its elements are F's
// words, so that what F stores raw, it may load raw.
template <Field F>
struct outlined : F {
  using elem = typename F::elem;
  PIPPIN_CALLED static elem mul(const elem a, const elem b) { return F::mul(a, b); }
  PIPPIN_CALLED static elem sqr(const elem a) { return F::sqr(a); }
};
template <Field F, int U>
struct outlined<fp2<F, U>> : fp2<outlined<F>, U> {};

// hot<F> is the field for the hot phase: F itself, every product in place, as
// long as the loop then fits the instruction cache. For 24 limbs it does not
// (280 KiB; calls are 4 % faster), for Fp2 over 12 limbs it does just about.
template <Field F, bool Large>
struct hot {
  using type = F;
};
template <Field F>
struct hot<F, true> {
  using type = outlined<F>;
};

}  // namespace pippin::grid
