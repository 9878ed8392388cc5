// open-icicle's transform (backend/cuda/src/ntt) of a vector on the card, with its table of
// fast twiddles. A transform is linear: elements in Montgomery form give an answer in it.
#include "peer.h"

#include "icicle/ntt.h"
#include "ntt/ntt.cuh"

typedef field_config::scalar_t S;

// Instances for the device too: without one here its kernels are not compiled.
namespace ntt {
template cudaError_t ntt_cuda<S, S>(const S*, int, NTTDir, const NTTConfig<S>&, int, S*);
}

#ifndef __CUDA_ARCH__
int main(int, char** arg) {
  size_t n = strtoull(arg[3], nullptr, 10), bytes = n * sizeof(S);
  int log = __builtin_ctzll(n);
  peer::keep_pool();
  void* out = peer::file(arg[2], bytes, true);
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  S root = S::omega(log);
  device_context::DeviceContext context{stream, 0, nullptr};
  CUDA(ntt::Domain<S>::init_domain(root, context, true));
  S *vector, *work;
  CUDA(cudaMalloc(&vector, bytes));
  CUDA(cudaMalloc(&work, bytes));
  CUDA(cudaMemcpy(vector, peer::file(arg[1], bytes), bytes, cudaMemcpyHostToDevice));
  auto config = icicle::default_ntt_config<S>();
  config.stream = (icicleStreamHandle)stream;
  config.ordering = strcmp(arg[4], "natural") ? icicle::Ordering::kNR : icicle::Ordering::kNN;
  config.are_inputs_on_device = config.are_outputs_on_device = config.is_async = true;
  peer::serve("", sizeof(S), [&](uint8_t* answer) {
    CUDA(cudaMemcpy(work, vector, bytes, cudaMemcpyDeviceToDevice));
    double took = peer::timed([&] {
      CUDA((ntt::ntt_cuda<S, S>(work, (int)n, icicle::NTTDir::kForward, config, 0, work)));
      CUDA(cudaStreamSynchronize(stream));
    });
    CUDA(cudaMemcpy(out, work, bytes, cudaMemcpyDeviceToHost));
    memcpy(answer, (void*)&root, sizeof root);
    return took;
  });
}
#endif
