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
PIPPIN_HD uint64_t of(const operand& o, uint32_t i) {
  uint64_t p = (uint64_t)o.stride * i;
  if (o.plain) return p;
  p += o.rotate;
  if (p >= o.count) {
    if (o.mask) {
      p &= o.mask;
    } else {
      p -= o.count;
      if (p >= o.count) p %= o.count;
    }
  }
  return o.reversal == 32 ? p : ptx::reversed((uint32_t)p) >> o.reversal;
}

}  // namespace places

// machine is a thread of a map, for Each elements at a time: what instructions cost
// beside their arithmetic they cost once.
template <Field F, uint32_t Each>
struct machine {
  using elem = typename F::elem;
  const operand* operands;    // in shared memory
  const uint32_t* constants;  // not
  uint32_t* slots;
  uint32_t at[Each];  // the elements
  elem x[Each], ahead[Each];

  // Asks for what an instruction has in memory.
  __device__ __forceinline__ void fetch(uint32_t code) {
    const uint32_t from = code & from_mask, index = code >> index_shift;
    if (from == from_operand) {
      const operand& o = operands[index];
      PIPPIN_UNROLL
      for (uint32_t e = 0; e < Each; e++) ahead[e] = F::load(o.memory + places::of(o, at[e]) * F::words);
    } else if (from == from_constant) {
      ahead[0] = F::load(constants + index * F::words);
      PIPPIN_UNROLL
      for (uint32_t e = 1; e < Each; e++) ahead[e] = ahead[0];
    }
  }

  // A slot has the elements of every thread.
  using places_of = block::elements<F, scan_threads>;
  __device__ __forceinline__ places_of slot(uint32_t i, uint32_t e) const { return {slots + (i * Each + e) * places_of::words}; }

  // Does an instruction, and asks for what the next one needs.
  __device__ __forceinline__ void step(uint32_t code, uint32_t next) {
    elem y[Each];
    const uint32_t save = code >> save_shift & 15;
    PIPPIN_UNROLL
    for (uint32_t e = 0; e < Each; e++) y[e] = ahead[e];
    fetch(next);
    PIPPIN_UNROLL
    for (uint32_t e = 0; e < Each; e++) {
      if (save) slot(save - 1, e).put(threadIdx.x, x[e]);
      if ((code & from_mask) == from_slot) y[e] = slot(code >> index_shift, e).get(threadIdx.x);
    }
    apply(code, y);
  }
  __device__ __forceinline__ void apply(uint32_t code, const elem* y) {
    const auto each = [&](auto f) {
      PIPPIN_UNROLL
      for (uint32_t e = 0; e < Each; e++) x[e] = f(x[e], y[e]);
    };
    switch (code & 15) {
      case map_take: return each([](const elem&, const elem& b) { return b; });
      case map_add: return each([](const elem& a, const elem& b) { return F::add(a, b); });
      case map_sub: return each([](const elem& a, const elem& b) { return F::sub(a, b); });
      case map_sub_from: return each([](const elem& a, const elem& b) { return F::sub(b, a); });
      case map_mul: return each([](const elem& a, const elem& b) { return F::mul(a, b); });
      case map_square: return each([](const elem& a, const elem&) { return F::sqr(a); });
      case map_double: return each([](const elem& a, const elem&) { return F::dbl(a); });
      case map_neg: return each([](const elem& a, const elem&) { return F::neg(a); });
    }
  }
};

constexpr uint32_t map_each = words > 8 ? map_each_long : map_each_short;

// Computes count elements. program has `size` words: operands, the first of which
// is written, and from word `instructions` on `codes` instructions and one more.
// Dynamic shared memory: size words and those of the slots that the program uses.
PIPPIN_KERNEL_SHARED((128, 5), map)
(const uint32_t* program, uint64_t size, uint64_t instructions, uint64_t codes, const uint32_t* constants, uint64_t count) {
  PIPPIN_DYNAMIC_SHARED(shared);
  for (uint64_t i = threadIdx.x; i < size; i += scan_threads) shared[i] = program[i];
  __syncthreads();
  const uint32_t* const code = shared + instructions;
  machine<field, map_each> m = {reinterpret_cast<const operand*>(shared), constants, shared + size};
  const uint64_t step = (uint64_t)gridDim.x * scan_threads * map_each;
  for (uint64_t first = (uint64_t)blockIdx.x * scan_threads * map_each + threadIdx.x; first < count; first += step) {
    PIPPIN_UNROLL
    for (uint32_t e = 0; e < map_each; e++) {
      const uint64_t i = first + e * scan_threads;
      m.at[e] = (uint32_t)(i < count ? i : first);  // twice the same one, at the end
    }
    uint32_t next = code[0];
    m.fetch(next);
#pragma unroll 1
    for (uint64_t pc = 1; pc <= codes; pc++) {
      const uint32_t now = next;
      next = code[pc];
      m.step(now, next);
    }
    PIPPIN_UNROLL
    for (uint32_t e = 0; e < map_each; e++) {
      const operand& to = m.operands[0];
      if (e == 0 || m.at[e] != m.at[0]) field::store(to.memory + places::of(to, m.at[e]) * words, m.x[e]);
    }
  }
}

}  // namespace pippin::grid
