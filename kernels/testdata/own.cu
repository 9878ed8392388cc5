// own.cu: r[i] = a[i] b[i] modulo p, numbers of 256 bits, a thread each.
#include "thread/mont.cuh"

using num = pippin::mp::num<8>;

// factor is 2^512 modulo p, which is odd; a[i] and b[i] are below p.
extern "C" __global__ void products(const num* a, const num* b, num p, num factor, num* r, int n) {
  pippin::mp::modulus<8> m;
  m.p = p;
  m.minus_inverse = pippin::mp::detail::minus_inverse(p[0]);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    // A product by Montgomery's method is a b / 2^256; the factor takes that away.
    r[i] = pippin::mp::mont_mul(pippin::mp::mont_mul(a[i], b[i], m), factor, m);
  }
}
