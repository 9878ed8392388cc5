// map.cu: an expression over vectors, computed for every element by itself.
// Compiled for one curve's scalar field.
//
// The host makes of the stack code a program for a machine with one register x and
// slots, the stack below its top, whose depth is known at every instruction:
//
//   instruction   bits 0-3 operation | 4-5 where y is | 8-11 save | 16-31 index
//   it does       slot[save - 1] = x, when there is one to save
//                 y = slot, operand's element or constant
//                 x = x op y
//
// so that a b - c is: take a; mul b; sub c, with no slot. What the next
// instruction reads from memory is asked for before this one computes.
#include "field.cuh"

namespace pippin::grid {

namespace places {

// The place of a sequence's element i.
PIPPIN_HD uint64_t of(const operand& o, uint64_t i) {
  uint64_t p = o.stride * i + o.rotate;
  if (p >= o.count) {
    if (o.mask) {
      p &= o.mask;
    } else {
      p -= o.count;
      if (p >= o.count) p %= o.count;
    }
  }
  return o.reversal == 32 ? p : all_reversed((uint32_t)p) >> o.reversal;
}

}  // namespace places

// machine is where a program's parts are in shared memory.
template <Field F>
struct machine {
  using elem = typename F::elem;
  const operand* operands;
  const uint32_t* constants;
  uint32_t* slots;

  // What an instruction has in memory or among constants.
  __device__ __forceinline__ elem fetch(uint32_t code, uint64_t i) const {
    const uint32_t from = code & from_mask, index = code >> index_shift;
    const uint32_t* at = nullptr;
    if (from == from_operand) at = operands[index].memory + places::of(operands[index], i) * F::words;
    if (from == from_constant) at = constants + index * F::words;
    return at ? F::load(at) : F::zero();
  }
  // A slot has an element of every thread.
  using slot = block::elements<F, scan_threads>;
  __device__ __forceinline__ elem get(uint32_t i) const { return slot{slots + i * slot::words}.get(threadIdx.x); }
  __device__ __forceinline__ void put(uint32_t i, const elem& x) const { slot{slots + i * slot::words}.put(threadIdx.x, x); }

  __device__ __forceinline__ static elem compute(uint32_t code, const elem& x, const elem& y) {
    switch (code & 15) {
      case map_take: return y;
      case map_add: return F::add(x, y);
      case map_sub: return F::sub(x, y);
      case map_sub_from: return F::sub(y, x);
      case map_mul: return F::mul(x, y);
      case map_square: return F::sqr(x);
      case map_double: return F::dbl(x);
      case map_neg: return F::neg(x);
      default: return x;
    }
  }
};

// Computes count elements. program has `size` words: operands, the first of which
// is written, constants, and `codes` instructions and one more. Dynamic shared
// memory: size words and those of the slots that the program uses.
PIPPIN_KERNEL_SHARED((128), map)
(const uint32_t* program, uint64_t size, uint64_t constants, uint64_t instructions, uint64_t codes, uint64_t count) {
  PIPPIN_DYNAMIC_SHARED(shared);
  for (uint64_t i = threadIdx.x; i < size; i += scan_threads) shared[i] = program[i];
  __syncthreads();
  const machine<field> m = {reinterpret_cast<const operand*>(shared), shared + constants, shared + size};
  const uint32_t* const code = shared + instructions;
  const uint64_t step = (uint64_t)gridDim.x * scan_threads;
  for (uint64_t i = (uint64_t)blockIdx.x * scan_threads + threadIdx.x; i < count; i += step) {
    uint32_t next = code[0];
    field::elem x = field::zero(), ahead = m.fetch(next, i);
#pragma unroll 1
    for (uint64_t pc = 1; pc <= codes; pc++) {
      const uint32_t now = next, save = now >> save_shift & 15;
      field::elem y = ahead;
      next = code[pc];
      ahead = m.fetch(next, i);
      if (save) m.put(save - 1, x);
      if ((now & from_mask) == from_slot) y = m.get(now >> index_shift);
      x = m.compute(now, x, y);
    }
    field::store(m.operands[0].memory + places::of(m.operands[0], i) * words, x);
  }
}

}  // namespace pippin::grid
