// overwrite.cu: what threads leave behind when they end: their stacks, in local
// memory, and the shared memory of their multiprocessor. Whoever runs there next
// can read it, as inspect does.
//
// One launch reaches the stacks of all threads when it fills the device: as many
// blocks as are resident at a time, launched cooperatively. Another one, of a
// block a multiprocessor with the most dynamic shared memory that a block may
// have, reaches that.
#include "../kernel.cuh"

namespace pippin::grid {

// Compiled for the bytes of a stack: every stack begins where this one does, so
// that the kernels of the next larger size reach all of it.
constexpr uint32_t stack_words = PIPPIN_STACK / 4;

// Writes value to the stack of every thread, and to shared_words words of the
// block's dynamic shared memory.
PIPPIN_KERNEL_SHARED((256, 8), overwrite)(uint64_t value, uint64_t shared_words) {
  PIPPIN_DYNAMIC_SHARED(shared);
  volatile uint32_t stack[stack_words];
#pragma unroll 1
  for (uint32_t i = 0; i < stack_words; i++) stack[i] = (uint32_t)value;
  for (uint64_t i = threadIdx.x; i < shared_words; i += blockDim.x) shared[i] = (uint32_t)value;
}

// Adds to different[0] how many words of the stacks, and to different[1] how many
// words of shared memory, are not value when a thread begins. A thread of the
// host begins with the stack of its process: there only shared memory counts.
PIPPIN_KERNEL_SHARED((256, 8), inspect)(uint64_t value, uint64_t shared_words, uint32_t* different) {
  PIPPIN_DYNAMIC_SHARED(shared);
  uint32_t on_stack = 0, in_shared = 0;
#if defined(__CUDACC__)
  volatile uint32_t stack[stack_words];
#pragma unroll 1
  for (uint32_t i = 0; i < stack_words; i++) on_stack += stack[i] != (uint32_t)value;
#endif
  for (uint64_t i = threadIdx.x; i < shared_words; i += blockDim.x) in_shared += shared[i] != (uint32_t)value;
  if (on_stack) atomicAdd(&different[0], on_stack);
  if (in_shared) atomicAdd(&different[1], in_shared);
}

}  // namespace pippin::grid
