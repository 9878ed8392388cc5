// sppark's transform (ntt/ntt.cuh) of a vector on the card.
#include "peer.h"

#if defined(FEATURE_BLS12_381)
#include <ff/bls12-381.hpp>
#elif defined(FEATURE_BLS12_377)
#include <ff/bls12-377.hpp>
#elif defined(FEATURE_BN254)
#include <ff/alt_bn128.hpp>
#endif
#include <ntt/ntt.cuh>
#include <util/all_gpus.cpp>

#ifndef __CUDA_ARCH__
int main(int, char** arg) {
  size_t n = strtoull(arg[3], nullptr, 10), bytes = n * sizeof(fr_t);
  int log = __builtin_ctzll(n);
  auto order = strcmp(arg[4], "natural") ? NTT::InputOutputOrder::NR : NTT::InputOutputOrder::NN;
  peer::keep_pool();
  void* out = peer::file(arg[2], bytes, true);
  fr_t *vector, *work;
  CUDA(cudaMalloc(&vector, bytes));
  CUDA(cudaMalloc(&work, bytes));
  CUDA(cudaMemcpy(vector, peer::file(arg[1], bytes), bytes, cudaMemcpyHostToDevice));
  stream_t& stream = const_cast<gpu_t&>(select_gpu(0));
  fr_t root = forward_roots_of_unity[log];
  root.from(); // a plain number
  peer::serve("", sizeof(fr_t), [&](uint8_t* answer) {
    CUDA(cudaMemcpy(work, vector, bytes, cudaMemcpyDeviceToDevice));
    double took = peer::timed([&] {
      NTT::Base_dev_ptr(stream, work, log, order, NTT::Direction::forward, NTT::Type::standard);
      stream.sync();
    });
    CUDA(cudaMemcpy(out, work, bytes, cudaMemcpyDeviceToHost));
    memcpy(answer, (void*)&root, sizeof root);
    return took;
  });
}
#endif
