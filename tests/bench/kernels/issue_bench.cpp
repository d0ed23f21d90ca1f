// SPDX-License-Identifier: Apache-2.0
// Instructions that each processor issues in a cycle: what a neighbour on the same core takes shows here and nowhere else.
// A virtual processor may be one of two hardware threads of a core whose other one works for someone else. That is not
// counted as stolen time, and a loop of multiply-adds alone hardly feels it; a loop that also loads gets half of its
// instructions through. Prints JSON, one number a processor; compare them with the highest that the machine ever shows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTime = std::chrono::milliseconds(1);
constexpr int kBatch = 100;  // between two looks at the clock
constexpr int kLooks = 15;   // the median of them: in some the thread has to wait for its processor

/// How often a second `body` runs.
template <class Body>
double rate_of(const Body& body) {
  const auto begin = Clock::now();
  auto now = begin;
  double times = 0;
  while (now - begin < kTime) {
    for (int i = 0; i < kBatch; ++i) body();
    times += kBatch;
    now = Clock::now();
  }
  return times / std::chrono::duration<double>(now - begin).count();
}

double instructions_a_cycle() {
  constexpr double kNops = 128, kProducts = 16, kProductCycles = 3;  // a product waits for the one before: 3 cycles on x86
  std::vector<double> nops, products;
  std::uint64_t x = 1;
  for (int i = 0; i < kLooks; ++i) {
    nops.push_back(kNops * rate_of([] { asm volatile(".rept 128\n nop\n .endr"); }));
    products.push_back(kProducts * rate_of([&x] { asm volatile(".rept 16\n imul %0, %0\n .endr" : "+r"(x)); }));
  }
  std::sort(nops.begin(), nops.end());
  std::sort(products.begin(), products.end());
  return nops[kLooks / 2] / (products[kLooks / 2] * kProductCycles);
}

}  // namespace

int main(int argc, char** argv) {
  const int n_threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  if (n_threads < 1) {
    fmt::print(stderr, "usage: {} [THREADS]\n", argv[0]);
    return 2;
  }
  std::vector<double> rates(static_cast<std::size_t>(n_threads));
  std::vector<std::thread> threads;
  for (double& rate : rates) threads.emplace_back([&rate] { rate = instructions_a_cycle(); });
  for (std::thread& thread : threads) thread.join();
  fmt::print("{{\"instructions_a_cycle\": [{:.3f}]}}\n", fmt::join(rates, ", "));
}
