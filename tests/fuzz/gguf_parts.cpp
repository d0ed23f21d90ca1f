// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/gguf_parts.h"

#include <array>
#include <cstring>

#include "tests/support/gguf_builder.h"

namespace lathe::fuzz {
namespace {

using tests::GgufBuilder;

constexpr std::string_view kMagic = "GGUF";
constexpr std::size_t kAlignment = 32;
constexpr std::uint64_t kMostParts = 4096;  // of a file this small more are untrue

/// Takes from the front; once something is not there, nothing is.
class Front {
 public:
  explicit Front(std::string_view bytes) : bytes_(bytes) {}

  bool is_whole() const { return is_whole_; }
  std::size_t left() const { return bytes_.size(); }

  std::string_view take(std::uint64_t n) {
    is_whole_ = is_whole_ && n <= bytes_.size();
    if (!is_whole_) return {};
    const auto taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  template <class T>
  T number() {
    T value{};
    if (const auto taken = take(sizeof value); !taken.empty()) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number<std::uint64_t>())); }

  GgufParts::Value value() {
    GgufParts::Value value;
    value.key = text();
    value.type = number<std::uint32_t>();
    std::uint64_t n = 1;
    if (value.type == GgufParts::kList) {
      value.is_list = true;
      value.type = number<std::uint32_t>();
      n = number<std::uint64_t>();
    }
    is_whole_ = is_whole_ && value.type < GgufParts::kTypes && value.type != GgufParts::kList && n <= kMostParts;
    for (; n > 0 && is_whole_; --n) {
      const bool is_text = value.type == GgufParts::kText;
      value.items.push_back(is_text ? text() : std::string(take(GgufParts::size_of(value.type))));
    }
    return value;
  }

  GgufParts::Tensor tensor() {
    GgufParts::Tensor tensor;
    tensor.name = text();
    const auto rank = number<std::uint32_t>();
    is_whole_ = is_whole_ && rank <= 8;
    for (std::uint32_t i = 0; i < rank && is_whole_; ++i) tensor.dims.push_back(number<std::uint64_t>());
    tensor.type = number<std::uint32_t>();
    tensor.offset = number<std::uint64_t>();
    return tensor;
  }

 private:
  std::string_view bytes_;
  bool is_whole_ = true;
};

void pad(std::string& bytes) { bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment, '\0'); }

}  // namespace

std::size_t GgufParts::size_of(std::uint32_t type) {
  constexpr std::array<std::size_t, kTypes> kSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < kTypes ? kSizes[type] : 8;
}

std::optional<GgufParts> GgufParts::of(std::string_view file) {
  Front front(file);
  if (front.take(kMagic.size()) != kMagic) return std::nullopt;
  GgufParts parts;
  parts.version = front.number<std::uint32_t>();
  const auto n_tensors = front.number<std::uint64_t>(), n_values = front.number<std::uint64_t>();
  if (n_tensors > kMostParts || n_values > kMostParts) return std::nullopt;
  for (std::uint64_t i = 0; i < n_values && front.is_whole(); ++i) parts.values.push_back(front.value());
  for (std::uint64_t i = 0; i < n_tensors && front.is_whole(); ++i) parts.tensors.push_back(front.tensor());
  if (!front.is_whole()) return std::nullopt;
  const std::size_t at = file.size() - front.left();
  front.take(std::min(front.left(), (kAlignment - at % kAlignment) % kAlignment));
  parts.data = front.take(front.left());
  return parts;
}

std::string GgufParts::bytes() const {
  std::string all(kMagic);
  all += GgufBuilder::bytes_of(version) + GgufBuilder::bytes_of<std::uint64_t>(tensors.size() + n_tensors_untrue) +
         GgufBuilder::bytes_of<std::uint64_t>(values.size() + n_values_untrue);
  for (const Value& value : values) {
    all += GgufBuilder::text(value.key) + GgufBuilder::bytes_of(value.is_list ? kList : value.type);
    if (value.is_list) {
      all += GgufBuilder::bytes_of(value.type) + GgufBuilder::bytes_of<std::uint64_t>(value.items.size() + value.n_untrue);
    }
    for (const std::string& item : value.items) all += value.type == kText ? GgufBuilder::text(item) : item;
  }
  for (const Tensor& tensor : tensors) {
    all += GgufBuilder::text(tensor.name) + GgufBuilder::bytes_of(static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) all += GgufBuilder::bytes_of(dim);
    all += GgufBuilder::bytes_of(tensor.type) + GgufBuilder::bytes_of(tensor.offset);
  }
  pad(all);
  return all + data;
}

}  // namespace lathe::fuzz
