"""Writes pairs_96.cu, pairs_144.cu and pairs_192.cu from the project's pairs.cu: an entry of the first level then is 3 (the
record) + the power of beta, and its coordinates are where the record has them.

  python3 pairs.py KERNELS
"""
import sys
text = open(sys.argv[1] + "/grid/msm/pairs.cu").read()
def replace(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)
replace('#include "chords.cuh"', '#include "check.h"\n#include "grid/msm/chords.cuh"')
replace("  const uint32_t* src;\n  bool minus;\n", "  const uint32_t *src, *ordinate;\n  bool minus, third;\n")
replace("x() const { return hot_field::load_raw(src); }", """x() const {
    auto a = hot_field::load_raw(src);
    if constexpr (SIX_WORDS == 36)
      if (third) a = hot_field::neg(hot_field::add(a, hot_field::load_raw(src + hot_field::words)));
    return a;
  }""")
replace("hot_field::load_raw(src + hot_field::words);\n", "hot_field::load_raw(ordinate);\n")
replace("return {points + (v & ~negative) * (uint64_t)pair_words, (v & negative) != 0};", """if constexpr (SIX_WORDS == 24) {
        const uint32_t* const p = points + (v & ~negative) * (uint64_t)pair_words;
        return {p, p + field::words, (v & negative) != 0, false};
      } else {
        const uint32_t entry = v & ~negative, i = entry / 3, power = entry - 3 * i;
        const uint32_t* const p = points + i * (uint64_t)SIX_WORDS;
        return {SIX_WORDS == 48 || power == 1 ? p + power * field::words : p, p + SIX_WORDS - field::words, (v & negative) != 0, power == 2};
      }""")
replace("return {sums + (((uint64_t)i << (level - 1)) * room + t) * pair_words, false};", """const uint32_t* const p = sums + (((uint64_t)i << (level - 1)) * room + t) * pair_words;
      return {p, p + field::words, false, false};""")
text += """
using namespace pippin::grid;
void SIX_LAUNCH(int part, uint32_t threads, const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, uint32_t* sums,
                uint32_t* before, uint32_t* products, uint64_t room) {
  if (part == 0) PIPPIN_SYMBOL(pairs_there)<<<threads / 128, 128>>>(work, tasks, values, points, sums, before, products, 0, room, 0);
  if (part == 1) PIPPIN_SYMBOL(pairs_invert)<<<(threads / 4 + 127) / 128, 128>>>(products, threads);
  if (part == 2) PIPPIN_SYMBOL(pairs_back)<<<threads / 128, 128>>>(work, tasks, values, points, sums, before, products, 0, room, 0, 0, sums, sums);
  if (part == 3) {
    six::shape("there", PIPPIN_SYMBOL(pairs_there), 128);
    six::shape("back", PIPPIN_SYMBOL(pairs_back), 128);
  }
}
"""
head = '// Written by pairs.py from the project\'s pairs.cu.\n'
for size in (96, 144, 192):
    open("pairs_%d.cu" % size, "w").write(head + "#define SIX_WORDS %d\n#define SIX_LAUNCH pairs_%d\n" % (size // 4, size) + text)
