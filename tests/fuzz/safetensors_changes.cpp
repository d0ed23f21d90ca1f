// SPDX-License-Identifier: Apache-2.0
// Changes of single entries of a safetensors header: its length, and mostly the places of the tensors, are made right again,
// so that the change is met by the check that it is for.
#include <optional>

#include "engine/api/json.h"
#include "engine/api/utf8.h"
#include "tests/fuzz/dice.h"
#include "tests/fuzz/targets.h"
#include "tests/support/safetensors_bytes.h"

namespace lathe::fuzz {
namespace {

using engine::OrderedJson;

struct Entry {
  std::string name;
  OrderedJson value;
};

constexpr std::string_view kEntryFields[] = {"dtype", "shape", "data_offsets"};
constexpr std::string_view kEntryTypes[] = {"F32", "F16", "BF16", "I8", "U8", "F4", "F6_E2M3", "F64", "BOOL", "f32"};
/// Bits of an element of each.
constexpr std::uint64_t kBits[] = {32, 16, 16, 8, 8, 4, 6, 64, 8, 32};

/// The entries in the order of the file, a name twice if it is there twice; nothing where the header is no object.
std::optional<std::vector<Entry>> entries_of(std::string_view file) {
  std::uint64_t n = 0;
  if (file.size() < sizeof n) return std::nullopt;
  std::memcpy(&n, file.data(), sizeof n);
  file.remove_prefix(sizeof n);
  constexpr std::uint64_t kMostHeader = 4096;  // of brackets alone it is to be written again without end of the stack
  if (n > file.size() || n > kMostHeader) return std::nullopt;
  const auto header = OrderedJson::parse(file.substr(0, n), nullptr, false);
  if (!header.is_object()) return std::nullopt;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) entries.push_back({name, value});
  return entries;
}

OrderedJson value_of(Dice& dice) {
  switch (dice.below(8)) {
    case 0: return nullptr;
    case 1: return -1;
    case 2: return 0.5;
    case 3: return dice.one_of(kEntryTypes);
    case 4: return OrderedJson::object({{"a", dice.number()}});
    case 5: return OrderedJson::array({dice.number(), dice.number(), dice.number()});
    case 6: return OrderedJson::array({OrderedJson::array({1})});
    default: return dice.number();
  }
}

void change_shape(OrderedJson& shape, Dice& dice) {
  if (!shape.is_array() || shape.empty() || dice.one_in(4)) {
    shape = shape.is_array() ? shape : OrderedJson::array();
    return shape.push_back(dice.number());
  }
  if (dice.one_in(8)) return shape.erase(dice.below(shape.size()));
  shape[dice.below(shape.size())] = dice.number();
}

void change_entry(Entry& entry, Dice& dice) {
  const std::size_t kind = dice.below(8);
  if (kind == 0) return dice.change(entry.name);
  if (!entry.value.is_object() || kind == 1) return void(entry.value = value_of(dice));
  switch (kind) {
    case 2: return void(entry.value[std::string(dice.one_of(kEntryFields))] = value_of(dice));
    case 3: entry.value.erase(std::string(dice.one_of(kEntryFields))); return;
    case 4: return void(entry.value["dtype"] = dice.one_of(kEntryTypes));
    case 5: return void(entry.value["data_offsets"] = {dice.number(), dice.number()});
    default: change_shape(entry.value["shape"], dice);
  }
}

/// Bytes that the tensor fills; 0 where that cannot be told.
std::uint64_t n_bytes_of(const OrderedJson& entry) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape")) return 0;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < std::size(kEntryTypes); ++i) {
    if (entry["dtype"] == kEntryTypes[i]) bits = kBits[i];
  }
  for (const OrderedJson& dim : entry["shape"]) bits *= dim.is_number_unsigned() ? dim.get<std::uint64_t>() : 0;
  return bits / 8;
}

/// Tensors one behind another. Returns the bytes of all of them.
std::uint64_t tile(std::vector<Entry>& entries) {
  std::uint64_t end = 0;
  for (Entry& entry : entries) {
    if (!entry.value.is_object() || entry.name == "__metadata__") continue;
    const std::uint64_t begin = end;
    end += n_bytes_of(entry.value);
    entry.value["data_offsets"] = {begin, end};
  }
  return end;
}

std::string header_of(const std::vector<Entry>& entries) {
  std::string text = "{";
  for (const Entry& entry : entries) {
    text += (text.size() > 1 ? "," : "") + OrderedJson(engine::repaired_utf8(entry.name)).dump() + ":" + entry.value.dump();
  }
  return text + "}";
}

}  // namespace

std::string change_safetensors(std::string_view input, std::uint32_t seed) {
  constexpr std::uint64_t kMostData = 4096;
  if (input.empty() || input.front() % 4 != 0) return {};  // an input that is no file: see feed_safetensors
  auto entries = entries_of(input.substr(1));
  if (!entries) return {};
  Dice dice(seed);
  for (std::size_t n = 1 + dice.below(3); n > 0; --n) {
    const std::size_t kind = dice.below(8);
    if (kind == 0) dice.repeat_one(*entries);
    if (kind == 1) dice.remove_one(*entries);
    if (kind > 1 && !entries->empty()) change_entry(dice.one_of(*entries), dice);
    if (entries->empty()) entries->push_back({"a", {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {0, 8}}}});
  }
  const std::uint64_t n_data = dice.one_in(4) ? 22 : tile(*entries);
  std::string file = tests::safetensors_bytes(header_of(*entries), std::min(n_data, kMostData));
  if (dice.one_in(32)) file.replace(0, sizeof(std::uint64_t), tests::length_prefix(dice.number()));
  return '\0' + file;
}

}  // namespace lathe::fuzz
