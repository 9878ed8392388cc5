// Kernels of package driver's own tests, for a GPU; fakecuda/testdata/kernels.c
// has the same ones for the fake driver.
//
//   nvcc -fatbin -arch=sm_90 -o kernels.fatbin kernels.cu

// out[i] = a[i] + b[i] for i < n.
extern "C" __global__ void test_add(unsigned long long *out, const unsigned long long *a, const unsigned long long *b,
                                    unsigned long long n) {
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * (unsigned long long)blockDim.x)
    out[i] = a[i] + b[i];
}

// *out = 0 + 1 + ... + n-1, by way of n numbers in dynamic shared memory. One block.
extern "C" __global__ void test_shared(unsigned long long *out, unsigned long long n) {
  extern __shared__ unsigned long long numbers[];
  for (unsigned long long i = threadIdx.x; i < n; i += blockDim.x) numbers[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long sum = 0;
    for (unsigned long long i = 0; i < n; i++) sum += numbers[n - 1 - i];
    *out = sum;
  }
}

// Writes v to an address, valid or not.
extern "C" __global__ void test_poke(unsigned long long *at, long long v, double w) { *at = v + (long long)w; }

// Has a parameter that cu would copy wrongly.
extern "C" __global__ void test_narrow(unsigned long long *out, unsigned n) { *out = n; }
