// buckets.cu: from buckets' counts to runs, and to tasks of bounded length, longest first.
//
//   runs          begin and end of every bucket's run, and how many tasks of each
//                 length there will be
//   tasks_place   writes the tasks, and the splits of long runs
//
// A warp whose threads have tasks of one length never waits for one of them,
// and with the longest first the device does not end on a long one. Which run comes
// first, and the order of tasks of equal length, depend on timing; sums do not.
#include "../../block/scan.cuh"
#include "layout.cuh"

namespace pippin::grid {

// Length of a bucket's run and how it is cut: full tasks and a rest.
struct cut {
  uint32_t begin, full, rest;
  __device__ __forceinline__ uint32_t pieces() const { return full + (rest != 0); }
};

__device__ __forceinline__ cut cut_run(uint32_t from, uint32_t length, uint32_t piece) {
  return {from, length / piece, length % piece};
}

// Counts the tasks of a run by their length.
__device__ __forceinline__ void count_tasks(uint32_t* bin, const cut& c, uint32_t piece) {
  if (c.full) atomicAdd(&bin[piece - 1], c.full);
  if (c.rest) atomicAdd(&bin[c.rest - 1], 1u);
}

constexpr uint32_t few_full = 8;  // tasks of a run that one thread writes
constexpr uint32_t place_threads = longest_task, place_tile = place_threads * place_each;

__device__ __forceinline__ void write_task(uint32_t* tasks, uint32_t i, const task& v) {
  tasks[3 * (uint64_t)i] = v.start;
  tasks[3 * (uint64_t)i + 1] = v.length_split;
  tasks[3 * (uint64_t)i + 2] = v.to;
}

// ends: [bucket of all sets] how many entries it has; then where the first of its run
// goes, which begin gets too. work: a tally, zero before. piece <= longest_task.
//
// A block has place_tile neighbouring buckets, and their runs follow each other: those of
// another block may come before or after them.
PIPPIN_KERNEL((1024), runs)
(uint32_t* begin, uint32_t* ends, uint64_t buckets, uint64_t piece, uint32_t* work) {
  __shared__ uint32_t bin[longest_task], room[place_threads / warp::size], before;
  tally* p = reinterpret_cast<tally*>(work);
  bin[threadIdx.x] = 0;
  for (uint64_t base = (uint64_t)blockIdx.x * place_tile; base < buckets; base += (uint64_t)gridDim.x * place_tile) {
    const uint64_t first = base + place_each * threadIdx.x;
    uint32_t lengths[place_each], mine = 0, all;
#pragma unroll
    for (uint32_t k = 0; k < place_each; k++) {
      lengths[k] = first + k < buckets ? ends[first + k] : 0;
      mine += lengths[k];
    }
    uint32_t at = block::scan<place_threads>(mine, room, all);
    if (threadIdx.x == 0) before = atomicAdd(&p->entries, all);
    __syncthreads();
    at += before;
#pragma unroll
    for (uint32_t k = 0; k < place_each; k++) {
      if (first + k < buckets) begin[first + k] = ends[first + k] = at;
      count_tasks(bin, cut_run(at, lengths[k], (uint32_t)piece), (uint32_t)piece);
      at += lengths[k];
    }
  }
  __syncthreads();
  if (bin[threadIdx.x]) atomicAdd(&p->bin[threadIdx.x], bin[threadIdx.x]);
}

// tasks, splits: three words each. owners: [slot] the split that it belongs to; the first
// slot of a split is even.
//
// With the tally `next`, zero before, every task has a slot and there are no splits: the
// slots of a bucket become its run, and next counts the tasks of these, of at most
// next_piece.
PIPPIN_KERNEL((1024), tasks_place)
(uint32_t* begin, uint32_t* end, uint64_t buckets, uint64_t piece, uint32_t* work, uint32_t* tasks, uint32_t* splits,
 uint32_t* owners, uint32_t* next, uint64_t next_piece) {
  __shared__ uint32_t bin[longest_task];
  __shared__ uint32_t order[longest_task];  // where the tasks of a length begin
  __shared__ uint32_t next_bin[longest_task];
  __shared__ uint32_t slots, made, room[place_threads / warp::size];
  tally* p = reinterpret_cast<tally*>(work);
  const uint32_t lane = threadIdx.x % warp::size, longest = (uint32_t)piece;
  const uint32_t length = longest_task - 1 - threadIdx.x;  // longest first
  const uint32_t whole = next ? 0 : 1;                     // the most tasks of a run without slots
  next_bin[threadIdx.x] = 0;
  uint32_t all;
  order[length] = block::scan<place_threads>(p->bin[length], room, all);
  if (blockIdx.x == 0 && threadIdx.x == 0) p->tasks = all;
  for (uint64_t base = (uint64_t)blockIdx.x * place_tile; base < buckets; base += (uint64_t)gridDim.x * place_tile) {
    bin[threadIdx.x] = 0;
    if (threadIdx.x == 0) slots = made = 0;
    __syncthreads();
    // Places within the block's share of each length.
    uint32_t full_at[place_each], rest_at[place_each], slot_at[place_each], split_at[place_each];
    cut c[place_each];
#pragma unroll
    for (uint32_t k = 0; k < place_each; k++) {
      const uint64_t b = base + k * place_threads + threadIdx.x;
      c[k] = b < buckets ? cut_run(begin[b], end[b] - begin[b], longest) : cut{0, 0, 0};
      full_at[k] = c[k].full ? atomicAdd(&bin[longest - 1], c[k].full) : 0;
      rest_at[k] = c[k].rest ? atomicAdd(&bin[c[k].rest - 1], 1u) : 0;
      const bool is_split = c[k].pieces() > whole;
      slot_at[k] = is_split ? atomicAdd(&slots, next ? c[k].pieces() : (c[k].pieces() + 1) & ~1u) : 0;
      split_at[k] = is_split ? atomicAdd(&made, 1u) : 0;
    }
    __syncthreads();
    // The block's share.
    if (bin[threadIdx.x]) bin[threadIdx.x] = order[threadIdx.x] + atomicAdd(&p->placed[threadIdx.x], bin[threadIdx.x]);
    if (threadIdx.x == 0) {
      slots = slots ? atomicAdd(&p->slots, slots) : 0;
      made = made ? atomicAdd(&p->splits, made) : 0;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < place_each; k++) {
      const uint32_t bucket = (uint32_t)(base + k * place_threads + threadIdx.x);
      const bool is_split = c[k].pieces() > whole;
      const uint32_t mark = is_split ? negative : 0;
      const uint32_t first = slots + slot_at[k], which = made + split_at[k];
      if (is_split && next) {
        begin[bucket] = first;
        end[bucket] = first + c[k].pieces();
        count_tasks(next_bin, cut_run(first, c[k].pieces(), (uint32_t)next_piece), (uint32_t)next_piece);
      } else if (is_split) {
        splits[3 * (uint64_t)which] = bucket;
        splits[3 * (uint64_t)which + 1] = first;
        splits[3 * (uint64_t)which + 2] = c[k].pieces();
      }
      if (c[k].rest) {
        write_task(tasks, bin[c[k].rest - 1] + rest_at[k],
                   {c[k].begin + c[k].full * longest, c[k].rest | mark, is_split ? first + c[k].full : bucket});
        if (is_split && !next) reinterpret_cast<owner*>(owners)[first + c[k].full] = {which, 0};
      }
      // Few full tasks a lane writes itself; the warp writes the others of each of its
      // lanes together: there may be very many.
      const auto write_full = [&](uint32_t i, uint32_t from, uint32_t at, uint32_t to, uint32_t marked, uint32_t by) {
        write_task(tasks, at + i, {from + i * longest, longest | marked, to + i});
        if (marked && !next) reinterpret_cast<owner*>(owners)[to + i] = {by, 0};
      };
      const uint32_t full_from = bin[longest - 1] + full_at[k], full_to = is_split ? first : bucket;
      const bool many = c[k].full > few_full;
      for (uint32_t i = 0; !many && i < c[k].full; i++) write_full(i, c[k].begin, full_from, full_to, mark, which);
      uint32_t busy = __ballot_sync(warp::all, many);
      while (busy) {
        const uint32_t of = __ffs(busy) - 1;
        busy &= busy - 1;
        const uint32_t count = __shfl_sync(warp::all, c[k].full, of), from = __shfl_sync(warp::all, c[k].begin, of);
        const uint32_t at = __shfl_sync(warp::all, full_from, of), to = __shfl_sync(warp::all, full_to, of);
        const uint32_t marked = __shfl_sync(warp::all, mark, of), by = __shfl_sync(warp::all, which, of);
        for (uint32_t i = lane; i < count; i += warp::size) write_full(i, from, at, to, marked, by);
      }
    }
    __syncthreads();
  }
  if (next && next_bin[threadIdx.x]) atomicAdd(&reinterpret_cast<tally*>(next)->bin[threadIdx.x], next_bin[threadIdx.x]);
}

}  // namespace pippin::grid
