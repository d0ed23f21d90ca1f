// SPDX-License-Identifier: Apache-2.0
#include "app/server/embed/vector_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace lathe::app {

std::string number_list(std::span<const float> vector) {
  fmt::memory_buffer out;
  out.push_back('[');
  // "-0" would be read as a whole number, which has no sign.
  const auto text_of = [](float x) { return x == 0 && std::signbit(x) ? std::string("-0.0") : fmt::format("{}", x); };
  for (std::size_t i = 0; i < vector.size(); ++i)
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", text_of(vector[i]));
  out.push_back(']');
  return fmt::to_string(out);
}

std::string base64_of(std::span<const float> vector) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes, text;
  bytes.reserve(vector.size() * sizeof(float));
  for (const float x : vector) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(bits >> shift & 0xFF));
  }
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text.push_back(j <= n ? alphabet[bits >> (18 - 6 * j) & 63] : '=');
  }
  return text;
}

std::string with_member(const engine::OrderedJson& object, std::string_view name, std::string_view json) {
  std::string text = engine::dump_json(object);
  text.pop_back();
  text.append(object.empty() ? "" : ",").append(engine::dump_json(engine::OrderedJson(name))).append(":");
  return text.append(json).append("}");
}

}  // namespace lathe::app
