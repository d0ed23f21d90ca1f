// SPDX-License-Identifier: Apache-2.0
// Runs the operations of a Llama decoder of 0.5b shape (random bf16 weights) as a prompt of 512 tokens and as decode steps
// of 1 to 64 streams, and prints each operation's share of the ceilings measured between the runs.
//   decoder_bench [--isa NAME] [--threads N] [--repeats N] [--rows 1,16,512] [--layers N] [--format bf16|f16|f32]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include "kernels/api/selftest.h"

namespace {

using namespace lathe::kernels;

// tools/make_random_llama.py, preset 0.5b
constexpr int kHidden = 896;
constexpr int kHeads = 14;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 64;
constexpr int kFfn = 4864;
constexpr int kVocabulary = 32000;
constexpr int kQkv = (kHeads + 2 * kKvHeads) * kHeadDim;
constexpr int kBlockSize = 16;
constexpr int kDecodeContext = 256;

struct Options {
  std::string isa;
  std::string rows = "1,2,4,8,16,64,512";
  std::string format = "bf16";
  int n_threads = 0;
  int n_repeats = 5;
  int n_layers = 24;
};

/// Best time and work of each operation in one pass.
struct OpTimes {
  double best = 1e30;
  double total = 0;
  int calls = 0;
  double operations = 0;  ///< a call
  double bytes = 0;       ///< a call
};

class Decoder {
 public:
  Decoder(Backend& backend, const Options& options) : backend_(backend), n_layers_(options.n_layers) {
    format_ = options.format == "f32" ? WeightFormat::f32 : options.format == "f16" ? WeightFormat::f16 : WeightFormat::bf16;
    for (int i = 0; i < n_layers_; ++i) {
      qkv_.push_back(random_matrix(kQkv, kHidden));
      o_.push_back(random_matrix(kHidden, kHeads * kHeadDim));
      gate_up_.push_back(random_matrix(2 * kFfn, kHidden));
      down_.push_back(random_matrix(kHidden, kFfn));
    }
    head_ = random_matrix(kVocabulary, kHidden);
  }

  void run(int n_rows, bool is_prompt, std::map<std::string, OpTimes>& times);
  double weight_bytes() const { return weight_bytes_; }

 private:
  std::unique_ptr<PackedMatrix> random_matrix(std::int64_t n, std::int64_t k) {
    std::vector<float> source(static_cast<std::size_t>(n * k));
    for (std::size_t i = 0; i < source.size(); ++i)
      source[i] = 0.02F * static_cast<float>(static_cast<int>(i * 2654435761U >> 8) % 2001 - 1000) / 1000;
    auto matrix = backend_.make_packed(format_, n, k);
    backend_.pack_rows(*matrix, 0, TensorView(source.data(), Dtype::f32, {n, k}));
    weight_bytes_ += static_cast<double>(matrix->n_bytes());
    return matrix;
  }
  Buffer floats(std::int64_t n) { return backend_.allocate(static_cast<std::size_t>(n) * sizeof(float)); }

  Backend& backend_;
  int n_layers_;
  WeightFormat format_;
  std::vector<std::unique_ptr<PackedMatrix>> qkv_, o_, gate_up_, down_;
  std::unique_ptr<PackedMatrix> head_;
  double weight_bytes_ = 0;
};

void Decoder::run(int n_rows, bool is_prompt, std::map<std::string, OpTimes>& times) {
  const int n_seqs = is_prompt ? 1 : n_rows;
  const int context = is_prompt ? n_rows : kDecodeContext;
  const int blocks = (context + kBlockSize - 1) / kBlockSize;
  const KvShape kv{.n_layers = 1,
                   .n_kv_heads = kKvHeads,
                   .head_dim = kHeadDim,
                   .block_size = kBlockSize,
                   .n_blocks = n_seqs * blocks,
                   .dtype = Dtype::bf16};
  std::vector<std::int32_t> query_start, context_len, tables, positions, slots;
  for (int i = 0; i <= n_seqs; ++i) query_start.push_back(is_prompt ? i * n_rows : i);
  for (int i = 0; i < n_seqs * blocks; ++i) tables.push_back(i * 7 % (n_seqs * blocks) == 0 && i > 0 ? i : i);
  for (int i = 0; i < n_seqs; ++i) context_len.push_back(context);
  for (int i = 0; i < n_rows; ++i) {
    positions.push_back(is_prompt ? i : context - 1);
    slots.push_back(is_prompt ? i : i * blocks * kBlockSize + context - 1);
  }
  const AttentionBatch batch{.n_seqs = n_seqs,
                             .query_start = query_start,
                             .context_len = context_len,
                             .block_tables = tables,
                             .max_blocks = blocks};
  std::vector<Buffer> caches;
  for (int i = 0; i < n_layers_; ++i) caches.push_back(backend_.allocate(backend_.kv_layer_bytes(kv)));
  const auto rows = [&](Buffer& b, std::int64_t n) { return TensorView(b.data(), Dtype::f32, {n_rows, n}); };
  Buffer b_x = floats(n_rows * kHidden), b_norm = floats(n_rows * kHidden), b_qkv = floats(n_rows * kQkv),
         b_att = floats(n_rows * kHidden), b_delta = floats(n_rows * kHidden);
  Buffer b_gu = floats(std::int64_t{n_rows} * 2 * kFfn), b_act = floats(std::int64_t{n_rows} * kFfn), b_w = floats(kHidden),
         b_table = floats(4096 * kHeadDim / 2);
  const int n_logits = is_prompt ? 1 : n_rows;
  Buffer b_logits = floats(std::int64_t{n_logits} * kVocabulary);
  const TensorView x = rows(b_x, kHidden), norm = rows(b_norm, kHidden), qkv = rows(b_qkv, kQkv), att = rows(b_att, kHidden),
                   delta = rows(b_delta, kHidden);
  const TensorView gu = rows(b_gu, 2 * kFfn), act = rows(b_act, kFfn), none;
  const TensorView w(b_w.data(), Dtype::f32, {kHidden}), table(b_table.data(), Dtype::f32, {4096, kHeadDim / 2});
  for (int i = 0; i < n_rows * kHidden; ++i) x.as<float>()[i] = static_cast<float>(i % 17) - 8;
  for (int i = 0; i < kHidden; ++i) w.as<float>()[i] = 1;
  for (int i = 0; i < 4096 * kHeadDim / 2; ++i) table.as<float>()[i] = 0.7F;
  const auto column = [&](int begin, int n) {
    TensorView v = qkv;
    v.data = qkv.as<float>() + begin;
    v.shape[1] = n;
    return v;
  };
  const TensorView q = column(0, kHeads * kHeadDim), k = column(kHeads * kHeadDim, kKvHeads * kHeadDim),
                   v = column((kHeads + kKvHeads) * kHeadDim, kKvHeads * kHeadDim);
  const auto timed = [&](const char* name, double operations, double bytes, auto&& body) {
    const auto t = std::chrono::steady_clock::now();
    body();
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
    OpTimes& op = times[name];
    op.best = std::min(op.best, s);
    op.total += s;
    ++op.calls;
    op.operations = operations;
    op.bytes = bytes;
  };
  const auto linear = [&](const char* name, const TensorView& out, const TensorView& in, const PackedMatrix& m) {
    timed(name, 2.0 * static_cast<double>(in.dim(0)) * static_cast<double>(m.n() * m.k()), static_cast<double>(m.n_bytes()),
          [&] { backend_.linear(out, in, m, none); });
  };
  const double pairs = is_prompt ? 0.5 * n_rows * (n_rows + 1) : static_cast<double>(n_rows) * context;
  for (int i = 0; i < n_layers_; ++i) {
    const auto l = static_cast<std::size_t>(i);
    const KvLayer layer{.data = caches[l].data(), .shape = kv};
    timed("norm", 0, 0, [&] { backend_.add_rms_norm(norm, x, delta, w, 1e-5F); });
    linear("1 qkv", qkv, norm, *qkv_[l]);
    timed("rope+kv", 0, 0, [&] {
      backend_.rope(q, kHeads, kHeadDim, kHeadDim, positions, table, table, RopeStyle::half);
      backend_.rope(k, kKvHeads, kHeadDim, kHeadDim, positions, table, table, RopeStyle::half);
      backend_.kv_write(layer, k, v, slots);
    });
    timed("attention", pairs * kHeads * kHeadDim * 4, 0, [&] { backend_.attention(att, q, kHeads, layer, batch, 0.125F); });
    linear("2 o", delta, att, *o_[l]);
    timed("norm", 0, 0, [&] { backend_.add_rms_norm(norm, x, delta, w, 1e-5F); });
    linear("3 gate_up", gu, norm, *gate_up_[l]);
    timed("silu", 0, 0, [&] { backend_.silu_mul(act, gu); });
    linear("4 down", delta, act, *down_[l]);
  }
  linear("5 head", TensorView(b_logits.data(), Dtype::f32, {n_logits, kVocabulary}), norm.rows(0, n_logits), *head_);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--isa") o.isa = argv[i + 1];
    if (key == "--threads") o.n_threads = std::atoi(argv[i + 1]);
    if (key == "--repeats") o.n_repeats = std::atoi(argv[i + 1]);
    if (key == "--rows") o.rows = argv[i + 1];
    if (key == "--layers") o.n_layers = std::atoi(argv[i + 1]);
    if (key == "--format") o.format = argv[i + 1];
  }
  return o;
}

void print(const std::map<std::string, OpTimes>& times, const Ceilings& c, int n_repeats) {
  double pass = 0, best_pass = 0, operations = 0, bytes = 0;
  for (const auto& [name, op] : times) {
    const int per_pass = op.calls / n_repeats;
    best_pass += op.best * per_pass;
    pass += op.total / n_repeats;
    operations += op.operations * per_pass;
    bytes += op.bytes * per_pass;
    std::printf("  %-10s best %9.1f us  mean %9.1f us", name.c_str(), op.best * 1e6, op.total / op.calls * 1e6);
    if (op.operations > 0)
      std::printf("  %7.1f GFLOP/s %5.1f %% of fma", op.operations / op.best * 1e-9,
                  op.operations / op.best * 1e-7 / c.fma_gflop_s);
    if (op.bytes > 0)
      std::printf("  %6.1f GB/s %5.1f %% of read", op.bytes / op.best * 1e-9, op.bytes / op.best * 1e-7 / c.read_gb_s);
    std::printf("\n");
  }
  std::printf("  pass: mean %.2f ms, of best ops %.2f ms: %.1f GFLOP/s = %.1f %% of fma, %.1f GB/s = %.1f %% of read\n",
              pass * 1e3, best_pass * 1e3, operations / best_pass * 1e-9, operations / best_pass * 1e-7 / c.fma_gflop_s,
              bytes / best_pass * 1e-9, bytes / best_pass * 1e-7 / c.read_gb_s);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto backend = make_cpu_backend({.n_threads = options.n_threads, .isa = options.isa});
  if (backend == nullptr) return std::fprintf(stderr, "decoder_bench: this machine lacks %s\n", options.isa.c_str()), 1;
  Decoder decoder(*backend, options);
  std::istringstream rows(options.rows);
  for (std::string field; std::getline(rows, field, ',');) {
    const int n = std::atoi(field.c_str());
    std::map<std::string, OpTimes> times;
    Ceilings c;
    for (int r = 0; r < options.n_repeats; ++r) {
      const Ceilings now = measure_ceilings(*backend);
      c.read_gb_s = std::max(c.read_gb_s, now.read_gb_s);
      c.fma_gflop_s = std::max(c.fma_gflop_s, now.fma_gflop_s);
      decoder.run(n, n > 64, times);
    }
    std::printf("%s, %d threads, %d rows%s: read %.1f GB/s, fma %.1f GFLOP/s\n", backend->info().isa.c_str(),
                backend->info().n_threads, n, n > 64 ? " (prompt)" : "", c.read_gb_s, c.fma_gflop_s);
    print(times, c, options.n_repeats);
  }
  return 0;
}
