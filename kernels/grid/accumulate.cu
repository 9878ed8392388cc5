// accumulate.cu: the hot phase. A thread adds up the points of one task.
// Compiled for one curve and group.
#include "grid.cuh"
#include "curve.cuh"
#include "outlined.cuh"

namespace pippin::grid {

using hot_field = hot<field, (group::curve::fp::limbs > 12)>::type;

// Writes 2p to out, for the point p at src or its negative. It happens when a
// base repeats, and talks through memory to cost the hot loop no registers.
PIPPIN_CALLED void double_point(uint32_t* out, const uint32_t* src, bool minus) {
  using G = outlined<field>;
  store_xyzz_raw(out, dbl(neg_if(minus, load_affine<G>(src))));
}

}  // namespace pippin::grid

// values: sorted entries of all sets. points: affine, gnark-crypto's layout,
// entry v is points[v]. A task adds to buckets[to], or sets slots[to] when its
// run was split; both are XYZZ in the field's own representatives.
// Cost: 8M + 2S an entry.
PIPPIN_GROUP_KERNEL((128), accumulate)
(const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, uint32_t* buckets,
 uint32_t* slots) {
  using namespace pippin;
  using namespace pippin::grid;
  using F = hot_field;
  constexpr uint64_t W = F::words;
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= reinterpret_cast<const plan*>(work)->tasks) return;
  const uint32_t start = tasks[3 * t], length_split = tasks[3 * t + 1], to = tasks[3 * t + 2];
  const uint32_t length = length_split & ~negative;
  const bool is_split = (length_split & negative) != 0;

  uint32_t* out = (is_split ? slots : buckets) + to * 4 * W;
  xyzz<F> sum = is_split ? xyzz_infinity<F>() : load_xyzz<F>(out);
  values += start;
  uint32_t next = values[0];
#pragma unroll 1
  for (uint32_t i = 0; i < length; i++) {
    const uint32_t v = next;
    if (i + 1 < length) next = values[i + 1];
    const uint32_t* src = points + (v & ~negative) * (2 * W);
    const affine<F> p = neg_if((v & negative) != 0, load_affine<F>(src));
    if (is_infinity(p)) continue;
    if (is_infinity(sum)) {
      sum = {p.x, p.y, F::one(), F::one()};
      continue;
    }
    const auto h = F::sub(F::mul(p.x, sum.zz), sum.x), r = F::sub(F::mul(p.y, sum.zzz), sum.y);
    if (F::is_zero(h)) {
      if (F::is_zero(r)) {
        double_point(out, src, (v & negative) != 0);
        sum = load_xyzz<F>(out);
      } else {
        sum = xyzz_infinity<F>();
      }
      continue;
    }
    sum = detail::add_tail<F>(sum.x, sum.y, h, r, sum.zz, sum.zzz);
  }
  store_xyzz_raw(out, sum);
}
