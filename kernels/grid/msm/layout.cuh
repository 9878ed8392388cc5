// layout.cuh: what the phases of an MSM, and the host, agree on.
//
// Vocabulary
//   set      one set of buckets: a window of c bits of the scalars, or several
//            windows that share it because their points were multiplied
//            beforehand. A launch covers all sets; blockIdx.y is the set
//   entry    one non-zero digit of one scalar: a key, which is the bucket in
//            its set, and a value, which is the point with its sign
//   bin      2^shift neighbouring buckets, counted over all sets
//   run      the entries of one bucket, consecutive once they are sorted
//   task     a piece of a run that one thread adds up, at most `piece` entries
//   slot     where the sum of a task goes whose bucket has more than one
//   tally    how many tasks, slots and splits there are
//
// kernelgen writes every constant of the first block as a Go constant: each is
// one line, an expression of numbers and constants above it.
#pragma once
#include "../kernel.cuh"

namespace pippin::grid {

constexpr uint32_t warp_threads = 32;
constexpr uint32_t sort_threads = 512;           // of a block that puts a bin in order
constexpr uint32_t sort_tile = 8192;             // entries of a bin that a block of it takes
constexpr uint32_t place_each = 2;               // buckets a thread of tasks_place
constexpr uint32_t longest_task = 1024;          // entries, the bound of `piece`
constexpr uint32_t tally_words = 4 + 2 * longest_task;
constexpr uint32_t task_words = 3;
constexpr uint32_t split_words = 3;
constexpr uint32_t owner_words = 2;
constexpr uint32_t point_elements = 2;           // of the coordinates' field: a base in memory,
constexpr uint32_t edwards_elements = 3;         // a base prepared in Edwards form,
constexpr uint32_t sum_elements = 4;             // a bucket or slot,
constexpr uint32_t result_elements = 3;          // a sum of a set
constexpr uint32_t prepare_most = 8;             // points a thread of prepare and prepared_multiples
constexpr uint32_t invert_each = 4;              // products a thread of pairs_invert
constexpr uint32_t no_index = 0xffffffff;        // in bad: nothing was found

// Entries.
constexpr uint32_t negative = 0x80000000u;  // in a value: the point's negative

// What the phases tell each other about tasks: words in memory, zero before.
struct tally {
  uint32_t tasks, slots, splits, entries;
  uint32_t bin[longest_task];     // tasks of length i+1
  uint32_t placed[longest_task];  // of these, those that have a place
};
static_assert(sizeof(tally) == 4 * tally_words);

// A task: entries start .. start+length of the sorted values go to bucket
// `to`, or to slot `to` when split.
struct task {
  uint32_t start, length_split, to;
};
static_assert(sizeof(task) == 4 * task_words);

// A run that became several tasks: their sums are slots first .. first+count, and first
// is even.
struct split {
  uint32_t bucket, first, count;
};
static_assert(sizeof(split) == 4 * split_words);

// What a slot belongs to, and how many of the two sums that meet there have come
// (see fold): 0 before.
struct owner {
  uint32_t split, come;
};
static_assert(sizeof(owner) == 4 * owner_words);

}  // namespace pippin::grid
