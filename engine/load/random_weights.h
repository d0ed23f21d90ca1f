// SPDX-License-Identifier: Apache-2.0
// RandomWeights: tensors in bf16 whose values are made when they are read, and forgotten when they are dropped, so that a
// model of any size needs the memory of few tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/api/result.h"
#include "engine/base/byte_source.h"
#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Values are about normal, with this mean and standard deviation.
struct RandomTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  double mean = 0, deviation = 0;
};

/// Writes elements [begin, end) of a tensor to `to`. An element depends on `key` and its index alone. It is the sum of four
/// uniform numbers, which is about normal: no value is further than 3.5 deviations from the mean, and with a mean of 0 none
/// is 0. Source: Steele et al. 2014 (SplitMix64), whose i-th number gives all four.
void fill_random(std::uint64_t key, const RandomTensor& tensor, std::int64_t begin, std::int64_t end, std::uint16_t* to);

/// The key of a tensor: another one for each seed and name.
std::uint64_t random_key(std::uint64_t seed, std::string_view name);

/// Tensors follow one another in the order of the list, each from the begin of a page on. A tensor is made by all
/// processors, together with the next ones up to some MiB if it is small.
class RandomWeights final : public ByteSource {
 public:
  /// `name`: for messages. Errors: resource_exhausted when the system has no addresses for so many bytes.
  static Result<std::shared_ptr<const RandomWeights>> create(std::string name, std::uint64_t seed,
                                                             std::vector<RandomTensor> tensors);
  ~RandomWeights() override;

  /// The tensors as a checkpoint lists them.
  std::vector<StoredTensor> tensors() const;

  const std::string& name() const override { return name_; }
  std::span<const std::byte> bytes() const override { return {memory_, n_bytes_}; }
  bool prepare(std::span<const std::byte> part) const override;
  void will_need(std::span<const std::byte>) const override {}
  void drop(std::span<const std::byte> part) const override;
  std::string stamp() const override;

 private:
  enum class State : std::uint8_t { absent, made_ahead, asked_for };
  struct Entry {
    RandomTensor tensor;
    std::uint64_t key = 0;
    std::size_t begin = 0, n_elements = 0;
    State state = State::absent;

    std::size_t n_bytes() const { return n_elements * sizeof(std::uint16_t); }
  };

  RandomWeights(std::string name, std::uint64_t seed) : name_(std::move(name)), seed_(seed) {}
  std::size_t index_of(std::span<const std::byte> part) const;
  void make_from(std::size_t first) const;
  void make(std::size_t first, std::size_t end) const;
  void forget(Entry& entry) const;

  const std::string name_;
  const std::uint64_t seed_;
  std::byte* memory_ = nullptr;
  std::size_t n_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<Entry> entries_;  ///< ascending by `begin`; guarded by mutex_ where `state` is concerned
};

}  // namespace lathe::engine
