// SPDX-License-Identifier: Apache-2.0
#include "engine/api/pooling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace lathe::engine {

std::string_view name_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::mean: return "mean";
    case Pooling::cls: return "cls";
    case Pooling::last: return "last";
  }
  return "?";
}

void apply_activation(LabelActivation activation, std::vector<float>& logits) {
  if (activation == LabelActivation::none || logits.empty()) return;
  if (activation == LabelActivation::sigmoid) {
    for (float& x : logits) x = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x))));
    return;
  }
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - most);
  for (float& x : logits) x = static_cast<float>(std::exp(x - most) / sum);
}

Result<void> validate(const PoolingParams& params, const VectorInfo& info) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::invalid_argument, std::move(message), "dimensions");
  };
  const std::int64_t n = params.dimensions;
  if (n == 0 || (n == info.n_dimensions && !info.is_matryoshka)) return {};
  if (!info.is_matryoshka) {
    return refuse(
        fmt::format("the model's vectors have {} dimensions and cannot be shortened to {}: its config.json does "
                    "not say is_matryoshka; send the request without dimensions",
                    info.n_dimensions, n));
  }
  if (n < 1 || n > info.n_dimensions) {
    return refuse(fmt::format("must be between 1 and {}, got {}", info.n_dimensions, n));
  }
  const std::vector<std::int64_t>& known = info.matryoshka_dimensions;
  if (!known.empty() && std::find(known.begin(), known.end(), n) == known.end()) {
    return refuse(fmt::format("must be one of the model's matryoshka_dimensions ({}), got {}", fmt::join(known, ", "), n));
  }
  return {};
}

void finish_vector(const PoolingParams& params, const VectorInfo& info, std::vector<float>& vector) {
  if (params.dimensions > 0) vector.resize(std::min(vector.size(), static_cast<std::size_t>(params.dimensions)));
  if (!params.normalises.value_or(info.normalises)) return;
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * x;
  const auto length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
  for (float& x : vector) x /= length;
}

}  // namespace lathe::engine
