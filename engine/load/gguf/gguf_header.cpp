// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "engine/base/checked_math.h"
#include "engine/load/gguf/block_reading.h"

namespace lathe::engine {

static_assert(std::endian::native == std::endian::little, "GGUF holds little-endian numbers, read here as they lie");

namespace {

/// Value types by their numbers in files.
enum ValueType : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kList, kU64, kI64, kF64, kTypes };
constexpr std::array<std::size_t, kTypes> kSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr std::uint64_t kMaxEntries = 1'000'000;  // values and tensors of one file
constexpr std::uint64_t kMaxTextBytes = 64u << 20;
constexpr std::uint64_t kMaxKeyBytes = 65'535;
constexpr std::uint64_t kMaxNameBytes = 64;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::int64_t kMaxAlignment = 1 << 20;
constexpr std::string_view kGgufMagic = "GGUF";

/// Reads a number of any value type; nothing for texts and lists.
template <class T>
std::optional<T> number_at(std::uint32_t type, const std::byte* at) {
  switch (type) {
    case kU8: return static_cast<T>(read_as<std::uint8_t>(at));
    case kI8: return static_cast<T>(read_as<std::int8_t>(at));
    case kU16: return static_cast<T>(read_as<std::uint16_t>(at));
    case kI16: return static_cast<T>(read_as<std::int16_t>(at));
    case kU32: return static_cast<T>(read_as<std::uint32_t>(at));
    case kI32: return static_cast<T>(read_as<std::int32_t>(at));
    case kI64: return static_cast<T>(read_as<std::int64_t>(at));
    case kU64: return static_cast<T>(std::min<std::uint64_t>(read_as<std::uint64_t>(at), INT64_MAX));
    case kF32: return static_cast<T>(read_as<float>(at));
    case kF64: return static_cast<T>(read_as<double>(at));
    default: return std::nullopt;
  }
}

bool is_whole_number(std::uint32_t type) { return type <= kI32 || type == kU64 || type == kI64; }

}  // namespace

/// Parses one file sequentially; `field` names the item being read, for errors.
class GgufParser {
 public:
  GgufParser(std::span<const std::byte> file, const std::string& name) : bytes_(file) { header_.file_ = name; }

  Result<GgufHeader> parse() {
    LATHE_TRY(const auto counts, read_counts());
    for (std::uint64_t i = 0; i < counts[1]; ++i) LATHE_TRY_VOID(read_value());
    for (std::uint64_t i = 0; i < counts[0]; ++i) LATHE_TRY_VOID(read_tensor());
    LATHE_TRY_VOID(settle_alignment());
    const std::size_t begin = (at_ + header_.alignment_ - 1) / header_.alignment_ * header_.alignment_;
    header_.data_ = bytes_.subspan(std::min(begin, bytes_.size()));
    return std::move(header_);
  }

 private:
  tl::unexpected<Error> refuse(std::string message, std::string_view field) const {
    return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {:.200}", header_.file_, field));
  }

  Result<std::span<const std::byte>> take(std::uint64_t n, std::string_view field) {
    if (n > bytes_.size() - at_) {
      return refuse(fmt::format("truncated: needs {} bytes at byte {}, but only {} are left", n, at_, bytes_.size() - at_),
                    field);
    }
    at_ += n;
    return bytes_.subspan(at_ - n, n);
  }

  template <class T>
  Result<T> number(std::string_view field) {
    LATHE_TRY(const auto bytes, take(sizeof(T), field));
    return read_as<T>(bytes.data());
  }

  Result<std::string_view> text(std::uint64_t at_most, std::string_view field) {
    LATHE_TRY(const auto n, number<std::uint64_t>(field));
    if (n > at_most) return refuse(fmt::format("text of {} bytes, at most {}", n, at_most), field);
    LATHE_TRY(const auto bytes, take(n, field));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  /// Reads magic and version, then the counts of tensors and of values.
  Result<std::array<std::uint64_t, 2>> read_counts() {
    LATHE_TRY(const auto magic, take(kGgufMagic.size(), "magic"));
    if (std::memcmp(magic.data(), kGgufMagic.data(), kGgufMagic.size()) != 0) return refuse("is not a GGUF file", "magic");
    LATHE_TRY(const auto version, number<std::uint32_t>("version"));
    if (version != 2 && version != 3) {
      const std::uint32_t turned = __builtin_bswap32(version);
      if (turned >= 1 && turned <= 3)
        return refuse("is big-endian; convert the model again for little-endian machines", "version");
      return refuse(fmt::format("got {}, expected 2 or 3; convert the model again with a current converter", version),
                    "version");
    }
    std::array<std::uint64_t, 2> counts{};
    LATHE_TRY(counts[0], number<std::uint64_t>("tensor_count"));
    LATHE_TRY(counts[1], number<std::uint64_t>("metadata_kv_count"));
    if (counts[0] > kMaxEntries)
      return refuse(fmt::format("{} tensors, at most {}", counts[0], kMaxEntries), "tensor_count");
    if (counts[1] > kMaxEntries) {
      return refuse(fmt::format("{} values, at most {}", counts[1], kMaxEntries), "metadata_kv_count");
    }
    return counts;
  }

  Result<void> skip_texts(std::uint64_t n, std::string_view field) {
    for (; n > 0; --n) LATHE_TRY_VOID(text(kMaxTextBytes, field));
    return {};
  }

  Result<void> read_items(GgufValue& value, std::string_view key) {
    if (value.type >= kTypes) return refuse(fmt::format("the type {} of its value is unknown", value.type), key);
    if (value.type == kList) return refuse("is a list of lists, which no model needs", key);
    const std::size_t begin = at_;
    if (value.type == kText) {
      LATHE_TRY_VOID(skip_texts(value.n, key));
    } else {
      const std::size_t size = kSizes[value.type];
      const std::uint64_t most = (bytes_.size() - at_) / size;
      if (value.n > most)
        return refuse(fmt::format("truncated: {} items, but the rest of the file holds at most {}", value.n, most), key);
      LATHE_TRY_VOID(take(value.n * size, key));
    }
    value.bytes = bytes_.subspan(begin, at_ - begin);
    const auto is_no_bool = [](std::byte byte) { return byte > std::byte{1}; };
    if (value.type == kBool && std::any_of(value.bytes.begin(), value.bytes.end(), is_no_bool)) {
      return refuse("a bool must be 0 or 1", key);
    }
    return {};
  }

  Result<void> read_value() {
    LATHE_TRY(const std::string_view key, text(kMaxKeyBytes, fmt::format("key {}", header_.values_.size())));
    GgufValue value;
    LATHE_TRY(value.type, number<std::uint32_t>(key));
    if (value.type == kList) {
      value.is_list = true;
      LATHE_TRY(value.type, number<std::uint32_t>(key));
      LATHE_TRY(value.n, number<std::uint64_t>(key));
    }
    LATHE_TRY_VOID(read_items(value, key));
    if (!header_.values_.emplace(key, value).second) return refuse("appears twice", key);
    return {};
  }

  Result<void> read_tensor() {
    GgufTensor tensor;
    LATHE_TRY(const std::string_view name, text(kMaxNameBytes, fmt::format("tensor {}", header_.tensors_.size())));
    tensor.name = name;
    if (!names_.insert(name).second) return refuse("appears twice", name);
    LATHE_TRY(const auto rank, number<std::uint32_t>(name));
    if (rank > kMaxDimensions) return refuse(fmt::format("{} dimensions, at most {}", rank, kMaxDimensions), name);
    for (std::uint32_t i = 0; i < rank; ++i) {
      LATHE_TRY(const auto n, number<std::int64_t>(name));
      if (n < 0) return refuse(fmt::format("dimension {} is negative", i), name);
      tensor.shape.insert(tensor.shape.begin(), n);
    }
    LATHE_TRY(tensor.type, number<std::uint32_t>(name));
    LATHE_TRY(tensor.offset, number<std::uint64_t>(name));
    header_.tensors_.push_back(std::move(tensor));
    return {};
  }

  Result<void> settle_alignment() {
    constexpr std::string_view kKey = "general.alignment";
    LATHE_TRY(const auto alignment, header_.integer(kKey));
    if (!alignment) return {};
    if (*alignment < 8 || *alignment > kMaxAlignment || *alignment % 8 != 0) {
      return refuse(fmt::format("got {}, expected a multiple of 8 up to {}", *alignment, kMaxAlignment), kKey);
    }
    header_.alignment_ = static_cast<std::uint64_t>(*alignment);
    return {};
  }

  const std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::set<std::string_view> names_;
  GgufHeader header_;
};

Result<GgufHeader> GgufHeader::parse(std::span<const std::byte> file, const std::string& name) {
  return GgufParser(file, name).parse();
}

const GgufValue* GgufHeader::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

tl::unexpected<Error> GgufHeader::wrong_type(std::string_view key, std::string_view expected) const {
  const GgufValue& value = *find(key);
  return fail(ErrorCode::model_refused,
              fmt::format("got {} of type {}, expected {}", value.is_list ? "a list" : "a value", value.type, expected),
              fmt::format("{}: {}", file_, key));
}

Result<std::optional<std::string>> GgufHeader::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (value->is_list || value->type != kText) return wrong_type(key, "a text");
  const auto bytes = value->bytes.subspan(sizeof(std::uint64_t));
  return std::optional(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<std::optional<std::int64_t>> GgufHeader::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  if (value->is_list || !is_whole_number(value->type)) return wrong_type(key, "a whole number");
  return number_at<std::int64_t>(value->type, value->bytes.data());
}

Result<std::optional<double>> GgufHeader::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<double>();
  const std::optional<double> number = value->is_list ? std::nullopt : number_at<double>(value->type, value->bytes.data());
  if (!number) return wrong_type(key, "a number");
  return number;
}

Result<std::optional<bool>> GgufHeader::flag(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_list || value->type != kBool) return wrong_type(key, "true or false");
  return std::optional(value->bytes.front() == std::byte{1});
}

Result<std::vector<std::string>> GgufHeader::texts(std::string_view key) const {
  LATHE_TRY(const auto views, text_views(key));
  return std::vector<std::string>(views.begin(), views.end());
}

Result<std::vector<std::string_view>> GgufHeader::text_views(std::string_view key) const {
  std::vector<std::string_view> all;
  const GgufValue* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_list || value->type != kText) return wrong_type(key, "a list of texts");
  const auto* at = reinterpret_cast<const char*>(value->bytes.data());
  all.reserve(value->n);
  for (std::uint64_t i = 0; i < value->n; ++i) {
    const auto size = read_as<std::uint64_t>(reinterpret_cast<const std::byte*>(at));
    all.emplace_back(at + sizeof size, size);
    at += sizeof size + size;
  }
  return all;
}

Result<std::vector<std::int64_t>> GgufHeader::integers(std::string_view key) const {
  std::vector<std::int64_t> all;
  const GgufValue* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_list || !is_whole_number(value->type)) return wrong_type(key, "a list of whole numbers");
  for (std::uint64_t i = 0; i < value->n; ++i) {
    all.push_back(*number_at<std::int64_t>(value->type, value->bytes.data() + i * kSizes[value->type]));
  }
  return all;
}

Result<std::vector<float>> GgufHeader::numbers(std::string_view key) const {
  std::vector<float> all;
  const GgufValue* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_list || !number_at<float>(value->type, std::array<std::byte, 8>{}.data())) {
    return wrong_type(key, "a list of numbers");
  }
  for (std::uint64_t i = 0; i < value->n; ++i) {
    all.push_back(*number_at<float>(value->type, value->bytes.data() + i * kSizes[value->type]));
  }
  return all;
}

Result<std::vector<bool>> GgufHeader::flags(std::string_view key) const {
  std::vector<bool> all;
  const GgufValue* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_list || value->type != kBool) return wrong_type(key, "a list of true and false");
  for (const std::byte flag : value->bytes) all.push_back(flag == std::byte{1});
  return all;
}

}  // namespace lathe::engine
