//go:build ignore

// ntl: products in GF(2^n) by NTL, on one processor and on several: a JSON record.
// scripts/bench-ntl builds and calls it.
#include <NTL/GF2E.h>
#include <NTL/GF2XFactoring.h>
#include <NTL/HAVE_PCLMUL.h>
#include <NTL/version.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

// Seconds that this thread has computed: other work on the machine is not in them.
static double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Products a second of one thread, in 10^9, over 64 pairs of elements again and again.
static double rate(int n) {
  NTL::GF2X f;
  NTL::BuildSparseIrred(f, n);
  NTL::GF2E::init(f);
  std::vector<NTL::GF2E> x(64), y(64);
  for (int i = 0; i < 64; i++) {
    x[i] = NTL::random_GF2E();
    y[i] = NTL::random_GF2E();
  }
  NTL::GF2E z;
  long done = 0;
  const double from = now();
  for (;;) {
    for (int r = 0; r < 200; r++) {
      for (int i = 0; i < 64; i++) NTL::mul(z, x[i], y[i]);
    }
    done += 200 * 64;
    const double took = now() - from;
    if (took > 0.4) return done / took / 1e9;
  }
}

int main(int argc, char** argv) {
#ifdef NTL_HAVE_PCLMUL
  const char* products = "with carry-less multiplication";
#else
  const char* products = "without carry-less multiplication";
#endif
  std::printf("{\n  \"machine\": {\"cpu\": \"%u processors\", \"library\": \"NTL %s, %s\"},\n  \"runs\": [",
              std::thread::hardware_concurrency(), NTL_VERSION, products);
  const char* comma = "\n";
  for (int a = 1; a < argc; a++) {
    const int threads = std::atoi(argv[a]);
    for (int n : {32, 64, 96, 128, 192, 256, 512, 1024, 2048}) {
      std::vector<double> each(threads);
      std::vector<std::thread> running;
      for (int t = 0; t < threads; t++) running.emplace_back([&, t] { each[t] = rate(n); });
      double sum = 0;
      for (int t = 0; t < threads; t++) {
        running[t].join();
        sum += each[t];
      }
      std::printf("%s    {\"op\": \"ntl\", \"bits\": %d, \"threads\": %d, \"gops\": %.6f}", comma, n, threads, sum);
      comma = ",\n";
    }
  }
  std::printf("\n  ]\n}\n");
}
