// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "engine/base/utf8.h"
#include "engine/text/bpe_word_model.h"
#include "engine/text/unigram.h"
#include "engine/text/word_model.h"
#include "engine/text/wordpiece.h"

namespace lathe::engine {
namespace {

struct WordModelKind {
  std::string_view type;
  Result<std::unique_ptr<WordModel>> (*make)(const WordModelParts& parts);
};

// THE TABLE of word models, under tokenizer.json's names.
constexpr std::array kWordModelKinds = {
    WordModelKind{"BPE", make_bpe_word_model},
    WordModelKind{"Unigram", make_unigram},
    WordModelKind{"WordPiece", make_wordpiece},
};

}  // namespace

tl::unexpected<Error> WordModelParts::refuse(std::string message, std::string_view field) const {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", description.file, field));
}

Result<std::int64_t> WordModelParts::number(const char* key, std::int64_t fallback, std::int64_t max) const {
  const auto found = description.model.find(key);
  if (found == description.model.end() || found->is_null()) return fallback;
  if (found->is_number_integer() && *found >= 0 && *found <= max) return found->get<std::int64_t>();
  return refuse(fmt::format("must be a whole number from 0 to {}", max), fmt::format("model.{}", key));
}

Result<std::int32_t> WordModelParts::id_of_named(const char* key) const {
  const auto found = description.model.find(key);
  if (found == description.model.end() || !found->is_string()) return -1;
  for (const auto& [piece, id] : description.vocabulary) {
    if (piece == found->get_ref<const std::string&>()) return id;
  }
  return refuse("is not in the vocabulary", fmt::format("model.{}", key));
}

Result<std::unique_ptr<WordModel>> make_word_model(const WordModelParts& parts) {
  const auto type = parts.description.model.find("type");
  const std::string name =
      type != parts.description.model.end() && type->is_string() ? type->get<std::string>() : std::string();
  std::string known;
  for (const WordModelKind& kind : kWordModelKinds) {
    if (kind.type == name) return kind.make(parts);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.type);
  }
  return parts.refuse(fmt::format("the type \"{}\" is not supported (supported: {})", printable_excerpt(name), known),
                      "model.type");
}

}  // namespace lathe::engine
