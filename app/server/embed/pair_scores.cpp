// SPDX-License-Identifier: Apache-2.0
#include "app/server/embed/pair_scores.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

namespace lathe::app {
namespace {

using engine::ErrorCode;

/// Cosine of the angle between two vectors of length 1.
double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](float x, float y) { return static_cast<double>(x) * y; });
}

engine::Result<void> append_texts(const TextInput& input, const std::vector<std::string>& strings, const std::string& name,
                                  std::vector<VectorText>& texts) {
  for (std::size_t i = 0; i < strings.size(); ++i) {
    LATHE_TRY(auto ids, input.encode(strings[i], strings.size() == 1 ? name : fmt::format("{}[{}]", name, i)));
    texts.push_back({.ids = std::move(ids)});
  }
  return {};
}

}  // namespace

engine::Result<PairPlan> plan_cross_encoder(const TextInput& input, const TextPairs& pairs, engine::LabelInfo labels,
                                            bool use_activation) {
  if (labels.labels.size() != 1) {
    return engine::fail(
        ErrorCode::invalid_argument,
        fmt::format("the model's classifier has {} labels and gives no score; it gives labels (POST /classify)",
                    labels.labels.size()),
        "model");
  }
  PairPlan plan{.texts = {}, .pooling = {.classifies = true}, .score = {}};
  for (std::size_t i = 0; i < pairs.second.size(); ++i) {
    LATHE_TRY(VectorText text,
              input.encode_pair(pairs.first_of(i), pairs.second[i], labels, fmt::format("{}[{}]", pairs.second_name, i)));
    plan.texts.push_back(std::move(text));
  }
  const auto activation = use_activation ? labels.activation : engine::LabelActivation::none;
  plan.score = [activation](std::span<const std::vector<float>> vectors, std::size_t pair) {
    std::vector<float> logits = vectors[pair];
    apply_activation(activation, logits);
    return static_cast<double>(logits.front());
  };
  return plan;
}

engine::Result<PairPlan> plan_vectors(const TextInput& first, const TextInput& second, const TextPairs& pairs) {
  // Scores have vectors of length 1, whatever the model says.
  PairPlan plan{.texts = {}, .pooling = {.normalises = true}, .score = {}};
  LATHE_TRY_VOID(append_texts(first, pairs.first, pairs.first_name, plan.texts));
  LATHE_TRY_VOID(append_texts(second, pairs.second, pairs.second_name, plan.texts));
  plan.score = [n = pairs.first.size()](std::span<const std::vector<float>> vectors, std::size_t pair) {
    return cosine(vectors[n == 1 ? 0 : pair], vectors[n + pair]);
  };
  return plan;
}

}  // namespace lathe::app
