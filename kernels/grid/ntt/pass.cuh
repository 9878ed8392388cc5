// pass.cuh: one pass of a number-theoretic transform, by a block, for any field
// and number of elements a thread.
//
// A block has a tile of 2^log_tile elements in 2^log_columns columns: element m
// of column c is at place (m 2^log_columns + c) of the tile, and `stride` = n /
// 2^(level+bits) apart in memory, columns being neighbours there. In the pass of
// the last levels stride is 1: the tile is whole nodes, one after the other.
//
//   in a step a thread's elements differ in log_each bits of their place, here 3:
//
//        node .. node | k k k | low .. low | column .. column
//        (levels done)  (step)
//
// A step of 8 elements costs 7 products for t^k and 4 inside; the first one down
// and the last one up, whose t is 1, only those inside.
//
// The inverse has t^-k and 1/w. t^-1 = v / w, where v is the t of the mirrored
// node: an angle a below 1/8 becomes 1/8 - a; for a number its bits below the
// highest one inverted; the row after the last for node 0. With powers of v for
// those of t^-1, what is missing is w^-k, and the sum over k of x_k w^-k w^-jk is
// the one of x_k w^(-(j+1)k): X_(-1-j) of the transform with w, whose place, in
// reversed order, is the complement of j's. So one table and one set of constants
// serve both, and the inverse puts elements to other places.
//
// Source: the order of Cooley and Tukey with twiddles that depend on the node
// alone, so that they are few in the first passes.
#pragma once
#include "dft.cuh"
#include "layout.cuh"

namespace pippin::grid {

// A number with all bits below its highest one inverted.
PIPPIN_HD uint32_t mirrored(uint32_t b) {
#if defined(__CUDA_ARCH__)
  return b ^ __funnelshift_rc(0x7fffffff, 0, __clz(b));
#else
  return b == 0 ? 0 : b ^ 0x7fffffff >> __builtin_clz(b);
#endif
}

// A pass may begin while what was launched before has not ended (on the host's word,
// from compute capability 9.0 on). It reads what is older than that, waits for its end,
// and then lets the next pass begin: no third one, which would share multiprocessors
// with both, and not evenly.
PIPPIN_HD void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
PIPPIN_HD void wait_for_last() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// What the host says of a pass; see transform.cu.
struct pass_of {
  const uint32_t* in;
  uint32_t* out;
  uint64_t all;
  uint32_t log_n, level, bits;
  bool inverse;
  const uint32_t *rows, *high;
  uint32_t log_rows;
  const uint32_t *shift, *shift_rows;
};

// A row's factors in memory, of elements of so many words: each its value, then its
// quotient.
template <int Words>
constexpr uint32_t factor_words = 2 * Words;
template <int Words, class Word>
PIPPIN_HD Word* row_of(Word* rows, uint64_t row) {
  return rows + (row << log_row) * factor_words<Words>;
}
template <int Words>
PIPPIN_HD mp::factor<Words> load_factor(const uint32_t* from) {
  return {load_words<Words>(from), load_words<Words>(from + Words)};
}
template <int Words>
PIPPIN_HD void store_factor(uint32_t* to, const mp::factor<Words>& f) {
  store_words(to, f.value);
  store_words(to + Words, f.quotient);
}

// C is a field, R its roots of unity.
template <class C, class R, int LogEach>
struct pass {
  using element = dft::loose<C>;
  using summand = dft::tight<C>;
  using factor = mp::factor<C::limbs>;
  static constexpr int words = C::limbs;
  static constexpr int each = 1 << LogEach;
  // Two steps where a step is short, or half of it would be moves.
  static constexpr int unrolled = LogEach == 1 ? 2 : 1;
  static constexpr uint32_t log_each = LogEach, log_tile = log_threads + log_each, tile = 1u << log_tile;
  static_assert(LogEach <= (int)log_row);

  // Shared memory beside the tile, where there is room for it: see put_factors.
  static constexpr uint32_t factors = 1u << log_threads;
  static constexpr bool has_factors = LogEach > 1 && (tile + factors) * words * 4 <= 48 << 10;
  static constexpr uint32_t shared_words = (tile + (has_factors ? factors : 0)) * words;

  pass_of p;
  uint32_t* shared;  // shared_words
  uint64_t first;    // the tile's place in memory, in elements
  uint32_t node;     // of its first column, at `level`
  uint32_t log_stride, log_columns;
  bool gathered;     // nodes of the tile are neighbours in natural order

  PIPPIN_HD pass(const pass_of& p, uint32_t* shared, bool gathered)
      : p(p), shared(shared), log_stride(p.log_n - p.level - p.bits), gathered(gathered) {
    const uint64_t block = blockIdx.x;
    log_columns = last_levels() ? 0 : log_tile - p.bits;
    if (gathered) {
      const uint32_t log_groups = p.log_n - log_tile;  // tiles of a transform
      first = block >> log_groups << p.log_n;
      node = (uint32_t)(block & ((1ull << log_groups) - 1)) << (log_tile - p.bits);
    } else if (last_levels()) {
      first = block << log_tile;
      node = (uint32_t)(first >> p.bits);
    } else {
      const uint32_t log_groups = log_stride - log_columns;  // tiles that share a node
      node = (uint32_t)(block >> log_groups);
      first = (block >> log_groups << (p.bits + log_stride)) + ((block & ((1ull << log_groups) - 1)) << log_columns);
    }
    node &= (1u << p.level) - 1;  // transforms of a batch follow each other
  }

  PIPPIN_HD bool last_levels() const { return log_stride == 0; }

  // The node, at `level`, of an element of a tile of last levels.
  PIPPIN_HD uint32_t node_at(uint32_t place) const {
    const uint32_t b = node + (place >> p.bits);
    return gathered ? ptx::reversed(b, p.level) : b & ((1u << p.level) - 1);
  }

  // Where an element of the tile is in memory.
  PIPPIN_HD uint64_t at(uint32_t place) const {
    if (gathered) return first + ((uint64_t)node_at(place) << p.bits) + (place & ((1u << p.bits) - 1));
    return first + ((uint64_t)(place >> log_columns) << log_stride) + (place & ((1u << log_columns) - 1));
  }

  // The node of a step that begins s levels into the pass.
  PIPPIN_HD uint32_t node_of(uint32_t place, uint32_t s) const {
    const uint32_t m = place >> log_columns, above = last_levels() ? node_at(place) : node;
    return above << s | ((m >> (p.bits - s)) & ((1u << s) - 1));
  }

  // Elements are in shared memory at slots: lanes whose elements are 1, 8, 64 or more
  // places apart meet no bank twice. The slot of a ^ b is that of a ^ that of b.
  PIPPIN_HD static uint32_t slot_of(uint32_t place) { return place ^ ((place >> 3 ^ place >> 6) & 7); }
  // 16 bytes of the element at a slot.
  PIPPIN_HD uint32_t* quad(uint32_t slot, int q) const { return shared + 4 * (q * tile + slot); }

  PIPPIN_HD element take(uint32_t slot) const {
    element x;
    PIPPIN_UNROLL
    for (int q = 0; q < words / 4; q++) {
      const mp::num<4> w = load_words<4>(quad(slot, q));
      PIPPIN_UNROLL
      for (int i = 0; i < 4; i++) x.v[4 * q + i] = w[i];
    }
    return x;
  }

  PIPPIN_HD void put(uint32_t slot, const mp::num<words>& x) const {
    PIPPIN_UNROLL
    for (int q = 0; q < words / 4; q++) {
      store_words(quad(slot, q), mp::num<4>{x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]});
    }
  }

  // The places of a thread's elements: k goes into log_each bits from `at` on.
  PIPPIN_HD static uint32_t spread(uint32_t k, uint32_t at) {
    return threadIdx.x >> at << (at + log_each) | k << at | (threadIdx.x & ((1u << at) - 1));
  }
  // Those that are apart by as many as there are threads.
  PIPPIN_HD static uint32_t apart(uint32_t k) { return k << log_threads | threadIdx.x; }

  // The slots of a step's elements, by k.
  struct slots {
    uint32_t first, at;
    PIPPIN_HD explicit slots(uint32_t at) : first(slot_of(spread(0, at))), at(at) {}
    PIPPIN_HD uint32_t operator[](uint32_t k) const { return first ^ slot_of(k << at); }
  };

  // The same for the step at the beginning of a pass: of transforms of 2 and 4
  // elements a thread may have several.
  PIPPIN_HD uint32_t first_place(uint32_t k) const {
    if (p.bits >= log_each) return spread(k, log_columns + p.bits - log_each);
    const uint32_t digit = k >> (log_each - p.bits), which = k & ((1u << (log_each - p.bits)) - 1);
    return spread(which << p.bits | digit, 0);
  }

  // Where the inverse has the k-th element instead: X_(-1-j) for X_j, or X_(-j)
  // in the step whose t is 1.
  template <int Levels>
  PIPPIN_HD uint32_t turned(int k, bool plain) const {
    constexpr int same = each >> Levels, mask = (1 << Levels) - 1;
    const int digit = k / same;
    const int below = digit < 2 ? 0 : digit < 4 ? 1 : 3;
    return (uint32_t)(k ^ (p.inverse ? (plain ? below : mask) * same : 0));
  }

  // A row: where it is, and which of the high ones it is multiplied with. Only threads
  // with many elements meet nodes beyond the table. Where a thread has two elements
  // the one power is read when the row is found, a step ahead.
  static constexpr bool ahead = LogEach == 1, deep = LogEach == log_row;
  struct row {
    const uint32_t* from;
    uint32_t above;
    factor power;
  };

  // t^k of a row for steps of so many levels.
  template <int Levels>
  PIPPIN_HD static factor power(const uint32_t* from, int k) {
    return load_factor<words>(from + k * ((1 << log_row) >> Levels) * factor_words<words>);
  }

  // The row of node b, of a step that begins s levels into the pass.
  PIPPIN_HD row find(uint32_t b, uint32_t s) const {
    const uint32_t index = p.inverse ? mirrored(b) : b;
    row r;
    if (of_coset()) {
      r.from = row_of<words>(p.shift_rows, 1u << s | index);
      r.above = 0;
    } else {
      const uint32_t low = deep ? index & ((1u << p.log_rows) - 1) : index;
      r.from = row_of<words>(p.rows, p.inverse && b == 0 ? 1u << p.log_rows : low);
      r.above = index >> p.log_rows;
    }
    if constexpr (ahead) r.power = power<1>(r.from, 1);
    return r;
  }

  // x_k to x_k t^k.
  template <int Levels>
  PIPPIN_HD void twist(element* x, summand* y, row r) const {
    constexpr int same = each >> Levels;  // elements with one factor
    PIPPIN_UNROLL
    for (int i = 0; i < same; i++) y[i] = dft::tighten<C>(x[i]);
#pragma unroll 1
    for (;;) {
      PIPPIN_UNROLL
      for (int k = 1; k < 1 << Levels; k++) {
        const factor f = ahead ? r.power : power<Levels>(r.from, k);
        PIPPIN_UNROLL
        for (int i = k * same; i < (k + 1) * same; i++) y[i] = dft::product<C>(x[i], f);
      }
      if constexpr (!deep) return;
      const uint32_t* next = row_of<words>(p.high, r.above);
      if (r.above == 0 || r.from == next) return;
      r.from = next;
      PIPPIN_UNROLL
      for (int k = same; k < each; k++) x[k] = dft::loosen<C>(y[k]);
    }
  }

  template <int Levels>
  PIPPIN_HD static void butterflies_down(summand* y, element* x) {
    constexpr int same = each >> Levels;
    if constexpr (Levels == 3) {
      dft::eight_down<C, R>(y, x);
    } else {
      PIPPIN_UNROLL
      for (int i = 0; i < same; i++) {
        if constexpr (Levels == 2) {
          dft::four_down<C, R, same>(y + i, x + i);
        } else {
          dft::two<C, same>(y + i, x + i);
        }
      }
    }
  }
  template <int Levels>
  PIPPIN_HD static void butterflies_up(summand* y, element* x) {
    constexpr int same = each >> Levels;
    if constexpr (Levels == 3) {
      dft::eight_up<C, R>(y, x);
    } else {
      PIPPIN_UNROLL
      for (int i = 0; i < same; i++) {
        if constexpr (Levels == 2) {
          dft::four_up<C, R, same>(y + i, x + i);
        } else {
          dft::two<C, same>(y + i, x + i);
        }
      }
    }
  }

  // Elements of memory and of shared memory are what a step accepts: canonical
  // at first, then what the step before left.
  PIPPIN_HD static summand trusted(const element& x) { return {x.v}; }

  // Whether the pass has the first levels of a transform on a coset whose rows have
  // powers of s in them; see put_factors.
  PIPPIN_HD bool of_coset() const { return has_factors && p.level == 0 && p.shift_rows != nullptr; }

  // x times s^k, from tables of the powers below 2^log_low and of every
  // 2^log_low-th one.
  PIPPIN_HD summand shifted(const summand& x, uint32_t k) const {
    const uint32_t low = k & ((1u << log_low) - 1), top = k >> log_low;
    summand y = dft::product<C>(dft::loosen<C>(x), fe<C, 1>{load_words<words>(p.shift + (uint64_t)low * words)});
    if (top == 0) return y;
    return dft::product<C>(dft::loosen<C>(y), fe<C, 1>{load_words<words>(p.shift + (uint64_t)((1u << log_low) + top) * words)});
  }

  // Powers of s for a tile of the first levels, in shared memory. The k of s^k is
  // the digit of the transform's first step, those of the other steps of the pass
  // and the column: the first and the last have a power here, and the others theirs
  // in the rows of their steps. A barrier follows.
  PIPPIN_HD void put_factors() const {
    const uint32_t i = threadIdx.x, column = number(first) + (i & ((1u << log_columns) - 1)), levels = first_levels();
    if (i >> log_columns >> levels == 0) {
      const uint32_t k = i >> log_columns << (p.log_n - levels) | column;
      store_words(shared + (tile + i) * words, reduce<1>(shifted({static_modulus<C>{}.one()}, k)).v);
    }
    __syncthreads();
  }
  // The levels of a transform's first step.
  PIPPIN_HD uint32_t first_levels() const {
    const uint32_t rest = p.bits % log_each;
    return rest > 0 ? rest : log_each;
  }
  // x, the k-th of its transform, times its power.
  PIPPIN_HD summand on_coset(const summand& x, uint32_t place, uint32_t k) const {
    if (!of_coset()) return shifted(x, k);
    const uint32_t digit = place >> (log_columns + p.bits - first_levels()), column = place & ((1u << log_columns) - 1);
    return dft::product<C>(dft::loosen<C>(x), fe<C, 1>{load_words<words>(shared + (tile + (digit << log_columns | column)) * words)});
  }

  // Element i of all transforms, which is the k-th of its own, from the input:
  // each vector has `given` elements there, and zeros after them.
  PIPPIN_HD element input(uint64_t i, uint32_t k, uint64_t given) const {
    if (i >= p.all || k >= given) return {mp::zero<words>()};
    return {load_words<words>(p.in + ((i >> p.log_n) * given + k) * words)};
  }
  // Elements of later passes and of those before them: then tiles are full.
  PIPPIN_HD element between(uint64_t i) const { return {load_words<words>(p.in + i * words)}; }
  PIPPIN_HD void pass_on(uint64_t i, const element& x) const { store_words(p.out + i * words, x.v); }
  // An answer, the k-th of its transform.
  PIPPIN_HD void answer(uint64_t i, uint32_t place, uint32_t k) const {
    if (i >= p.all) return;
    summand y = dft::tighten<C>(take(slot_of(place)));
    if (p.inverse) {
      y = dft::divide<C>(y, p.log_n);
      if (p.shift != nullptr) y = on_coset(y, place, k);
    }
    store_words(p.out + i * words, reduce<1>(y).v);
  }
  // The number of an element in its transform.
  PIPPIN_HD uint32_t number(uint64_t i) const { return (uint32_t)i & ((1u << p.log_n) - 1); }

  // The row of a thread's elements in a whole step.
  PIPPIN_HD row row_at(uint32_t s) const {
    return find(node_of(spread(0, log_columns + p.bits - s - log_each), s), s);
  }

  // A step; `found` is a function that finds its row, if t is not 1.
  template <int Levels, class Found>
  PIPPIN_HD void step_down(element* x, bool plain, const Found& found) const {
    summand y[each];
    if (plain) {
      PIPPIN_UNROLL
      for (int k = 0; k < each; k++) y[k] = trusted(x[k]);
    } else {
      twist<Levels>(x, y, found());
    }
    butterflies_down<Levels>(y, x);
  }

  // The levels at the beginning of a pass that make no whole step.
  template <int Levels>
  PIPPIN_HD void begin_down(element* x) const {
    step_down<Levels>(x, p.level == 0, [this] { return find(node_of(first_place(0), 0), 0); });
    PIPPIN_UNROLL
    for (int k = 0; k < each; k++) put(slot_of(first_place(turned<Levels>(k, p.level == 0))), x[k].v);
  }

  PIPPIN_HD void down(uint64_t given) const {
    element x[each];
    const uint32_t rest = p.bits % log_each;
    row next;
    if (ahead) next = row_at(rest);
    wait_for_last();
    let_next_begin();
    if (p.level > 0) {
      PIPPIN_UNROLL
      for (int k = 0; k < each; k++) x[k] = between(at(first_place(k)));
    } else {
      PIPPIN_UNROLL
      for (int k = 0; k < each; k++) {
        const uint64_t i = at(first_place(k));
        x[k] = input(i, number(i), given);
      }
      if (p.shift != nullptr && !p.inverse) {
        if (of_coset()) put_factors();
        PIPPIN_UNROLL
        for (int k = 0; k < each; k++) put(slot_of(first_place(k)), x[k].v);
        PIPPIN_LOOP
        for (int k = 0; k < each; k++) {
          const uint32_t place = first_place(k), slot = slot_of(place);
          put(slot, on_coset(trusted(take(slot)), place, number(at(place))).v);
        }
        PIPPIN_UNROLL
        for (int k = 0; k < each; k++) x[k] = take(slot_of(first_place(k)));
      }
    }
    if constexpr (LogEach > 2) {
      if (rest == 2) begin_down<2>(x);
    }
    if constexpr (LogEach > 1) {
      if (rest == 1) begin_down<1>(x);
    }
#pragma unroll unrolled
    for (uint32_t s = rest; s < p.bits; s += log_each) {
      const uint32_t from = log_columns + p.bits - s - log_each;
      const slots slot(from);
      const bool plain = p.level + s == 0;
      if (s > 0) {
        __syncthreads();
        PIPPIN_UNROLL
        for (int k = 0; k < each; k++) x[k] = take(slot[k]);
      }
      const row now = next;
      if (ahead && s + log_each < p.bits) next = row_at(s + log_each);
      step_down<LogEach>(x, plain, [&] { return ahead ? now : row_at(s); });
      if (!last_levels() && s + log_each == p.bits) {
        const uint64_t i = at(spread(0, from));
        PIPPIN_UNROLL
        for (int k = 0; k < each; k++) pass_on(i + ((uint64_t)turned<LogEach>(k, plain) << log_stride), x[k]);
        return;
      }
      PIPPIN_UNROLL
      for (int k = 0; k < each; k++) put(slot[turned<LogEach>(k, plain)], x[k].v);
    }
    // A thread has neighbours: through shared memory, so that lanes do.
    __syncthreads();
    PIPPIN_LOOP
    for (int k = 0; k < each; k++) {
      const uint64_t i = at(apart(k));
      answer(i, apart(k), ptx::reversed(number(i), p.log_n));
    }
  }

  template <int Levels, class Found>
  PIPPIN_HD void step_up(element* x, bool plain, const Found& found) const {
    summand y[each];
    PIPPIN_UNROLL
    for (int k = 0; k < each; k++) y[k] = trusted(x[k]);
    butterflies_up<Levels>(y, x);
    if (plain) return;
    twist<Levels>(x, y, found());
    PIPPIN_UNROLL
    for (int k = 0; k < each; k++) x[k] = dft::loosen<C>(y[k]);
  }

  // The levels at the beginning of a pass, which up does last.
  template <int Levels>
  PIPPIN_HD void end_up(element* x) const {
    PIPPIN_UNROLL
    for (int k = 0; k < each; k++) x[k] = take(slot_of(first_place(turned<Levels>(k, p.level == 0))));
    step_up<Levels>(x, p.level == 0, [this] { return find(node_of(first_place(0), 0), 0); });
  }

  // The elements of a tile of last levels into shared memory: lanes read
  // neighbours.
  PIPPIN_HD void begin_up(uint64_t given, bool natural) const {
    const auto place = [this](uint32_t k) {
      if (!gathered) return apart(k);  // else neighbours in natural order are in different nodes
      const uint32_t log_nodes = log_tile - p.bits;
      return (apart(k) & ((1u << log_nodes) - 1)) << p.bits | apart(k) >> log_nodes;
    };
    element x[each];
    PIPPIN_UNROLL
    for (int k = 0; k < each; k++) {
      const uint64_t i = at(place(k));
      x[k] = input(i, natural ? ptx::reversed(number(i), p.log_n) : number(i), given);
    }
    PIPPIN_UNROLL
    for (int k = 0; k < each; k++) put(slot_of(place(k)), x[k].v);
    if (p.shift == nullptr || p.inverse) return;
    PIPPIN_LOOP
    for (int k = 0; k < each; k++) {
      const uint32_t n = ptx::reversed(number(at(place(k))), p.log_n), slot = slot_of(place(k));
      put(slot, shifted(trusted(take(slot)), n).v);
    }
  }

  PIPPIN_HD void up(uint64_t given, bool natural) const {
    element x[each];
    const uint32_t rest = p.bits % log_each;
    row next;
    if (ahead) next = row_at(p.bits - log_each);
    wait_for_last();
    let_next_begin();
    if (last_levels()) begin_up(given, natural);
#pragma unroll unrolled
    for (uint32_t s = p.bits; s > rest;) {
      s -= log_each;
      const uint32_t from = log_columns + p.bits - s - log_each;
      const slots slot(from);
      const bool plain = p.level + s == 0;
      if (!last_levels() && s + log_each == p.bits) {
        const uint64_t i = at(spread(0, from));
        PIPPIN_UNROLL
        for (int k = 0; k < each; k++) x[k] = between(i + ((uint64_t)turned<LogEach>(k, plain) << log_stride));
      } else {
        __syncthreads();
        PIPPIN_UNROLL
        for (int k = 0; k < each; k++) x[k] = take(slot[turned<LogEach>(k, plain)]);
      }
      const row now = next;
      if (ahead && s > rest) next = row_at(s - log_each);
      step_up<LogEach>(x, plain, [&] { return ahead ? now : row_at(s); });
      if (s == 0) break;  // x is what it is to be
      PIPPIN_UNROLL
      for (int k = 0; k < each; k++) put(slot[k], x[k].v);
    }
    if (rest > 0) __syncthreads();
    if constexpr (LogEach > 2) {
      if (rest == 2) end_up<2>(x);
    }
    if constexpr (LogEach > 1) {
      if (rest == 1) end_up<1>(x);
    }
    if (p.level > 0) {
      PIPPIN_UNROLL
      for (int k = 0; k < each; k++) pass_on(at(first_place(k)), x[k]);
      return;
    }
    if (of_coset()) put_factors();
    PIPPIN_UNROLL
    for (int k = 0; k < each; k++) put(slot_of(first_place(k)), x[k].v);
    PIPPIN_LOOP
    for (int k = 0; k < each; k++) {
      const uint64_t i = at(first_place(k));
      answer(i, first_place(k), number(i));
    }
  }
};

}  // namespace pippin::grid
