// SPDX-License-Identifier: Apache-2.0
#include "engine/load/random_weights.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>

#include "engine/load/safetensors.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

/// Bytes that are made at once at least: enough work for the threads, which are started each time.
constexpr std::size_t kAhead = 64u << 20;
/// Elements that a thread takes at once.
constexpr std::int64_t kPiece = 1 << 18;

constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15u;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Rounds to nearest, ties to even. Requires: a finite value.
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

std::size_t rounded_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

std::uint64_t random_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return mix(hash + mix(seed + kGamma));
}

void fill_random(std::uint64_t key, const RandomTensor& tensor, std::int64_t begin, std::int64_t end, std::uint16_t* to) {
  // Four whole numbers of 16 bits: their sum has the mean 131,070 and the deviation below. The half keeps it from the mean.
  constexpr double kDeviation = 37837.22706;
  constexpr float kMiddle = 131069.5f;
  const auto scale = static_cast<float>(tensor.deviation / kDeviation), mean = static_cast<float>(tensor.mean);
  std::uint64_t counter = key + static_cast<std::uint64_t>(begin) * kGamma;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint64_t z = mix(counter += kGamma);
    const auto sum = static_cast<std::int32_t>((z & 0xFFFF) + ((z >> 16) & 0xFFFF) + ((z >> 32) & 0xFFFF) + (z >> 48));
    *to++ = to_bf16(mean + scale * (static_cast<float>(sum) - kMiddle));
  }
}

Result<std::shared_ptr<const RandomWeights>> RandomWeights::create(std::string name, std::uint64_t seed,
                                                                   std::vector<RandomTensor> tensors) {
  std::shared_ptr<RandomWeights> made(new RandomWeights(std::move(name), seed));
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (RandomTensor& tensor : tensors) {
    Entry entry{.tensor = std::move(tensor), .key = 0, .begin = made->n_bytes_, .n_elements = 1, .state = State::absent};
    entry.key = random_key(seed, entry.tensor.name);
    for (const std::int64_t size : entry.tensor.shape) entry.n_elements *= static_cast<std::size_t>(size);
    made->n_bytes_ += rounded_up(entry.n_bytes(), page);
    made->entries_.push_back(std::move(entry));
  }
  if (made->n_bytes_ == 0) return std::shared_ptr<const RandomWeights>(std::move(made));
  void* const memory =
      ::mmap(nullptr, made->n_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::resource_exhausted,
                fmt::format("no room for {} bytes of random weights: {}", made->n_bytes_, std::strerror(errno)),
                made->name_);
  }
  made->memory_ = static_cast<std::byte*>(memory);
  static_cast<void>(::madvise(memory, made->n_bytes_, MADV_HUGEPAGE));  // fewer page faults, where the system has such pages
  return std::shared_ptr<const RandomWeights>(std::move(made));
}

RandomWeights::~RandomWeights() {
  if (memory_ != nullptr) ::munmap(memory_, n_bytes_);
}

std::vector<StoredTensor> RandomWeights::tensors() const {
  std::vector<StoredTensor> list;
  for (const Entry& entry : entries_) {
    StoredTensor& tensor = list.emplace_back();
    tensor.name = entry.tensor.name;
    tensor.type = find_safetensors_type("BF16");
    tensor.shape = entry.tensor.shape;
    tensor.bytes = {memory_ + entry.begin, entry.n_bytes()};
  }
  return list;
}

std::string RandomWeights::stamp() const { return fmt::format("{} {} {}", name_, seed_, n_bytes_); }

std::size_t RandomWeights::index_of(std::span<const std::byte> part) const {
  const auto offset = static_cast<std::size_t>(part.data() - memory_);
  const auto next = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                     [](std::size_t at, const Entry& entry) { return at < entry.begin; });
  LATHE_CHECK(next != entries_.begin());
  return static_cast<std::size_t>(next - entries_.begin()) - 1;
}

bool RandomWeights::prepare(std::span<const std::byte> part) const {
  if (part.empty()) return true;
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[index_of(part)];
  if (entry.state == State::absent) make_from(index_of(part));
  entry.state = State::asked_for;
  return true;
}

void RandomWeights::drop(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const std::lock_guard lock(mutex_);
  forget(entries_[index_of(part)]);
}

void RandomWeights::forget(Entry& entry) const {
  if (entry.state == State::absent) return;
  entry.state = State::absent;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  static_cast<void>(::madvise(memory_ + entry.begin, rounded_up(entry.n_bytes(), page), MADV_DONTNEED));
}

/// Makes a tensor and the next ones up to kAhead. Those of the last time that nobody asked for are given back: a reader in
/// another order then costs time, not memory.
void RandomWeights::make_from(std::size_t first) const {
  for (Entry& entry : entries_) {
    if (entry.state == State::made_ahead) forget(entry);
  }
  std::size_t end = first, n_bytes = 0;
  while (end < entries_.size() && entries_[end].state == State::absent && (end == first || n_bytes < kAhead)) {
    n_bytes += entries_[end++].n_bytes();
  }
  make(first, end);
  for (std::size_t i = first; i < end; ++i) entries_[i].state = State::made_ahead;
}

void RandomWeights::make(std::size_t first, std::size_t end) const {
  struct Piece {
    const Entry* entry;
    std::int64_t begin, end;
  };
  std::vector<Piece> pieces;
  for (std::size_t i = first; i < end; ++i) {
    const auto n = static_cast<std::int64_t>(entries_[i].n_elements);
    for (std::int64_t at = 0; at < n; at += kPiece) pieces.push_back({&entries_[i], at, std::min(n, at + kPiece)});
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      const auto& [entry, from, to] = pieces[i];
      fill_random(entry->key, entry->tensor, from, to, reinterpret_cast<std::uint16_t*>(memory_ + entry->begin) + from);
    }
  };
  const std::size_t n_threads = std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), pieces.size());
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < n_threads; ++i) others.emplace_back(work);
  work();
}

}  // namespace lathe::engine
