// SPDX-License-Identifier: Apache-2.0
#include "engine/model/classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace lathe::engine {
namespace {

/// The names of a head's two layers, without ".weight" and ".bias".
struct HeadNames {
  std::string_view dense, out;
};

// THE TABLE of heads. The first whose layers the files have is read.
constexpr std::array kHeadNames = {
    HeadNames{.dense = "bert.pooler.dense", .out = "classifier"},          // BertForSequenceClassification
    HeadNames{.dense = "classifier.dense", .out = "classifier.out_proj"},  // RobertaForSequenceClassification
    HeadNames{.dense = {}, .out = "score"},                                // decoders: the state of the last token
};

bool has_layer(const Checkpoint& checkpoint, std::string_view name) {
  return name.empty() || checkpoint.find(fmt::format("{}.weight", name)) != nullptr;
}

}  // namespace

Result<std::vector<float>> Classifier::read_tensor(const Checkpoint& checkpoint, const StoredTensor& tensor) {
  if (tensor.coded != nullptr) {
    return fail(ErrorCode::model_refused, "the classifier is quantized, which is not supported",
                fmt::format("{}: {}", checkpoint.file_of(tensor), tensor.name));
  }
  if (!is_readable(tensor)) {
    return fail(
        ErrorCode::model_refused,
        fmt::format("dtype: got {}, which the classifier cannot be in; expected F32, F16 or BF16", tensor.type->name),
        fmt::format("{}: {}", checkpoint.file_of(tensor), tensor.name));
  }
  LATHE_TRY_VOID(checkpoint.prepare(tensor));
  std::vector<std::byte> aligned;
  const kernels::TensorView view = view_of(tensor, aligned);
  std::vector<float> values(static_cast<std::size_t>(view.n_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (view.dtype) {
      case kernels::Dtype::bf16: values[i] = kernels::bf16_to_f32(view.as<const std::uint16_t>()[i]); break;
      case kernels::Dtype::f16: values[i] = kernels::f16_to_f32(view.as<const std::uint16_t>()[i]); break;
      default: values[i] = view.as<const float>()[i]; break;
    }
  }
  return values;
}

Result<Classifier::Layer> Classifier::read_layer(const Checkpoint& checkpoint, std::string_view name,
                                                 std::int64_t n_inputs) {
  const StoredTensor* const weight = checkpoint.find(fmt::format("{}.weight", name));
  const StoredTensor* const bias = checkpoint.find(fmt::format("{}.bias", name));
  const std::string where = fmt::format("{}: {}", checkpoint.file_of(*weight), weight->name);
  const std::vector<std::int64_t> shape = plain_shape(*weight);
  if (shape.size() != 2 || shape[0] < 1 || shape[1] != n_inputs) {
    return fail(ErrorCode::model_refused, fmt::format("shape: got {}, expected [outputs, {}]", to_string(shape), n_inputs),
                where);
  }
  if (bias != nullptr && plain_shape(*bias) != std::vector<std::int64_t>{shape[0]}) {
    return fail(ErrorCode::model_refused, fmt::format("the bias has the shape {}", to_string(bias->shape)), where);
  }
  Layer layer{.n_outputs = shape[0],
              .n_inputs = n_inputs,
              .weight = {},
              .bias = std::vector<float>(static_cast<std::size_t>(shape[0]))};
  LATHE_TRY(layer.weight, read_tensor(checkpoint, *weight));
  if (bias != nullptr) {
    LATHE_TRY(layer.bias, read_tensor(checkpoint, *bias));
  }
  return layer;
}

Result<Classifier> Classifier::read(const Checkpoint& checkpoint, std::int64_t hidden_size) {
  for (const HeadNames& names : kHeadNames) {
    if (!has_layer(checkpoint, names.dense) || !has_layer(checkpoint, names.out)) continue;
    Classifier head;
    if (!names.dense.empty()) {
      LATHE_TRY(head.dense_, read_layer(checkpoint, names.dense, hidden_size));
    }
    LATHE_TRY(head.out_, read_layer(checkpoint, names.out, names.dense.empty() ? hidden_size : head.dense_.n_outputs));
    return head;
  }
  return fail(ErrorCode::model_refused,
              "the files have no classifier: expected bert.pooler.dense and classifier (BERT), classifier.dense and "
              "classifier.out_proj (RoBERTa), or score (decoders)",
              "config.json: architectures");
}

Result<Classifier> Classifier::of_rows(const Checkpoint& checkpoint, const StoredTensor& matrix,
                                       std::span<const std::int32_t> ids, std::int64_t hidden_size) {
  const std::vector<std::int64_t> shape = plain_shape(matrix);
  const bool has_rows = shape.size() == 2 && shape[1] == hidden_size && !ids.empty() && std::ranges::max(ids) < shape[0];
  if (!has_rows) {
    return fail(ErrorCode::model_refused,
                fmt::format("shape: got {}, expected [tokens, {}] with a row for each token of the classifier",
                            to_string(shape), hidden_size),
                fmt::format("{}: {}", checkpoint.file_of(matrix), matrix.name));
  }
  Classifier head;
  head.out_.n_inputs = hidden_size;
  for (const std::int32_t id : ids) {
    const std::size_t n_bytes = matrix.bytes.size() / static_cast<std::size_t>(shape[0]);
    StoredTensor row = matrix;
    row.shape = {1, hidden_size};
    row.bytes = matrix.bytes.subspan(static_cast<std::size_t>(id) * n_bytes, n_bytes);
    LATHE_TRY(const std::vector<float> values, read_tensor(checkpoint, row));
    head.out_.weight.insert(head.out_.weight.end(), values.begin(), values.end());
  }
  head.out_.n_outputs = std::ssize(ids);
  head.out_.bias.assign(static_cast<std::size_t>(head.out_.n_outputs), 0.0F);
  return head;
}

void Classifier::judge_by_difference() {
  const auto n = static_cast<std::size_t>(out_.n_inputs);
  for (std::size_t i = 0; i < n; ++i) out_.weight[i] -= out_.weight[n + i];
  out_.weight.resize(n);
  out_.bias = {out_.bias[0] - out_.bias[1]};
  out_.n_outputs = 1;
}

std::int64_t Classifier::n_bytes() const {
  return static_cast<std::int64_t>((dense_.weight.size() + dense_.bias.size() + out_.weight.size() + out_.bias.size()) *
                                   sizeof(float));
}

std::vector<float> Classifier::Layer::forward(std::span<const float> x) const {
  std::vector<float> y(bias);
  for (std::int64_t row = 0; row < n_outputs; ++row) {
    const float* const w = weight.data() + row * n_inputs;
    double sum = 0;
    for (std::int64_t i = 0; i < n_inputs; ++i) sum += static_cast<double>(w[i]) * x[static_cast<std::size_t>(i)];
    y[static_cast<std::size_t>(row)] += static_cast<float>(sum);
  }
  return y;
}

std::vector<float> Classifier::logits(std::span<const float> state) const {
  if (dense_.n_outputs == 0) return out_.forward(state);
  std::vector<float> inner = dense_.forward(state);
  for (float& x : inner) x = std::tanh(x);
  return out_.forward(inner);
}

}  // namespace lathe::engine
