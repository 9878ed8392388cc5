// launch.cc: the fibers behind launch.h.
#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "launch.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(from, to)
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace pippin::host {
namespace {

enum class state { ready, at_block, at_warp, done };

// A fiber starts as a context of its own stack; after that jumps are enough,
// which unlike swapcontext make no system call.
struct fiber {
  ucontext_t context;
  jmp_buf at;
  bool started = false;
  std::vector<char> stack;
  state now = state::done;
  uint32_t given = 0;
};

constexpr size_t stack_bytes = 256 << 10;
std::vector<fiber> fibers;
ucontext_t start;
jmp_buf scheduler;
const std::function<void()>* body;

void run_thread() {
  (*body)();
  fibers[threadIdx.x].now = state::done;
  _longjmp(scheduler, 1);
}

void give_way(state why) {
  const uint32_t me = threadIdx.x;
  fibers[me].now = why;
  if (!_setjmp(fibers[me].at)) _longjmp(scheduler, 1);
  threadIdx.x = me;
}

void resume(fiber& f) {
  if (_setjmp(scheduler)) return;
  if (f.started) _longjmp(f.at, 1);
  f.started = true;
  swapcontext(&start, &f.context);
}

// Lets threads from..to go on when every one that lives waits for `why`.
bool release(uint32_t from, uint32_t to, state why) {
  bool any = false;
  for (uint32_t t = from; t < to; t++) {
    if (fibers[t].now == state::done) continue;
    if (fibers[t].now != why) return false;
    any = true;
  }
  if (!any) return false;
  for (uint32_t t = from; t < to; t++)
    if (fibers[t].now == why) fibers[t].now = state::ready;
  return true;
}

void run_block(uint32_t threads) {
  for (uint32_t t = 0; t < threads; t++) {
    fiber& f = fibers[t];
    if (f.stack.empty()) {
      f.stack.resize(stack_bytes);
      VALGRIND_STACK_REGISTER(f.stack.data(), f.stack.data() + stack_bytes);
    }
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    f.context.uc_link = nullptr;
    makecontext(&f.context, run_thread, 0);
    f.now = state::ready;
    f.started = false;
  }
  for (;;) {
    bool alive = false, moved = false;
    for (uint32_t t = 0; t < threads; t++) {
      if (fibers[t].now == state::ready) {
        threadIdx.x = t;
        moved = true;
        resume(fibers[t]);
      }
      alive |= fibers[t].now != state::done;
    }
    if (!alive) return;
    for (uint32_t w = 0; w < threads; w += 32) moved |= release(w, w + 32 < threads ? w + 32 : threads, state::at_warp);
    moved |= release(0, threads, state::at_block);
    if (!moved) {
      std::fprintf(stderr, "launch: threads wait for each other for ever\n");
      std::abort();
    }
  }
}

}  // namespace

void block_barrier() { give_way(state::at_block); }

// Two exchanges: the second keeps a fast lane from giving its next value before
// a slow one has read this.
uint32_t warp_exchange(uint32_t v, uint32_t lane) {
  const uint32_t base = threadIdx.x / 32 * 32;
  fibers[threadIdx.x].given = v;
  give_way(state::at_warp);
  const uint32_t r = fibers[base + lane].given;
  give_way(state::at_warp);
  return r;
}

uint32_t warp_ballot(bool v) {
  const uint32_t base = threadIdx.x / 32 * 32;
  fibers[threadIdx.x].given = v;
  give_way(state::at_warp);
  uint32_t r = 0;
  for (uint32_t l = 0; l < 32 && base + l < fibers.size(); l++)
    if (fibers[base + l].now != state::done) r |= (uint32_t)(fibers[base + l].given != 0) << l;
  give_way(state::at_warp);
  return r;
}

uint32_t* dynamic_shared;

void launch(const fakecuda_launch& l, bool with_fibers, const std::function<void()>& f) {
  // One launch at a time: the variables above are the process's.
  static std::mutex one;
  static std::vector<uint32_t> shared;
  const std::lock_guard<std::mutex> lock(one);
  const unsigned threads = l.block[0];
  if (shared.size() < l.shared / 4) shared.resize(l.shared / 4);
  dynamic_shared = shared.data();
  if (fibers.size() < threads) fibers.resize(threads);
  body = &f;
  gridDim = {l.grid[0], l.grid[1], l.grid[2]};
  blockDim = {threads, 1, 1};
  for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++) {
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
      if (with_fibers) {
        run_block(threads);
      } else {
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) f();
      }
    }
  }
}

}  // namespace pippin::host
