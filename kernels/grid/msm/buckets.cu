// buckets.cu: from sorted entries to tasks of bounded length, longest first.
//
//   runs          begin and end of every bucket's run
//   tasks_count   how many tasks of each length there will be
//   tasks_order   where the tasks of each length begin
//   tasks_place   writes the tasks, and the splits of long runs
//
// A warp whose threads have tasks of one length never waits for one of them,
// and with the longest first the device does not end on a long one. Only the
// order of tasks of equal length depends on timing; sums do not.
#include "../../block/scan.cuh"
#include "layout.cuh"

namespace pippin::grid {

// Length of a bucket's run and how it is cut: full tasks and a rest.
struct cut {
  uint32_t begin, full, rest;
  __device__ __forceinline__ uint32_t pieces() const { return full + (rest != 0); }
};

__device__ __forceinline__ cut cut_run(const uint32_t* begin, const uint32_t* end, uint64_t b, uint64_t buckets,
                                       uint32_t piece) {
  if (b >= buckets) return {0, 0, 0};
  const uint32_t from = begin[b], length = end[b] - from;
  return {from, length / piece, length % piece};
}

constexpr uint32_t place_threads = longest_task, place_tile = place_threads * place_each;

__device__ __forceinline__ void write_task(uint32_t* tasks, uint32_t i, const task& v) {
  tasks[3 * (uint64_t)i] = v.start;
  tasks[3 * (uint64_t)i + 1] = v.length_split;
  tasks[3 * (uint64_t)i + 2] = v.to;
}

// keys: [set][stride]. begin, end: [set][2^log_buckets], zero before; what they
// hold are indices into all sets' entries. runs_each entries a thread.
PIPPIN_KERNEL((256), runs)
(const uint32_t* keys, const uint32_t* live, uint64_t stride, uint64_t log_buckets, uint32_t* begin, uint32_t* end) {
  const uint64_t set = blockIdx.y, n = live[set];
  const uint64_t from = runs_each * ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x);
  if (from >= n) return;
  keys += set * stride;
  begin += set << log_buckets;
  end += set << log_buckets;
  uint32_t key = keys[from], last = from == 0 ? ~key : keys[from - 1];
  for (uint64_t i = from; i < from + runs_each && i < n; i++) {
    const uint32_t next = i + 1 < n ? keys[i + 1] : ~key;
    if (last != key) begin[key] = (uint32_t)(set * stride + i);
    if (next != key) end[key] = (uint32_t)(set * stride + i + 1);
    last = key;
    key = next;
  }
}

// work: a tally, zero before. piece <= longest_task.
PIPPIN_KERNEL((1024), tasks_count)
(const uint32_t* begin, const uint32_t* end, uint64_t buckets, uint64_t piece, uint32_t* work) {
  __shared__ uint32_t bin[longest_task];
  tally* p = reinterpret_cast<tally*>(work);
  bin[threadIdx.x] = 0;
  __syncthreads();
  for (uint64_t b = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; b < buckets; b += (uint64_t)gridDim.x * blockDim.x) {
    const cut c = cut_run(begin, end, b, buckets, (uint32_t)piece);
    if (c.full) atomicAdd(&bin[piece - 1], c.full);
    if (c.rest) atomicAdd(&bin[c.rest - 1], 1u);
  }
  __syncthreads();
  if (bin[threadIdx.x]) atomicAdd(&p->bin[threadIdx.x], bin[threadIdx.x]);
}

// One block.
PIPPIN_KERNEL((1024), tasks_order)(uint32_t* work) {
  __shared__ uint32_t room[longest_task / warp::size];
  tally* p = reinterpret_cast<tally*>(work);
  const uint32_t length = longest_task - 1 - threadIdx.x;  // longest first
  uint32_t total;
  p->cursor[length] = block::scan<longest_task>(p->bin[length], room, total);
  if (threadIdx.x == 0) p->tasks = total;
}

// tasks, splits: three words each. owner: [slot] the split that it belongs to.
PIPPIN_KERNEL((1024), tasks_place)
(const uint32_t* begin, const uint32_t* end, uint64_t buckets, uint64_t piece, uint32_t* work, uint32_t* tasks,
 uint32_t* splits, uint32_t* owner) {
  __shared__ uint32_t bin[longest_task];
  __shared__ uint32_t slots, made;
  tally* p = reinterpret_cast<tally*>(work);
  const uint32_t lane = threadIdx.x % warp::size, longest = (uint32_t)piece;
  for (uint64_t base = (uint64_t)blockIdx.x * place_tile; base < buckets; base += (uint64_t)gridDim.x * place_tile) {
    bin[threadIdx.x] = 0;
    if (threadIdx.x == 0) slots = made = 0;
    __syncthreads();
    // Places within the block's share of each length.
    uint32_t full_at[place_each], rest_at[place_each], slot_at[place_each], split_at[place_each];
    cut c[place_each];
#pragma unroll
    for (uint32_t k = 0; k < place_each; k++) {
      c[k] = cut_run(begin, end, base + k * place_threads + threadIdx.x, buckets, longest);
      full_at[k] = c[k].full ? atomicAdd(&bin[longest - 1], c[k].full) : 0;
      rest_at[k] = c[k].rest ? atomicAdd(&bin[c[k].rest - 1], 1u) : 0;
      const bool is_split = c[k].pieces() > 1;
      slot_at[k] = is_split ? atomicAdd(&slots, c[k].pieces()) : 0;
      split_at[k] = is_split ? atomicAdd(&made, 1u) : 0;
    }
    __syncthreads();
    // The block's share.
    if (bin[threadIdx.x]) bin[threadIdx.x] = atomicAdd(&p->cursor[threadIdx.x], bin[threadIdx.x]);
    if (threadIdx.x == 0) {
      slots = slots ? atomicAdd(&p->slots, slots) : 0;
      made = made ? atomicAdd(&p->splits, made) : 0;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < place_each; k++) {
      const uint32_t bucket = (uint32_t)(base + k * place_threads + threadIdx.x);
      const bool is_split = c[k].pieces() > 1;
      const uint32_t mark = is_split ? negative : 0;
      const uint32_t first = slots + slot_at[k], which = made + split_at[k];
      if (is_split) {
        splits[3 * (uint64_t)which] = bucket;
        splits[3 * (uint64_t)which + 1] = first;
        splits[3 * (uint64_t)which + 2] = c[k].pieces();
      }
      if (c[k].rest) {
        write_task(tasks, bin[c[k].rest - 1] + rest_at[k],
                   {c[k].begin + c[k].full * longest, c[k].rest | mark, is_split ? first + c[k].full : bucket});
        if (is_split) owner[first + c[k].full] = which;
      }
      // The warp writes the full tasks of each of its lanes together: there may
      // be very many.
      uint32_t busy = __ballot_sync(warp::all, c[k].full != 0);
      while (busy) {
        const uint32_t of = __ffs(busy) - 1;
        busy &= busy - 1;
        const uint32_t count = __shfl_sync(warp::all, c[k].full, of);
        const uint32_t from = __shfl_sync(warp::all, c[k].begin, of);
        const uint32_t at = __shfl_sync(warp::all, bin[longest - 1] + full_at[k], of);
        const uint32_t to = __shfl_sync(warp::all, is_split ? first : bucket, of);
        const uint32_t marked = __shfl_sync(warp::all, mark, of), by = __shfl_sync(warp::all, which, of);
        for (uint32_t i = lane; i < count; i += warp::size) {
          write_task(tasks, at + i, {from + i * longest, longest | marked, to + i});
          if (marked) owner[to + i] = by;
        }
      }
    }
    __syncthreads();
  }
}

}  // namespace pippin::grid
