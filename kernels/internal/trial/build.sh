#!/bin/sh
# Builds six for sm_90: build.sh PIPPIN, with CUDA_HOME set.
set -e
cd "$(dirname "$0")"
kernels=$1/kernels
python3 constants.py
python3 pairs.py "$kernels"
go() {
  out=$1 in=$2
  shift 2
  "$CUDA_HOME/bin/nvcc" -std=c++20 -O3 -gencode=arch=compute_90,code=sm_90 -I "$kernels" -I . "$@" -c -o "$out" "$in"
}
bn254="-DPIPPIN_CURVE=bn254 -DPIPPIN_GROUP=g1 -DPIPPIN_FOR=bn254_g1"
go digits.o digits.cu $bn254
go loop.o loop.cu $bn254
for size in 96 144 192; do go pairs_$size.o pairs_$size.cu -DPIPPIN_CURVE=bls12_381 -DPIPPIN_GROUP=g1 -DPIPPIN_FOR=p$size; done
go pairs_host.o pairs_host.cu
go main.o main.cu
"$CUDA_HOME/bin/nvcc" -cudart static -Xcompiler=-static-libstdc++,-static-libgcc -gencode=arch=compute_90,code=sm_90 -o six main.o digits.o loop.o pairs_96.o pairs_144.o pairs_192.o pairs_host.o
strip six
