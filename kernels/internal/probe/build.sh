#!/usr/bin/env bash
# Builds the programs of this folder for a GPU. The host's probe is built by the
# test itself.
#
#   kernels/internal/probe/build.sh OUT        writes OUT/probe, OUT/throughput, OUT/tables
#                                              and OUT/register_cache
#
# CUDA_HOME names the toolkit, ARCH the architecture (sm_90), JOBS how many
# compilers run at once (2).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: build.sh OUT}
nvcc=${CUDA_HOME:?set CUDA_HOME, for example to the output of scripts/install-nvcc}/bin/nvcc
# The host's code is only to compare with: optimized, that of tables takes ten minutes.
flags=(-std=c++20 -arch="${ARCH:-sm_90}" -O3 -Xcompiler -O0 -cudart static)
mkdir -p "$out"

cd "$here"
# What the measurements are of.
digest=$(cat ../../thread/*.cuh ../../curves/*.cuh measure.cuh table.cuh throughput.cu tables.cu \
  ../../warp/sliced.cuh ../../grid/measured/sliced.cu register_cache.cu | sha256sum | cut -c1-16)
flags+=(-DPIPPIN_SOURCE_DIGEST="\"$digest\"")
printf '%s\n' main.cu part_*.cu throughput.cu tables.cu register_cache.cu |
  xargs -P "${JOBS:-2}" -I{} "$nvcc" "${flags[@]}" -c -o "$out/{}.o" {}
"$nvcc" "${flags[@]}" -o "$out/probe" "$out"/main.cu.o "$out"/part_*.cu.o
for program in throughput tables register_cache; do
  "$nvcc" "${flags[@]}" -o "$out/$program" "$out/$program.cu.o"
done
