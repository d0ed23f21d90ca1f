// SPDX-License-Identifier: Apache-2.0
// Runs the operations of a Llama decoder of 0.5b shape (made-up weights) as a prompt of 512 tokens and as decode steps of
// 1 to 64 streams, and prints each operation's share of the ceilings measured between the runs.
//   decoder_bench [--isa NAME] [--threads N] [--repeats N] [--rows 1,16,512] [--layers N] [--format bf16|f16|f32]
// More than 64 rows are one prompt. "of best" adds up the best time of each operation: what a quiet machine would do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "kernels/api/selftest.h"
#include "kernels/formats/format.h"

namespace {

using namespace lathe::kernels;

// Preset 0.5b of the random checkpoints that whole-program measurements use.
constexpr int kHidden = 896;
constexpr int kHeads = 14;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 64;
constexpr int kFfn = 4864;
constexpr int kVocabulary = 32000;
constexpr int kQ = kHeads * kHeadDim;
constexpr int kKv = kKvHeads * kHeadDim;
constexpr int kBlockSize = 16;
constexpr int kDecodeContext = 256;
constexpr int kMaxStreams = 64;

struct Options {
  std::string isa;
  std::string rows = "1,2,4,8,16,64,512";
  std::string format = "bf16";
  int n_threads = 0;
  int n_repeats = 5;
  int n_layers = 24;
};

struct OpTimes {
  double best = 1e30;
  double total = 0;
  int calls = 0;
  double operations = 0;  ///< of one call
  double bytes = 0;       ///< of weights, of one call
};
using Times = std::map<std::string, OpTimes>;

template <class Body>
void timed(OpTimes& times, double operations, double bytes, const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  times.best = std::min(times.best, seconds);
  times.total += seconds;
  ++times.calls;
  times.operations = operations;
  times.bytes = bytes;
}

struct Layer {
  std::unique_ptr<PackedMatrix> qkv, o, gate, up, down;
};

class Weights {
 public:
  Weights(Backend& backend, const Options& options) : backend_(backend) {
    for (const FormatDescriptor& format : weight_formats()) {
      if (format.name == options.format) format_ = format.format;
    }
    for (int i = 0; i < options.n_layers; ++i) {
      layers_.push_back({.qkv = matrix(kQ + 2 * kKv, kHidden),
                         .o = matrix(kHidden, kQ),
                         .gate = matrix(kFfn, kHidden),
                         .up = matrix(kFfn, kHidden),
                         .down = matrix(kHidden, kFfn)});
    }
    head_ = matrix(kVocabulary, kHidden);
  }
  const std::vector<Layer>& layers() const { return layers_; }
  const PackedMatrix& head() const { return *head_; }

 private:
  std::unique_ptr<PackedMatrix> matrix(std::int64_t n, std::int64_t k) {
    std::vector<float> source(static_cast<std::size_t>(n * k));
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = 1e-4F * static_cast<float>(i * 2654435761U % 401) - 0.02F;
    auto made = backend_.make_packed(format_, n, k);
    if (made == nullptr) std::exit((std::fprintf(stderr, "decoder_bench: no memory left\n"), 1));
    backend_.pack_rows(*made, 0, TensorView(source.data(), Dtype::f32, {n, k}));
    return made;
  }

  Backend& backend_;
  WeightFormat format_ = WeightFormat::bf16;
  std::vector<Layer> layers_;
  std::unique_ptr<PackedMatrix> head_;
};

/// The activations, cache and batch of steps of one number of rows.
class Step {
 public:
  Step(Backend& backend, const Weights& weights, int n_rows);
  void run(Times& times);
  bool is_prompt() const { return is_prompt_; }

 private:
  void make_batch();
  void run_layer(const Layer& layer, const KvLayer& cache, Times& times);
  void linear(OpTimes& times, const TensorView& out, const TensorView& x, const PackedMatrix& matrix) {
    const double operations = 2.0 * static_cast<double>(x.dim(0)) * static_cast<double>(matrix.n() * matrix.k());
    timed(times, operations, static_cast<double>(matrix.n_bytes()), [&] { backend_.linear(out, x, matrix, {}); });
  }
  TensorView rows(std::int64_t n, std::int64_t n_columns, float value = 0) {
    buffers_.push_back(backend_.allocate(static_cast<std::size_t>(n * n_columns) * sizeof(float)));
    const TensorView view(buffers_.back().data(), Dtype::f32, {n, n_columns});
    std::fill_n(view.as<float>(), n * n_columns, value);
    return view;
  }
  TensorView columns_of_qkv(int begin, int n) const {
    TensorView view = qkv_;
    view.data = qkv_.as<float>() + begin;
    view.shape[1] = n;
    return view;
  }

  Backend& backend_;
  const Weights& weights_;
  int n_rows_;
  bool is_prompt_;
  int n_seqs_;
  int context_;
  int n_blocks_;  ///< of a sequence
  std::vector<Buffer> buffers_;
  TensorView x_, normed_, qkv_, attended_, delta_, logits_, norm_weight_, angles_;
  KvShape kv_;
  std::vector<Buffer> caches_;
  std::vector<std::int32_t> query_start_, context_len_, tables_, positions_, slots_;
  AttentionBatch batch_;
};

Step::Step(Backend& backend, const Weights& weights, int n_rows)
    : backend_(backend),
      weights_(weights),
      n_rows_(n_rows),
      is_prompt_(n_rows > kMaxStreams),
      n_seqs_(is_prompt_ ? 1 : n_rows),
      context_(is_prompt_ ? n_rows : kDecodeContext),
      n_blocks_((context_ + kBlockSize - 1) / kBlockSize) {
  x_ = rows(n_rows, kHidden, 0.5F);
  normed_ = rows(n_rows, kHidden);
  qkv_ = rows(n_rows, kQ + 2 * kKv);
  attended_ = rows(n_rows, kQ);
  delta_ = rows(n_rows, kHidden);
  logits_ = rows(is_prompt_ ? 1 : n_rows, kVocabulary);
  norm_weight_ = rows(1, kHidden, 1);
  angles_ = rows(std::max(context_, 1), kHeadDim / 2, 0.7F);
  make_batch();
  for (std::size_t i = 0; i < weights.layers().size(); ++i) {
    caches_.push_back(backend.allocate(backend.kv_layer_bytes(kv_)));
    std::fill_n(static_cast<std::byte*>(caches_.back().data()), caches_.back().n_bytes(), std::byte{0});
  }
}

void Step::make_batch() {
  kv_ = {.n_layers = 1,
         .n_kv_heads = kKvHeads,
         .head_dim = kHeadDim,
         .block_size = kBlockSize,
         .n_blocks = n_seqs_ * n_blocks_,
         .dtype = Dtype::bf16};
  for (int i = 0; i < n_seqs_ * n_blocks_; ++i) tables_.push_back(i);
  for (int i = 0; i <= n_seqs_; ++i) query_start_.push_back(is_prompt_ ? i * n_rows_ : i);
  context_len_.assign(static_cast<std::size_t>(n_seqs_), context_);
  for (int i = 0; i < n_rows_; ++i) {
    positions_.push_back(is_prompt_ ? i : context_ - 1);
    slots_.push_back(is_prompt_ ? i : i * n_blocks_ * kBlockSize + context_ - 1);
  }
  batch_ = {.n_seqs = n_seqs_,
            .query_start = query_start_,
            .context_len = context_len_,
            .block_tables = tables_,
            .max_blocks = n_blocks_};
}

void Step::run_layer(const Layer& layer, const KvLayer& cache, Times& times) {
  const TensorView q = columns_of_qkv(0, kQ);
  const TensorView k = columns_of_qkv(kQ, kKv);
  const TensorView v = columns_of_qkv(kQ + kKv, kKv);
  const double seen = is_prompt_ ? 0.5 * n_rows_ * (n_rows_ + 1) : static_cast<double>(n_rows_) * context_;
  timed(times["norm"], 0, 0, [&] { backend_.add_norm(normed_, x_, delta_, {.weight = norm_weight_, .eps = 1e-5F}); });
  linear(times["1 qkv"], qkv_, normed_, *layer.qkv);
  timed(times["rope, kv"], 0, 0, [&] {
    backend_.rope(q, kHeads, kHeadDim, positions_, {angles_, angles_, RopeStyle::half});
    backend_.rope(k, kKvHeads, kHeadDim, positions_, {angles_, angles_, RopeStyle::half});
    backend_.kv_write(cache, k, v, slots_);
  });
  timed(times["attention"], 4 * seen * kQ, 0,
        [&] { backend_.attention(attended_, q, kHeads, cache, batch_, {.scale = 0.125F}); });
  linear(times["2 o"], delta_, attended_, *layer.o);
  timed(times["norm"], 0, 0, [&] { backend_.add_norm(normed_, x_, delta_, {.weight = norm_weight_, .eps = 1e-5F}); });
  const double n_weights = 3.0 * kFfn * kHidden;
  const std::size_t n_bytes = layer.gate->n_bytes() + layer.up->n_bytes() + layer.down->n_bytes();
  timed(times["3 mlp"], 2 * n_rows_ * n_weights, static_cast<double>(n_bytes),
        [&] { backend_.mlp(delta_, {.x = normed_}, {.gate = layer.gate.get(), .up = *layer.up, .down = *layer.down}); });
}

void Step::run(Times& times) {
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    run_layer(weights_.layers()[i], {.data = caches_[i].data(), .shape = kv_}, times);
  }
  linear(times["4 head"], logits_, normed_.rows(0, logits_.dim(0)), weights_.head());
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    const std::string value = argv[i + 1];
    if (key == "--isa") options.isa = value;
    if (key == "--threads") options.n_threads = std::atoi(value.c_str());
    if (key == "--repeats") options.n_repeats = std::max(1, std::atoi(value.c_str()));
    if (key == "--rows") options.rows = value;
    if (key == "--layers") options.n_layers = std::atoi(value.c_str());
    if (key == "--format") options.format = value;
  }
  return options;
}

void print_rates(double operations, double bytes, double seconds, const Ceilings& ceilings) {
  const double peak = std::max(ceilings.fma_gflop_s, ceilings.bf16_gflop_s);
  if (operations > 0) {
    const double gflop_s = operations / seconds * 1e-9;
    std::printf("  %7.1f GFLOP/s = %5.1f %% of peak", gflop_s, 100 * gflop_s / peak);
  }
  if (bytes > 0) {
    const double gb_s = bytes / seconds * 1e-9;
    std::printf("  %6.1f GB/s = %5.1f %% of read", gb_s, 100 * gb_s / ceilings.read_gb_s);
  }
  std::printf("\n");
}

void print(const Times& times, const Ceilings& ceilings, int n_repeats) {
  OpTimes pass{.best = 0};
  for (const auto& [name, op] : times) {
    const int per_pass = op.calls / n_repeats;
    pass.best += op.best * per_pass;
    pass.total += op.total / n_repeats;
    pass.operations += op.operations * per_pass;
    pass.bytes += op.bytes * per_pass;
    std::printf("  %-10s best %9.1f us  mean %9.1f us", name.c_str(), op.best * 1e6, op.total / op.calls * 1e6);
    print_rates(op.operations, op.bytes, op.best, ceilings);
  }
  std::printf("  %-10s best %9.1f us  mean %9.1f us", "pass", pass.best * 1e6, pass.total * 1e6);
  print_rates(pass.operations, pass.bytes, pass.best, ceilings);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto backend = make_cpu_backend({.n_threads = options.n_threads, .isa = options.isa});
  if (backend == nullptr) {
    std::fprintf(stderr, "decoder_bench: this machine lacks %s\n", options.isa.c_str());
    return 1;
  }
  const Weights weights(*backend, options);
  std::istringstream rows(options.rows);
  for (std::string field; std::getline(rows, field, ',');) {
    Step step(*backend, weights, std::max(1, std::atoi(field.c_str())));
    Times times;
    Ceilings best;
    for (int repeat = 0; repeat < options.n_repeats; ++repeat) {
      const Ceilings now = measure_ceilings(*backend);
      best.read_gb_s = std::max(best.read_gb_s, now.read_gb_s);
      best.fma_gflop_s = std::max(best.fma_gflop_s, now.fma_gflop_s);
      best.bf16_gflop_s = std::max(best.bf16_gflop_s, now.bf16_gflop_s);
      step.run(times);
    }
    std::printf("%s, %d threads, %s rows%s: read %.1f GB/s, fma %.1f GFLOP/s, bf16 dot %.1f GFLOP/s\n",
                backend->info().isa.c_str(), backend->info().n_threads, field.c_str(), step.is_prompt() ? " (prompt)" : "",
                best.read_gb_s, best.fma_gflop_s, best.bf16_gflop_s);
    print(times, best, options.n_repeats);
  }
  return 0;
}
