// SPDX-License-Identifier: Apache-2.0
// Packs matrices of 1.1b shape (made-up weights) in every format and prints how much of their source a second of one core
// takes in, next to what it copies: the ceiling of a load that quantizes.
//   pack_bench [--threads N] [--seconds S] [--source bf16|f16|f32] [--format NAME] [--isa NAME]
// Seconds are those that the processor worked for this program, the best of those that fit into S: what a quiet machine
// would do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/isa/encoders.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/panel_matrix.h"
#include "kernels/formats/format.h"

namespace {

using namespace lathe::kernels;
using Clock = std::chrono::steady_clock;

struct Shape {
  std::int64_t n, k;
};
// A layer of the random checkpoint 1.1b: attention and MLP.
constexpr Shape kShapes[] = {{2048, 2048}, {5632, 2048}, {2048, 5632}};

struct Options {
  int n_threads = 1;
  double seconds = 0.5;
  Dtype source = Dtype::bf16;
  std::string format, isa = std::string(find_isa({})->name);
};

/// Normally distributed, near enough: sums of four uniform numbers.
Buffer made_weights(Dtype dtype, std::int64_t n) {
  Buffer buffer = allocate_host(static_cast<std::size_t>(n) * size_of(dtype));
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < 4; ++j) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      sum += static_cast<float>(state >> 40) * 0x1p-24F - 0.5F;
    }
    const float value = 0.03F * sum;
    if (dtype == Dtype::f32) static_cast<float*>(buffer.data())[i] = value;
    if (dtype == Dtype::f16) static_cast<std::uint16_t*>(buffer.data())[i] = f32_to_f16(value);
    if (dtype == Dtype::bf16) static_cast<std::uint16_t*>(buffer.data())[i] = f32_to_bf16(value);
  }
  return buffer;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds of the best run, of all threads together.
template <class Body>
double best_rate(double seconds, const Body& body) {
  double best = 1e30;
  const auto start = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    const double begin = processor_seconds();
    body();
    best = std::min(best, processor_seconds() - begin);
  }
  return best;
}

double megabytes(const Shape& shape, Dtype dtype) {
  return static_cast<double>(shape.n * shape.k) * static_cast<double>(size_of(dtype)) / 1e6;
}

void measure(const FormatDescriptor& format, const Options& options, ThreadPool& pool) {
  std::printf("%-14s", std::string(format.name).c_str());
  for (const Shape& shape : kShapes) {
    const Buffer source = made_weights(options.source, shape.n * shape.k);
    PanelMatrix matrix(format.format, shape.n, shape.k,
                       allocate_host(PanelMatrix::bytes_for(format.format, shape.n, shape.k)));
    const TensorView view(source.data(), options.source, {shape.n, shape.k});
    const double seconds = best_rate(options.seconds, [&] { matrix.pack_rows(0, view, pool, encoders_of(options.isa)); });
    std::printf("  %8.0f", megabytes(shape, options.source) / seconds);
  }
  std::printf("\n");
}

void measure_copy(const Options& options, ThreadPool& pool) {
  std::printf("%-14s", "copied");
  for (const Shape& shape : kShapes) {
    const Buffer source = made_weights(options.source, shape.n * shape.k);
    const Buffer target = allocate_host(source.n_bytes());
    const double seconds = best_rate(options.seconds, [&] {
      pool.run(static_cast<std::int64_t>(source.n_bytes() >> 16), 1, [&](std::int64_t begin, std::int64_t end, int) {
        std::memcpy(static_cast<std::byte*>(target.data()) + (begin << 16),
                    static_cast<const std::byte*>(source.data()) + (begin << 16),
                    static_cast<std::size_t>(end - begin) << 16);
      });
    });
    std::printf("  %8.0f", megabytes(shape, options.source) / seconds);
  }
  std::printf("\n");
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--threads") options.n_threads = std::atoi(value.c_str());
    else if (flag == "--seconds") options.seconds = std::atof(value.c_str());
    else if (flag == "--format") options.format = value;
    else if (flag == "--isa") options.isa = value;
    else if (flag == "--source") options.source = value == "f32" ? Dtype::f32 : value == "f16" ? Dtype::f16 : Dtype::bf16;
    else return false;
  }
  return argc % 2 == 1 && options.n_threads > 0 && find_isa(options.isa) != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "pack_bench [--threads N] [--seconds S] [--source bf16|f16|f32] [--format NAME] [--isa NAME]\n");
    return 2;
  }
  ThreadPool pool(options.n_threads);
  std::printf("MB of %s a second of a core, %s, %d threads\n%-14s", std::string(name_of(options.source)).c_str(),
              options.isa.c_str(), options.n_threads, "format");
  for (const Shape& shape : kShapes)
    std::printf("  %4lldx%-4lld", static_cast<long long>(shape.n), static_cast<long long>(shape.k));
  std::printf("\n");
  measure_copy(options, pool);
  for (const FormatDescriptor& format : weight_formats()) {
    if (options.format.empty() || options.format == format.name) measure(format, options, pool);
  }
}
