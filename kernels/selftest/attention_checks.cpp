// SPDX-License-Identifier: Apache-2.0
#include "kernels/selftest/attention_checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "kernels/selftest/attention_case.h"
#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

// The first sequence has more rows than products with few rows take; the second decodes.
constexpr int kTokens = 600, kPrompt = 170, kOtherTokens = 300;
constexpr int kHeads = 4, kKvHeads = 2, kBlockSize = 16;
constexpr std::int64_t kHidden = 64;

/// A cache and a form of attention.
struct Case {
  const char* name;
  int head_dim;
  Dtype cache;
  int window = 0;
  float soft_cap = 0;
};
constexpr Case kCases[] = {
    {"f32", 64, Dtype::f32},
    {"bf16", 64, Dtype::bf16},
    {"f16", 64, Dtype::f16},
    {"i8", 64, Dtype::i8},
    {"bf16, heads of 40", 40, Dtype::bf16},
    {"bf16, heads of 80", 80, Dtype::bf16},
    {"f16, heads of 96", 96, Dtype::f16},
    {"bf16, heads of 128", 128, Dtype::bf16},
    {"bf16, heads of 128, window", 128, Dtype::bf16, 290},
    {"bf16, heads of 128, soft cap", 128, Dtype::bf16, 0, 2},
    {"bf16, heads of 256", 256, Dtype::bf16},
};

/// A prompt and a sequence that decodes.
struct Sequences {
  Sequences(Backend& backend, const Case& of, RandomNumbers& numbers)
      : both({0, kPrompt, kPrompt + 1}, {kTokens, kOtherTokens}, kBlockSize, numbers),
        form{.scale = 1 / std::sqrt(static_cast<float>(of.head_dim)), .window = of.window, .soft_cap = of.soft_cap},
        q(Dtype::f32, {kPrompt + 1, std::int64_t{kHeads} * of.head_dim}, numbers, 2, &backend),
        shape{.n_layers = 1,
              .n_kv_heads = kKvHeads,
              .head_dim = of.head_dim,
              .block_size = kBlockSize,
              .n_blocks = static_cast<int>(both.block_tables.size()),
              .dtype = of.cache},
        memory(backend.allocate(backend.kv_layer_bytes(shape))) {
    if (!memory) throw std::bad_alloc();
    const std::int64_t columns = std::int64_t{kKvHeads} * of.head_dim, n = std::ssize(both.slots);
    const RandomTensor k(Dtype::f32, {n, columns}, numbers, 2, &backend), v(Dtype::f32, {n, columns}, numbers, 1, &backend);
    backend.kv_write(layer(), k.view(), v.view(), both.slots);
    backend.finish();
  }
  KvLayer layer() const { return {.data = memory.data(), .shape = shape}; }

  /// Computes rows [begin, end) of the first sequence in a batch of their own.
  void attend_rows(Backend& backend, const TensorView& out, int begin, int end) const {
    const std::int32_t starts[] = {0, end - begin}, contexts[] = {kTokens - kPrompt + end};
    const AttentionBatch batch{.n_seqs = 1,
                               .query_start = starts,
                               .context_len = contexts,
                               .block_tables = both.block_tables,
                               .max_blocks = both.max_blocks};
    backend.attention(out, q.view().rows(begin, end - begin), kHeads, layer(), batch, form);
    backend.finish();
  }

  AttentionCase both;
  AttentionForm form;
  RandomTensor q;
  KvShape shape;
  Buffer memory;
};

double share_of_other_rows(const TensorView& a, const TensorView& b) {
  std::int64_t n_others = 0;
  const auto n_bytes = static_cast<std::size_t>(a.dim(1)) * sizeof(float);
  for (std::int64_t row = 0; row < a.dim(0); ++row)
    n_others += std::memcmp(a.row<float>(row), b.row<float>(row), n_bytes) == 0 ? 0 : 1;
  return static_cast<double>(n_others) / static_cast<double>(a.dim(0));
}

/// Checks rows of a prompt in a batch with another sequence against the same rows in chunks of several sizes.
void check_rows(Backend& backend, const Case& of, const Sequences& sequences, const std::function<void(OpCheck)>& add) {
  const std::int64_t columns = sequences.q.view().dim(1);
  const RandomTensor all({kPrompt + 1, columns}, &backend), some({kPrompt, columns}, &backend);
  OpCheck check{.op = std::string("batch invariance of attention, ") + of.name, .bound = {}};
  check.seconds = best_seconds(0, [&] {
    backend.attention(all.view(), sequences.q.view(), kHeads, sequences.layer(), sequences.both.batch(), sequences.form);
    backend.finish();
  });
  for (const int n : {1, 3, 8, 9, 33, 65, 170}) {
    for (int begin = 0; begin < kPrompt; begin += std::max(n, 70)) {
      const int end = std::min(begin + n, kPrompt);
      const TensorView out = some.view().rows(0, end - begin);
      sequences.attend_rows(backend, out, begin, end);
      check.max_error += share_of_other_rows(out, all.view().rows(begin, end - begin));
    }
  }
  add(std::move(check));
}

/// Checks attend() against attention() and linear(), for a step with many rows and for one.
void check_attend(Backend& backend, const Case& of, WeightFormat format, const char* name, const Sequences& sequences,
                  RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  const std::int64_t n = kPrompt + 1, columns = sequences.q.view().dim(1);
  const RandomTensor weights(Dtype::f32, {kHidden, columns}, numbers, 0.1F),
      bias(Dtype::f32, {kHidden}, numbers, 1, &backend);
  const auto matrix = backend.make_packed(format, kHidden, columns);
  if (!matrix) throw std::bad_alloc();
  backend.pack_rows(*matrix, 0, weights.view());
  const RandomTensor heads({n, columns}, &backend), space({n, columns}, &backend);
  const RandomTensor want({n, kHidden}, &backend), got({n, kHidden}, &backend);
  OpCheck check{.op = std::string("attend as its parts, ") + of.name + ", " + name, .bound = {}};
  backend.attention(heads.view(), sequences.q.view(), kHeads, sequences.layer(), sequences.both.batch(), sequences.form);
  backend.linear(want.view(), heads.view(), *matrix, bias.view());
  check.seconds = best_seconds(0, [&] {
    backend.attend(got.view(), space.view(), sequences.q.view(), kHeads, sequences.layer(), sequences.both.batch(),
                   sequences.form, *matrix, bias.view());
    backend.finish();
  });
  check.max_error = share_of_other_rows(got.view(), want.view());
  const std::int32_t starts[] = {0, 1}, contexts[] = {kTokens};
  const AttentionBatch last{.n_seqs = 1,
                            .query_start = starts,
                            .context_len = contexts,
                            .block_tables = sequences.both.block_tables,
                            .max_blocks = sequences.both.max_blocks};
  const TensorView one = got.view().rows(0, 1);
  backend.attend(one, space.view().rows(0, 1), sequences.q.view().rows(kPrompt - 1, 1), kHeads, sequences.layer(), last,
                 sequences.form, *matrix, bias.view());
  backend.finish();
  check.max_error += share_of_other_rows(one, want.view().rows(kPrompt - 1, 1));
  add(std::move(check));
}

}  // namespace

void check_attention_bits(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  for (const Case& of : kCases) {
    const Sequences sequences(backend, of, numbers);
    check_rows(backend, of, sequences, add);
    check_attend(backend, of, WeightFormat::bf16, "bf16", sequences, numbers, add);
    check_attend(backend, of, WeightFormat::f32, "f32", sequences, numbers, add);
  }
}

}  // namespace lathe::kernels
