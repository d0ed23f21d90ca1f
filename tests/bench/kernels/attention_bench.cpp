// SPDX-License-Identifier: Apache-2.0
// Runs attention of one layer (0.5b shape unless told) at several depths, for every type of the KV cache: streams that
// decode, and 512 tokens of a prompt at the end of the context. Prints tokens a second, and what is read and multiplied
// beside the ceilings measured in the same run.
//   attention_bench [--isa NAME] [--threads N] [--heads 14,2,64] [--depth 256,2048,8192] [--streams 1,8] [--prompt 512]
//                   [--type bfloat16]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "kernels/api/roofline.h"

namespace {

using namespace lathe::kernels;

struct Options {
  std::string isa;
  std::string heads = "14,2,64";  ///< query heads, KV heads, numbers of a head
  std::string depths = "256,2048,8192";
  std::string streams = "1,8";
  std::string type;  ///< empty: all
  int n_threads = 0;
  int prompt = 512;
};

std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> numbers;
  std::istringstream fields(list);
  for (std::string field; std::getline(fields, field, ',');) numbers.push_back(std::max(1, std::atoi(field.c_str())));
  return numbers;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    const std::string value = argv[i + 1];
    if (key == "--isa") options.isa = value;
    if (key == "--heads") options.heads = value;
    if (key == "--depth") options.depths = value;
    if (key == "--streams") options.streams = value;
    if (key == "--type") options.type = value;
    if (key == "--threads") options.n_threads = std::atoi(value.c_str());
    if (key == "--prompt") options.prompt = std::atoi(value.c_str());
  }
  return options;
}

AttentionMeasurement plan_of(const Options& options) {
  const std::vector<int> heads = numbers_of(options.heads);
  if (heads.size() != 3 || heads[0] % heads[1] != 0) {
    std::exit((std::fprintf(stderr, "attention_bench: --heads wants query heads, KV heads, numbers of a head\n"), 2));
  }
  AttentionMeasurement plan{.n_heads = heads[0], .n_kv_heads = heads[1], .head_dim = heads[2], .kv_types = {}, .steps = {}};
  for (const Dtype type : kv_types()) {
    if (options.type.empty() || options.type == name_of(type)) plan.kv_types.push_back(type);
  }
  for (const int depth : numbers_of(options.depths)) {
    for (const int n : numbers_of(options.streams)) plan.steps.push_back({.n_seqs = n, .n_rows = 1, .context = depth});
    if (options.prompt > 0) plan.steps.push_back({.n_rows = std::min(options.prompt, depth), .context = depth});
  }
  return plan;
}

void print(const AttentionPoint& point, const Ceilings& ceilings) {
  const AttentionStep& step = point.step;
  const RooflineFigures& figures = point.figures;
  std::printf(
      "%-10s depth %6d  %2d x %3d rows  %10.1f us  %10.0f tok/s  %6.2f GB/s = %5.1f %% of read  "
      "%7.1f GFLOP/s = %5.1f %% of fma\n",
      std::string(name_of(point.kv_type)).c_str(), step.context, step.n_seqs, step.n_rows, figures.seconds * 1e6,
      step.n_seqs * step.n_rows / figures.seconds, figures.gb_s(), 100 * figures.gb_s() / ceilings.read_gb_s,
      figures.gflop_s(), 100 * figures.gflop_s() / ceilings.fma_gflop_s);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const AttentionMeasurement plan = plan_of(options);
  const auto backend = make_cpu_backend({.n_threads = options.n_threads, .isa = options.isa});
  if (backend == nullptr) {
    std::fprintf(stderr, "attention_bench: this machine lacks %s\n", options.isa.c_str());
    return 1;
  }
  const Ceilings ceilings = measure_ceilings(*backend);
  std::printf("%s, %d threads, %d query heads, %d KV heads of %d: read %.1f GB/s, fma %.1f GFLOP/s\n",
              backend->info().isa.c_str(), backend->info().n_threads, plan.n_heads, plan.n_kv_heads, plan.head_dim,
              ceilings.read_gb_s, ceilings.fma_gflop_s);
  measure_attention(*backend, ceilings, plan, [&](const AttentionPoint& point) {
    print(point, ceilings);
    return true;
  });
  return 0;
}
