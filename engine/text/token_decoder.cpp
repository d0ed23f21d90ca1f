// SPDX-License-Identifier: Apache-2.0
#include "engine/text/token_decoder.h"

#include <array>
#include <charconv>

#include "engine/text/byte_alphabet.h"
#include "engine/text/json_field.h"

namespace lathe::engine {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

Result<void> add_byte_level(const Json&, TokenDecoder& decoder) {
  decoder.steps.emplace_back([](std::string& piece) {
    if (auto bytes = bytes_of_alphabet(piece)) piece = std::move(*bytes);
  });
  return {};
}

Result<void> add_byte_fallback(const Json&, TokenDecoder& decoder) {
  decoder.steps.emplace_back([](std::string& piece) {
    unsigned value = 0;
    if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return;
    const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
    if (error == std::errc() && end == piece.data() + 5) piece = std::string(1, static_cast<char>(value));
  });
  return {};
}

Result<void> add_replace(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(PatternField pattern, pattern_field(description, "decoder.Replace"));
  LATHE_TRY(std::string content, text_field(description, "content", "decoder.Replace"));
  if (pattern.is_regex || pattern.text.empty()) {
    return fail(ErrorCode::model_refused, "\"pattern\" must be a String", "tokenizer.json: decoder.Replace");
  }
  decoder.steps.emplace_back(
      [from = std::move(pattern.text), to = std::move(content)](std::string& piece) { replace_all(piece, from, to); });
  return {};
}

/// Pieces are joined as they come, so from here on the decoders see one text. That is how they are read here anyway.
Result<void> add_fuse(const Json&, TokenDecoder&) { return {}; }

Result<void> add_strip(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(const std::string content, text_field(description, "content", "decoder.Strip"));
  const int start = description.value("start", 0), stop = description.value("stop", 0);
  if (stop != 0 || start < 0 || start > 16) {
    return fail(ErrorCode::model_refused, fmt::format("start {} and stop {}: only the front can be stripped", start, stop),
                "tokenizer.json: decoder.Strip");
  }
  for (int i = 0; i < start; ++i) decoder.strip_front += content;
  return {};
}

Result<void> add_metaspace(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(std::string mark, text_field(description, "replacement", "decoder.Metaspace"));
  const bool prefixed =
      flag_field(description, "add_prefix_space", true) && description.value("prepend_scheme", "always") != "never";
  decoder.steps.emplace_back([from = std::move(mark)](std::string& piece) { replace_all(piece, from, " "); });
  if (prefixed) decoder.strip_front = " ";
  return {};
}

Result<void> add_decoder(const Json& description, TokenDecoder& decoder);

Result<void> add_sequence(const Json& description, TokenDecoder& decoder) {
  const auto list = description.find("decoders");
  if (list == description.end() || !list->is_array()) {
    return fail(ErrorCode::model_refused, "\"decoders\" must be a list", "tokenizer.json: decoder.Sequence");
  }
  for (const Json& item : *list) LATHE_TRY_VOID(add_decoder(item, decoder));
  return {};
}

struct DecoderKind {
  std::string_view type;
  Result<void> (*add)(const Json& description, TokenDecoder& decoder);
};

// THE TABLE of decoders, under tokenizer.json's names.
constexpr std::array kKinds = {
    DecoderKind{"ByteLevel", add_byte_level}, DecoderKind{"ByteFallback", add_byte_fallback},
    DecoderKind{"Replace", add_replace},      DecoderKind{"Fuse", add_fuse},
    DecoderKind{"Strip", add_strip},          DecoderKind{"Metaspace", add_metaspace},
    DecoderKind{"Sequence", add_sequence},
};

Result<void> add_decoder(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(const std::string type, component_type(description, "decoder"));
  for (const DecoderKind& kind : kKinds) {
    if (kind.type == type) return kind.add(description, decoder);
  }
  return unknown_component(type, "decoder");
}

}  // namespace

Result<TokenDecoder> make_token_decoder(const Json& description) {
  TokenDecoder decoder;
  if (description.is_null()) {
    decoder.joiner = " ";  // what the format's own library does without a decoder
  } else {
    LATHE_TRY_VOID(add_decoder(description, decoder));
  }
  return decoder;
}

}  // namespace lathe::engine
