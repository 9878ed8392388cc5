#!/usr/bin/env bash
# Builds the programs of this folder for a GPU. The host's probe is built by the
# test itself.
#
#   kernels/probe/build.sh OUT        writes OUT/probe and OUT/throughput
#
# CUDA_HOME names the toolkit, ARCH the architecture (sm_90), JOBS how many
# compilers run at once (2).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: build.sh OUT}
nvcc=${CUDA_HOME:?set CUDA_HOME, for example to the output of scripts/install-nvcc}/bin/nvcc
flags=(-std=c++20 -arch="${ARCH:-sm_90}" -O3 -cudart static)
mkdir -p "$out"

cd "$here"
# What the measurements are of.
digest=$(cat ../thread/*.cuh ../curves/*.cuh throughput.cu | sha256sum | cut -c1-16)
flags+=(-DPIPPIN_SOURCE_DIGEST="\"$digest\"")
printf '%s\n' main.cu part_*.cu throughput.cu |
  xargs -P "${JOBS:-2}" -I{} "$nvcc" "${flags[@]}" -c -o "$out/{}.o" {}
"$nvcc" "${flags[@]}" -o "$out/probe" "$out"/main.cu.o "$out"/part_*.cu.o
"$nvcc" "${flags[@]}" -o "$out/throughput" "$out"/throughput.cu.o
