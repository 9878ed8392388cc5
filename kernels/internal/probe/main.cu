// The dispatcher of the probe. It reads requests on stdin and answers on stdout
// until stdin ends. All numbers are 32-bit little-endian words.
//
//   request   length of the name, name, items, words in and out of an item, operands
//   answer    0 and the results; or 1: no such entry; 2: wrong words an item
//
// An empty name (followed by three words that are ignored) asks for the table:
// the answer is 0, a length, and a text with a line "name in out" an entry.
#include <cstring>
#include <string>

#include "parts.cuh"
#include "probe.cuh"

namespace pippin::probe {

// Each part defines one of these; PIPPIN_PROBE_PARTS names them.
#define PART(name) table name();
PIPPIN_PROBE_PARTS
#undef PART

static table all() {
  table t;
#define PART(name)              \
  for (const entry& e : name()) \
    t.push_back(e);
  PIPPIN_PROBE_PARTS
#undef PART
  return t;
}

static bool read_exactly(void* p, size_t n) { return std::fread(p, 1, n, stdin) == n; }
static void write_exactly(const void* p, size_t n) {
  if (std::fwrite(p, 1, n, stdout) != n) std::exit(1);
}

static void answer_table(const table& t) {
  std::string text;
  for (const entry& e : t) {
    text += std::string(e.name) + " " + std::to_string(e.in) + " " + std::to_string(e.out) + "\n";
  }
  const uint32_t head[2] = {0, (uint32_t)text.size()};
  write_exactly(head, sizeof head);
  write_exactly(text.data(), text.size());
}

static int serve() {
  const table t = all();
  for (;;) {
    uint32_t length;
    if (!read_exactly(&length, 4)) return 0;
    if (length > 256) return 1;
    std::string name(length, '\0');
    uint32_t head[3];
    if (!read_exactly(name.data(), length) || !read_exactly(head, sizeof head)) return 1;
    if (name.empty()) {
      answer_table(t);
      std::fflush(stdout);
      continue;
    }
    const auto [items, in, out] = head;
    std::vector<uint32_t> operands((size_t)items * in), results((size_t)items * out);
    if (!read_exactly(operands.data(), operands.size() * 4)) return 1;
    uint32_t status = 1;
    for (const entry& e : t) {
      if (name != e.name) continue;
      status = (uint32_t)e.in == in && (uint32_t)e.out == out ? 0 : 2;
      if (status == 0) e.run(results.data(), operands.data(), items);
      break;
    }
    write_exactly(&status, 4);
    if (status == 0) write_exactly(results.data(), results.size() * 4);
    std::fflush(stdout);
  }
}

}  // namespace pippin::probe

int main() { return pippin::probe::serve(); }
