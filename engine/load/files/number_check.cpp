// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/number_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>

#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

using kernels::Dtype;
using kernels::TensorView;

constexpr std::size_t kMaxNamesInWarning = 8;
// Elements per loop: a 16-bit counter can count them, and they are whole vectors, so the compiler vectorizes without a
// remainder.
constexpr std::int64_t kAtATime = 4096;

/// Counts elements with all exponent bits set: NaN and infinity.
template <class Bits, Bits exponent>
std::int64_t count(const Bits* bits, std::int64_t n) {
  if (n == kAtATime) {
    Bits found = 0;
    for (std::int64_t i = 0; i < kAtATime; ++i)
      found = static_cast<Bits>(found + static_cast<Bits>((bits[i] & exponent) == exponent));
    return found;
  }
  return std::count_if(bits, bits + n, [](Bits one) { return (one & exponent) == exponent; });
}

std::int64_t count_from(const TensorView& numbers, std::int64_t begin, std::int64_t n) {
  const auto* const words = numbers.as<const std::uint32_t>();
  const auto* const halves = numbers.as<const std::uint16_t>();
  switch (numbers.dtype) {
    case Dtype::f32: return count<std::uint32_t, 0x7f800000U>(words + begin, n);
    case Dtype::f16: return count<std::uint16_t, 0x7c00U>(halves + begin, n);
    case Dtype::bf16: return count<std::uint16_t, 0x7f80U>(halves + begin, n);
    default: LATHE_CHECK(is_floating(numbers.dtype)); return 0;
  }
}

}  // namespace

std::int64_t n_not_finite(const TensorView& numbers, const kernels::ParallelFor& parallel_for) {
  const std::int64_t n = numbers.n_elements();
  LATHE_CHECK(numbers.rank < 2 || numbers.strides[0] == n / std::max<std::int64_t>(1, numbers.dim(0)));
  std::atomic<std::int64_t> found{0};
  parallel_for((n + kAtATime - 1) / kAtATime, [&](std::int64_t first, std::int64_t end) {
    std::int64_t some = 0;
    for (std::int64_t begin = first * kAtATime; begin < std::min(end * kAtATime, n); begin += kAtATime)
      some += count_from(numbers, begin, std::min(kAtATime, n - begin));
    found += some;
  });
  return found;
}

void NumberCheck::look_at(std::string_view tensor, const TensorView& numbers, const kernels::ParallelFor& parallel_for) {
  if (numbers.dtype == Dtype::u8) return;
  const std::int64_t n_bad = n_not_finite(numbers, parallel_for);
  const auto is_it = [&](const Found& one) { return one.tensor == tensor; };
  // A conversion may split a tensor and check each part: one warning is enough.
  if (n_bad == 0 || std::any_of(found_.begin(), found_.end(), is_it)) return;
  found_.push_back({.tensor = std::string(tensor), .n_bad = n_bad, .n = numbers.n_elements()});
}

std::vector<std::string> NumberCheck::warnings() const {
  if (found_.empty()) return {};
  std::vector<std::string> names;
  for (const Found& one : found_) {
    if (names.size() == kMaxNamesInWarning) break;
    names.push_back(fmt::format("{} ({} of {} numbers)", one.tensor, one.n_bad, one.n));
  }
  const std::size_t n_left = found_.size() - names.size();
  return {fmt::format("weights hold NaN or infinity: {}{}", fmt::join(names, ", "),
                      n_left > 0 ? fmt::format(" and {} more tensors", n_left) : "")};
}

}  // namespace lathe::engine
