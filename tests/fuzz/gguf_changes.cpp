// SPDX-License-Identifier: Apache-2.0
// Changes of one part of a GGUF file, or of a few: every other length and count stays right, so that the change is met by
// the check that it is for.
#include <span>

#include "tests/fuzz/dice.h"
#include "tests/fuzz/gguf_names.h"
#include "tests/fuzz/gguf_parts.h"
#include "tests/fuzz/targets.h"
#include "tests/support/gguf_builder.h"

namespace lathe::fuzz {
namespace {

using Value = GgufParts::Value;
using Tensor = GgufParts::Tensor;

/// A random item of a type, as long as the type requires.
std::string item_of(std::uint32_t type, Dice& dice) {
  if (type == GgufParts::kText) {
    std::string text = "a";
    dice.change(text);
    return text;
  }
  std::string bytes = tests::GgufBuilder::bytes_of(dice.number());
  bytes.resize(GgufParts::size_of(type), '\0');
  return bytes;
}

void change_item(Value& value, Dice& dice) {
  if (value.items.empty()) value.items.emplace_back(item_of(value.type, dice));
  std::string& item = dice.one_of(value.items);
  if (value.type == GgufParts::kText) return dice.change(item);
  item = item_of(value.type, dice);
}

void change_type(Value& value, Dice& dice) {
  value.type = static_cast<std::uint32_t>(dice.below(GgufParts::kTypes + 1));
  for (std::string& item : value.items) item = item_of(value.type, dice);
}

void change_shape(Value& value, Dice& dice) {
  value.is_list = !value.is_list;
  if (!value.is_list) value.items.resize(1, item_of(value.type, dice));
}

void change_length(Value& value, Dice& dice) {
  if (!value.is_list) return;
  if (dice.one_in(2)) return dice.repeat_one(value.items);
  if (dice.one_in(2)) return dice.remove_one(value.items);
  if (dice.one_in(4)) return value.items.clear();
  value.n_untrue = dice.number();
}

void rename(Value& value, Dice& dice) {
  if (dice.one_in(4)) return dice.change(value.key);
  if (dice.one_in(2)) return void(value.key = dice.one_of(kGgufKeys));
  value.key = std::string(dice.one_of(kGgufFamilies)) + "." + std::string(dice.one_of(kGgufFamilyKeys));
}

void change_dims(Tensor& tensor, Dice& dice) {
  if (tensor.dims.empty() || dice.one_in(4)) tensor.dims.push_back(dice.number());
  if (dice.one_in(8)) return dice.remove_one(tensor.dims);
  dice.one_of(tensor.dims) = dice.number();
}

void change_type_of(Tensor& tensor, Dice& dice) { tensor.type = static_cast<std::uint32_t>(dice.below(42)); }

/// Rows that every type can hold, so that its decoder is reached.
void make_whole(Tensor& tensor, Dice& dice) {
  tensor.dims = {256, 1 + dice.below(3)};
  tensor.offset = 0;
}

void move(Tensor& tensor, Dice& dice) { tensor.offset = dice.one_in(2) ? 32 * dice.below(64) : dice.number(); }

void rename_tensor(Tensor& tensor, Dice& dice) {
  if (dice.one_in(4)) return dice.change(tensor.name);
  tensor.name = dice.one_of(kGgufTensors);
}

constexpr void (*kOfValues[])(Value&, Dice&) = {change_item,  change_item,   change_item,   change_type,
                                                change_shape, change_length, change_length, rename};
constexpr void (*kOfTensors[])(Tensor&, Dice&) = {change_dims, change_type_of, change_type_of,
                                                  make_whole,  move,           rename_tensor};

/// Changes the file as a whole: its lists, counts, version or data.
void change_whole(GgufParts& parts, Dice& dice) {
  switch (dice.below(9)) {
    case 0: return dice.repeat_one(parts.values);
    case 1: return dice.remove_one(parts.values);
    case 2: return dice.repeat_one(parts.tensors);
    case 3: return dice.remove_one(parts.tensors);
    case 4: return void(parts.n_values_untrue = dice.number());
    case 5: return void(parts.n_tensors_untrue = dice.number());
    case 6: return void(parts.version = static_cast<std::uint32_t>(dice.number()));
    case 7: return dice.change(parts.data);
    default: parts.data.resize(32 * dice.below(96), 'x');
  }
}

}  // namespace

std::string change_gguf(std::string_view file, std::uint32_t seed) {
  auto parts = GgufParts::of(file);
  if (!parts) return {};
  Dice dice(seed);
  for (std::size_t n = 1 + dice.below(3); n > 0; --n) {
    const std::size_t kind = dice.below(8);
    if (kind < 4 && !parts->values.empty()) {
      dice.one_of(kOfValues)(dice.one_of(parts->values), dice);
    } else if (kind < 7 && !parts->tensors.empty()) {
      dice.one_of(kOfTensors)(dice.one_of(parts->tensors), dice);
    } else {
      change_whole(*parts, dice);
    }
  }
  return parts->bytes();
}

}  // namespace lathe::fuzz
