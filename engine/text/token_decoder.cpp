// SPDX-License-Identifier: Apache-2.0
#include "engine/text/token_decoder.h"

#include <array>
#include <charconv>

#include "engine/text/byte_alphabet.h"
#include "engine/text/json_field.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxSteps = 64;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; done = at) {
    out.append(text, done, at - done).append(to);
    at += from.size();
  }
  text = out.append(text, done);
}

Result<void> add_byte_level(const Json&, TokenDecoder& decoder) {
  decoder.is_byte_level = true;
  decoder.steps.emplace_back([](std::string& piece, bool) {
    if (auto bytes = bytes_of_alphabet(piece)) piece = std::move(*bytes);
  });
  return {};
}

Result<void> add_byte_fallback(const Json&, TokenDecoder& decoder) {
  decoder.steps.emplace_back([](std::string& piece, bool) {
    unsigned value = 0;
    if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return;
    const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
    if (error == std::errc() && end == piece.data() + 5) piece = std::string(1, static_cast<char>(value));
  });
  return {};
}

Result<void> add_replace(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(PatternField pattern, pattern_field(description, "decoder.Replace"));
  LATHE_TRY(std::string content, rule_field(description, "content", "decoder.Replace"));
  if (pattern.is_regex || pattern.text.empty()) {
    return fail(ErrorCode::model_refused, "\"pattern\" must be a String", "tokenizer.json: decoder.Replace");
  }
  decoder.steps.emplace_back(
      [from = std::move(pattern.text), to = std::move(content)](std::string& piece, bool) { replace_all(piece, from, to); });
  return {};
}

/// Fuse joins the pieces, so that the following decoders read one text. Pieces are always read like that here.
Result<void> add_fuse(const Json&, TokenDecoder&) { return {}; }

Result<void> add_strip(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(const std::string content, rule_field(description, "content", "decoder.Strip"));
  const auto count = [&](const char* key) {
    const auto found = description.find(key);
    if (found == description.end()) return std::uint64_t{0};
    return found->is_number_unsigned() ? found->get<std::uint64_t>() : ~std::uint64_t{0};
  };
  const std::uint64_t start = count("start"), stop = count("stop");
  if (stop != 0 || start > 16) {
    return fail(ErrorCode::model_refused,
                fmt::format("start {} and stop {}: only the beginning can be stripped", start, stop),
                "tokenizer.json: decoder.Strip");
  }
  for (std::uint64_t i = 0; i < start; ++i) decoder.strip_front += content;
  return {};
}

Result<void> add_metaspace(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(std::string mark, rule_field(description, "replacement", "decoder.Metaspace"));
  if (mark.empty()) return fail(ErrorCode::model_refused, "\"replacement\" is empty", "tokenizer.json: decoder.Metaspace");
  const auto scheme = description.find("prepend_scheme");
  const bool never = scheme != description.end() && *scheme == "never";
  const bool prefixed = flag_field(description, "add_prefix_space", true) && !never;
  decoder.has_place = decoder.has_place || prefixed;
  decoder.steps.emplace_back([from = std::move(mark), prefixed](std::string& piece, bool first) {
    replace_all(piece, from, first && prefixed ? "" : " ");  // the library removes every mark at the front of a text
  });
  return {};
}

/// Removes the spaces between words where English writes none. Source: the tokenizers library, decoders/wordpiece.rs.
void clean_up(std::string& piece) {
  constexpr std::array kPlain = {std::pair{" .", "."},     std::pair{" ?", "?"},           std::pair{" !", "!"},
                                 std::pair{" ,", ","},     std::pair{" ' ", "'"},          std::pair{" n't", "n't"},
                                 std::pair{" 'm", "'m"},   std::pair{" do not", " don't"}, std::pair{" 's", "'s"},
                                 std::pair{" 've", "'ve"}, std::pair{" 're", "'re"}};
  for (const auto& [from, to] : kPlain) replace_all(piece, from, to);
}

Result<void> add_wordpiece(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(std::string prefix, rule_field(description, "prefix", "decoder.WordPiece"));
  const bool cleans = flag_field(description, "cleanup", true);
  decoder.has_place = true;
  decoder.steps.emplace_back([prefix = std::move(prefix), cleans](std::string& piece, bool first) {
    if (!first && piece.starts_with(prefix)) {
      piece.erase(0, prefix.size());
    } else if (!first) {
      piece.insert(0, 1, ' ');
    }
    if (cleans) clean_up(piece);
  });
  return {};
}

Result<void> add_decoder(const Json& description, TokenDecoder& decoder);

Result<void> add_sequence(const Json& description, TokenDecoder& decoder) {
  const auto list = description.find("decoders");
  if (list == description.end() || !list->is_array()) {
    return fail(ErrorCode::model_refused, "\"decoders\" must be a list", "tokenizer.json: decoder.Sequence");
  }
  LATHE_TRY_VOID(check_parts(*list, "decoder.Sequence"));
  for (const Json& item : *list) LATHE_TRY_VOID(add_decoder(item, decoder));
  // The limit counts the steps of inner sequences too, because every piece of the vocabulary goes through all steps.
  if (decoder.steps.size() > kMaxSteps) {
    return fail(ErrorCode::model_refused, fmt::format("more than {} steps", kMaxSteps), "tokenizer.json: decoder.Sequence");
  }
  return {};
}

struct DecoderKind {
  std::string_view type;
  Result<void> (*add)(const Json& description, TokenDecoder& decoder);
};

// THE TABLE of decoders, under tokenizer.json's names.
constexpr std::array kDecoderKinds = {
    DecoderKind{"ByteLevel", add_byte_level}, DecoderKind{"ByteFallback", add_byte_fallback},
    DecoderKind{"Replace", add_replace},      DecoderKind{"Fuse", add_fuse},
    DecoderKind{"Strip", add_strip},          DecoderKind{"Metaspace", add_metaspace},
    DecoderKind{"WordPiece", add_wordpiece},  DecoderKind{"Sequence", add_sequence},
};

Result<void> add_decoder(const Json& description, TokenDecoder& decoder) {
  LATHE_TRY(const std::string type, component_type(description, "decoder"));
  for (const DecoderKind& kind : kDecoderKinds) {
    if (kind.type == type) return kind.add(description, decoder);
  }
  return unknown_component(type, "decoder");
}

}  // namespace

Result<TokenDecoder> make_token_decoder(const Json& description) {
  TokenDecoder decoder;
  if (description.is_null()) {
    decoder.joiner = " ";  // the tokenizers library does this without a decoder
  } else {
    LATHE_TRY_VOID(add_decoder(description, decoder));
  }
  return decoder;
}

}  // namespace lathe::engine
