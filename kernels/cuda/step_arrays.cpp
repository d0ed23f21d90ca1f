// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/step_arrays.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/ops/check.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr std::size_t kFirstChunk = std::size_t{1} << 20;
// Arrays that are remembered. A step has a dozen; the arrays of experts are given once each, so that a search would find
// none.
constexpr std::size_t kMostKnown = 32;

/// Bytes that an array takes in a chunk: the next one begins on 16 bytes again.
constexpr std::size_t bytes_taken(std::size_t n_bytes) { return (n_bytes + 15) / 16 * 16; }

/// 1 more than the largest index; fails if an index is below 0.
std::int64_t end_of(std::span<const std::int32_t> indices) {
  std::int32_t least = 0, most = -1;
  for (const std::int32_t index : indices) {
    least = std::min(least, index);
    most = std::max(most, index);
  }
  LATHE_CHECK(least >= 0);
  return std::int64_t{most} + 1;
}

}  // namespace

void StepArrays::begin_step(std::span<const std::span<const std::int32_t>> arrays) {
  if (is_idle_) forget();
  is_in_step_ = true;
  is_idle_ = false;
  ++n_steps_;
  known_.clear();
  known_.reserve(kMostKnown);
  std::size_t n_bytes = 0;
  for (const auto array : arrays) n_bytes += bytes_taken(array.size_bytes());
  if (n_bytes == 0) return;
  make_room(n_bytes);
  const auto listed = arrays.first(std::min(arrays.size(), kMostKnown));
  for (const auto array : listed) known_.push_back(stage(std::as_bytes(array)));
  try {
    copy(known_.front(), static_cast<std::size_t>(known_.back().on_host + known_.back().n_bytes - known_.front().on_host));
  } catch (...) {
    known_.clear();
    throw;
  }
}

/// Copies stay while there is room: a layer with experts ends the step, and the next one has the same positions and tables.
void StepArrays::end_step() {
  is_in_step_ = false;
  is_idle_ = true;
  if (chunks_.size() > 1 || (!chunks_.empty() && 2 * chunks_.back().n_used > chunks_.back().host.n_bytes())) forget();
}

void StepArrays::forget() {
  known_.clear();
  if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
  if (!chunks_.empty()) chunks_.back().n_used = 0;
}

const std::int32_t* StepArrays::rows_on_device(std::span<const std::int32_t> rows, std::int64_t count, std::int64_t n) {
  LATHE_CHECK(std::ssize(rows) >= count);
  const auto own = rows.first(static_cast<std::size_t>(count));
  Known& known = find(std::as_bytes(own));
  if (known.end < 0) known.end = end_of(own);
  LATHE_CHECK(known.end <= n);
  return reinterpret_cast<const std::int32_t*>(known.on_device);
}

StepArrays::Known& StepArrays::find(std::span<const std::byte> bytes) {
  is_idle_ = false;
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
    return one.array == bytes.data() && one.n_bytes == bytes.size();
  });
  const bool is_known = known != known_.end();
  if (is_known && (is_in_step_ || bytes.empty() || std::memcmp(known->on_host, bytes.data(), bytes.size()) == 0))
    return *known;
  const Known made = copy_of(bytes);
  if (is_known) return *known = made;
  if (known_.size() < kMostKnown) return known_.emplace_back(made);
  return other_ = made;
}

StepArrays::Known StepArrays::copy_of(std::span<const std::byte> bytes) {
  is_idle_ = false;
  make_room(bytes_taken(bytes.size()));
  const Known made = stage(bytes);
  copy(made, made.n_bytes);
  return made;
}

/// A chunk that is full stays until end_step(), because kernels read its arrays.
void StepArrays::make_room(std::size_t n_bytes) {
  const std::size_t held = chunks_.empty() ? 0 : chunks_.back().host.n_bytes();
  if (!chunks_.empty() && held - chunks_.back().n_used >= n_bytes) return;
  Chunk chunk;
  const std::size_t taken = std::max({kFirstChunk, 2 * held, 2 * n_bytes});
  chunk.host.require(taken, "arrays of the step");
  chunk.device.require(taken, "arrays of the step");
  chunks_.push_back(std::move(chunk));
}

StepArrays::Known StepArrays::stage(std::span<const std::byte> bytes) {
  Chunk& chunk = chunks_.back();
  Known known{.array = bytes.data(),
              .n_bytes = bytes.size(),
              .on_host = chunk.host.as<std::byte>() + chunk.n_used,
              .on_device = chunk.device.as<std::byte>() + chunk.n_used};
  if (!bytes.empty()) std::memcpy(chunk.host.as<std::byte>() + chunk.n_used, bytes.data(), bytes.size());
  chunk.n_used += bytes_taken(bytes.size());
  return known;
}

void StepArrays::copy(const Known& first, std::size_t n_bytes) {
  check(cudaMemcpyAsync(const_cast<std::byte*>(first.on_device), first.on_host, n_bytes, cudaMemcpyHostToDevice, stream_),
        "copying an array");
}

}  // namespace lathe::kernels::cuda
