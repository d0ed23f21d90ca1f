// SPDX-License-Identifier: Apache-2.0
#include "engine/base/utf8.h"

#include <simdjson.h>

#include <algorithm>

namespace lathe::engine {
namespace {

/// Properties that the first byte of a character decides: size and range of the second byte (Unicode table 3-7).
struct LeadByte {
  std::size_t size = 0;
  unsigned char second_min = 0x80, second_max = 0xBF;
};

LeadByte lead_of(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

bool continues(const LeadByte& lead, std::size_t index, unsigned char byte) {
  return index == 1 ? byte >= lead.second_min && byte <= lead.second_max : (byte & 0xC0) == 0x80;
}

}  // namespace

Utf8Step read_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const LeadByte lead = lead_of(first);
  if (lead.size == 0) return {0xFFFD, 1, false};
  char32_t code = first & (0x7F >> lead.size);
  for (std::size_t i = 1; i < lead.size; ++i) {
    if (at + i >= text.size() || !continues(lead, i, byte(at + i))) return {0xFFFD, i, false};
    code = (code << 6) | (byte(at + i) & 0x3F);
  }
  return {code, lead.size, true};
}

void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::size_t first_invalid_utf8(std::string_view text) {
  // Most texts are valid, which simdjson verifies many bytes at a time.
  if (simdjson::validate_utf8(text.data(), text.size())) return text.size();
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (!step.valid) return at;
    at += step.size;
  }
  return text.size();
}

bool is_valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string repaired_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    out += step.valid ? text.substr(at, step.size) : kReplacementCharacter;
    at += step.size;
  }
  return out;
}

std::size_t incomplete_utf8_tail(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const std::size_t at = text.size() - back;
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    const Utf8Step step = read_utf8(text, at);
    const bool cut = !step.valid && step.size == back && lead_of(static_cast<unsigned char>(text[at])).size > back;
    return cut ? back : 0;
  }
  return 0;
}

std::string printable_excerpt(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (out.size() + step.size > max_bytes) return out + "...";
    const bool control = step.code < 0x20 || (step.code >= 0x7F && step.code < 0xA0);
    if (control || !step.valid) {
      out += '?';
    } else {
      out += text.substr(at, step.size);
    }
    at += step.size;
  }
  return out;
}

}  // namespace lathe::engine
