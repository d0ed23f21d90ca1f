// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/altup.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace lathe::engine {

using kernels::TensorView;

namespace {

constexpr auto kStreams = static_cast<std::size_t>(kAltUpStreams), kOthers = kStreams - 1;
constexpr double kLeastSquare = 1e-5;  // of a stream that is scaled to the magnitude of another

double mean_square(const float* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum / static_cast<double>(n);
}

/// The factor that gives x [n] the magnitude of `like` [n].
float rescaling(const float* like, const float* x, std::int64_t n) {
  return static_cast<float>(std::sqrt(mean_square(like, n)) / std::sqrt(std::max(mean_square(x, n), kLeastSquare)));
}

/// Index of the role among those of the streams behind the first; none: another role.
std::optional<std::size_t> index_from(WeightRole first, WeightRole role) {
  const auto index = static_cast<std::size_t>(role) - static_cast<std::size_t>(first);
  return role >= first && index < kOthers ? std::optional(index) : std::nullopt;
}

template <class Body>
void for_stream_rows(kernels::Backend& backend, std::int64_t n_rows, const Body& body) {
  backend.parallel_for(n_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

/// coefficients [n] = matrix [n, S] tanh(routed [S]).
template <std::size_t n>
std::array<float, n> coefficients_of(std::span<const float> matrix, const float* routed) {
  std::array<float, n> coefficients{};
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < kStreams; ++j) sum += static_cast<double>(matrix[i * kStreams + j]) * std::tanh(routed[j]);
    coefficients[i] = static_cast<float>(sum);
  }
  return coefficients;
}

/// Adds to each stream its combination of all streams; they are `hidden` numbers apart.
void predict_streams(float* streams, std::int64_t hidden, const std::array<float, kStreams * kStreams>& coefficients) {
  for (std::int64_t h = 0; h < hidden; ++h) {
    std::array<float, kStreams> before{};
    for (std::size_t j = 0; j < kStreams; ++j) before[j] = streams[static_cast<std::int64_t>(j) * hidden + h];
    for (std::size_t i = 0; i < kStreams; ++i) {
      float sum = before[i];
      for (std::size_t j = 0; j < kStreams; ++j) sum += coefficients[i * kStreams + j] * before[j];
      streams[static_cast<std::int64_t>(i) * hidden + h] = sum;
    }
  }
}

}  // namespace

AltUp::AltUp(const ModelConfig& config)
    : config_(config.altup),
      hidden_(config.hidden_size),
      norm_(config.norm, config.hidden_size),
      router_(kernels::WeightFormat::f32, LinearShape{kAltUpStreams, config.hidden_size, false}),
      predict_(kAltUpStreams * kAltUpStreams * kAltUpStreams),
      correct_(kAltUpStreams * kAltUpStreams),
      scale_(config.hidden_size) {}

bool AltUp::accept(kernels::Backend& backend, WeightRole role, const TensorView& source) {
  const auto copy = [&](HostTensor& to) {
    copy_converted(backend, {to.view().data, kernels::Dtype::f32, {source.n_elements()}},
                   {source.data, source.dtype, {source.n_elements()}});
    return true;
  };
  switch (role) {
    case WeightRole::altup_router: router_.load_rows(backend, 0, source); return true;
    case WeightRole::altup_predict: return copy(predict_);
    case WeightRole::altup_correct: return copy(correct_);
    case WeightRole::altup_scale: return copy(scale_);
    case WeightRole::altup_router_norm:
      norm_.load_weight(backend, source);
      norm_.scale_weight(1 / static_cast<double>(hidden_));
      return true;
    default: return false;
  }
}

void AltUp::route(kernels::Backend& backend, const StepBuffers& step) const {
  backend.norm(step.normed, step.residual, norm_.view());
  router_.forward(backend, step.stream_router, step.normed);
}

void AltUp::predict(kernels::Backend& backend, const StepBuffers& step) const {
  const std::int64_t active = config_.active * hidden_;
  const auto take_active = [&](std::int64_t row) {
    std::copy_n(step.streams.row<float>(row) + active, hidden_, step.residual.row<float>(row));
  };
  for_stream_rows(backend, step.residual.dim(0), take_active);
  route(backend, step);
  for_stream_rows(backend, step.residual.dim(0), [&](std::int64_t row) {
    const float* const routed = step.stream_router.row<float>(row);
    predict_streams(step.streams.row<float>(row), hidden_, coefficients_of<kStreams * kStreams>(predict_.values(), routed));
    take_active(row);
  });
}

void AltUp::correct(kernels::Backend& backend, const StepBuffers& step) const {
  route(backend, step);
  for_stream_rows(backend, step.residual.dim(0), [&](std::int64_t row) {
    float* const streams = step.streams.row<float>(row);
    float* const active = streams + config_.active * hidden_;
    float* const output = step.residual.row<float>(row);
    for (std::int64_t h = 0; h < hidden_; ++h) output[h] -= active[h];
    const auto coefficients = coefficients_of<kStreams>(correct_.values(), step.stream_router.row<float>(row));
    for (std::size_t i = 0; i < kStreams; ++i) {
      float* const stream = streams + static_cast<std::int64_t>(i) * hidden_;
      for (std::int64_t h = 0; h < hidden_; ++h) stream[h] += (1 + coefficients[i]) * output[h];
    }
    for (std::int64_t h = 0; h < hidden_; ++h) {
      output[h] = active[h] * (config_.scales_corrected ? scale_.values()[static_cast<std::size_t>(h)] : 1);
    }
  });
}

AltUpEnds::AltUpEnds(kernels::WeightFormat format, const ModelConfig& config) : hidden_(config.hidden_size) {
  for (std::size_t i = 0; i < kOthers; ++i) {
    proj_.emplace_back(format, LinearShape{hidden_, hidden_, false});
    unembed_.emplace_back(format, LinearShape{hidden_, hidden_, false});
  }
}

bool AltUpEnds::accept(kernels::Backend& backend, WeightRole role, const TensorView& source) {
  const auto proj = index_from(WeightRole::altup_proj_1, role), unembed = index_from(WeightRole::altup_unembed_1, role);
  if (proj) proj_[*proj].load_rows(backend, 0, source);
  if (unembed) unembed_[*unembed].load_rows(backend, 0, source);
  return proj || unembed;
}

void AltUpEnds::begin(kernels::Backend& backend, const StepBuffers& step) const {
  for (std::size_t i = 0; i < kOthers; ++i) {
    proj_[i].forward(backend, step.streams.columns(static_cast<std::int64_t>(i + 1) * hidden_, hidden_), step.residual);
  }
  for_stream_rows(backend, step.residual.dim(0), [&](std::int64_t row) {
    const float* const first = step.residual.row<float>(row);
    float* stream = step.streams.row<float>(row);
    std::copy_n(first, hidden_, stream);
    for (std::size_t i = 0; i < kOthers; ++i) {
      stream += hidden_;
      const float factor = rescaling(first, stream, hidden_);
      for (std::int64_t h = 0; h < hidden_; ++h) stream[h] *= factor;
    }
  });
}

void AltUpEnds::end(kernels::Backend& backend, const StepBuffers& step) const {
  const std::int64_t n_rows = step.residual.dim(0);
  for_stream_rows(backend, n_rows, [&](std::int64_t row) {
    std::copy_n(step.streams.row<float>(row), hidden_, step.residual.row<float>(row));
  });
  for (std::size_t i = 0; i < kOthers; ++i) {
    unembed_[i].forward(backend, step.delta, step.streams.columns(static_cast<std::int64_t>(i + 1) * hidden_, hidden_));
    const TensorView one = backend.download(step.delta, {});
    for_stream_rows(backend, n_rows, [&](std::int64_t row) {
      const float* const from = one.row<float>(row);
      float* const to = step.residual.row<float>(row);
      const float factor = rescaling(step.streams.row<float>(row), from, hidden_);
      for (std::int64_t h = 0; h < hidden_; ++h) to[h] += factor * from[h];
    });
  }
  backend.scale(step.residual, 1.0F / static_cast<float>(kStreams));
}

}  // namespace lathe::engine
