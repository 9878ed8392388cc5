// sparse.cu: products of sparse matrices and vectors. Compiled for one curve's scalar
// field.
//
// Entries come in the order of their rows. A block adds up a tile of them, whatever rows
// they have, so that a row of a million entries takes no longer than a million rows of
// one. Its first and its last row may go on in other tiles: their parts become two
// entries of the next level, on which the same kernel adds them up, until one tile is
// left.
//
//   rows     |0 0 1 1 2 2 2 2|2 2 2 2 2 2 2 2|2 2 3 5 5 5|
//   stored       1                                3
//   parts    |0           2  |2 (zero)     2 |2         5|
//   next     |0 2 2 2 2 5|                                     0, 2 and 5 are stored
#include "field.cuh"

namespace pippin::grid {

constexpr uint32_t sparse_tile = 1u << log_scan_tile, sparse_each = sparse_tile / scan_threads;

// The entries of a level. On the levels after the first, entry i is src[i], and columns and
// factors are null.
struct sparse_entries {
  const uint32_t *rows, *columns, *factors;
  uint64_t n;
  const uint32_t* src;
  uint64_t count;
  const uint32_t* values;
  uint64_t different;
  uint64_t height;

  // Whether entry i of the first level may be used: what it names exists, and its row is not
  // below the one before it. Every word is read once: it may change meanwhile.
  __device__ __forceinline__ bool right(uint64_t i, uint32_t row, uint32_t column, uint32_t factor) const {
    return row < height && (i == 0 || rows[i - 1] <= row) && column < count && (factor < 2 || factor - 2 < different);
  }

  // Entry i, in `row` of the matrix; a wrong one counts as zero and is told to bad.
  __device__ __forceinline__ field::elem get(uint64_t i, uint32_t row, uint32_t* bad) const {
    if (!columns) return field::load(src + i * words);
    const uint32_t column = columns[i], factor = factors[i];
    if (!right(i, row, column, factor)) {
      atomicMin(bad, (uint32_t)i);
      return field::zero();
    }
    const field::elem x = field::load(src + (uint64_t)column * words);
    if (factor == 0) return x;
    if (factor == 1) return field::neg(x);
    return field::mul(x, field::load(values + (uint64_t)(factor - 2) * words));
  }
};

// What the threads before this one have of the row `mine`, with which this thread begins. Each
// thread gives its last row, and the sum x of what it has of that. Every thread calls. room
// and keys have a place for each thread. Cost: 7 additions, one after the other.
__device__ __forceinline__ field::elem carried(uint32_t mine, uint32_t last, field::elem x,
                                               const block::elements<field, scan_threads>& room, uint32_t* keys) {
  const uint32_t t = threadIdx.x;
  keys[t] = last;
#pragma unroll 1
  for (uint32_t d = 1; d < scan_threads; d *= 2) {
    room.put(t, x);
    __syncthreads();
    // Rows ascend: with the same last row, everything between has it too.
    if (t >= d && keys[t - d] == last) x = field::add(x, room.get(t - d));
    __syncthreads();
  }
  room.put(t, x);
  __syncthreads();
  return t > 0 && keys[t - 1] == mine ? room.get(t - 1) : field::zero();
}

// dst[row] = the sums of the rows of n entries. Rows without an entry stay as they are. With more than
// one tile, each writes two entries of the next level to next_rows and next_sums, for its first and
// its last row. bad: the least i of a wrong entry.
PIPPIN_KERNEL((128), sparse_product)
(const uint32_t* rows, const uint32_t* columns, const uint32_t* factors, uint64_t n, const uint32_t* src, uint64_t count,
 const uint32_t* values, uint64_t different, uint32_t* dst, uint64_t height, uint32_t* next_rows, uint32_t* next_sums,
 uint32_t* bad) {
  alignas(16) __shared__ uint32_t shared[block::elements<field, scan_threads>::words];
  __shared__ uint32_t keys[scan_threads];
  __shared__ uint32_t edges[2];  // the first and the last row of the tile
  const sparse_entries all = {rows, columns, factors, n, src, count, values, different, height};
  const uint64_t from = (uint64_t)blockIdx.x * sparse_tile, tile_end = from + sparse_tile < n ? from + sparse_tile : n;
  const uint64_t first = from + threadIdx.x * sparse_each < tile_end ? from + threadIdx.x * sparse_each : tile_end;
  const uint64_t end = first + sparse_each < tile_end ? first + sparse_each : tile_end;
  const uint32_t tiles = gridDim.x;
  if (threadIdx.x == 0) {
    edges[0] = rows[from];
    edges[1] = rows[tile_end - 1];
    for (uint32_t k = 0; k < 2 && tiles > 1; k++) {
      next_rows[2ull * blockIdx.x + k] = edges[k];
      field::store(next_sums + (2ull * blockIdx.x + k) * words, field::zero());  // the first stays if there is one row
    }
  }
  __syncthreads();
  const uint32_t first_row = edges[0], last_row = edges[1];
  // A row is complete: to dst, or to the next level.
  const auto finish = [&](uint32_t row, const field::elem& sum) {
    if (tiles > 1 && (row == first_row || row == last_row)) {
      field::store(next_sums + (2ull * blockIdx.x + (row == last_row)) * words, sum);
    } else if (row < height) {
      field::store(dst + (uint64_t)row * words, sum);
    }
  };
  // The thread's own entries: the sum of its first row, those of rows between, and that of its last.
  field::elem sum = field::zero(), head = field::zero();
  uint32_t row = first < end ? rows[first] : last_row;
  const uint32_t mine = row;
  bool changed = false;
#pragma unroll 1
  for (uint64_t i = first; i < end; i++) {
    const uint32_t now = i == first ? mine : rows[i];
    if (now != row) {
      if (changed) {
        finish(row, sum);
      } else {
        head = sum;
        changed = true;
      }
      row = now;
      sum = field::zero();
    }
    sum = field::add(sum, all.get(i, now, bad));
  }
  const field::elem before = carried(mine, row, sum, block::elements<field, scan_threads>{shared}, keys);
  if (first == end) return;
  if (changed) {
    finish(mine, field::add(head, before));
  } else {
    sum = field::add(sum, before);
  }
  if (end == tile_end || rows[end] != row) finish(row, sum);
}

}  // namespace pippin::grid
