// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_config.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <unordered_set>

#include "engine/api/json.h"
#include "engine/base/utf8.h"
#include "engine/text/gguf_tokenizer.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kConfig = "tokenizer_config.json", kMap = "special_tokens_map.json", kAdded = "added_tokens.json";

bool flag(const Json& object, const char* key, bool fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

std::optional<bool> maybe_flag(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

/// A token is written as its text or as an object with "content".
std::optional<std::string> token_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) {
    const auto content = value.find("content");
    if (content != value.end() && content->is_string()) return content->get<std::string>();
  }
  return std::nullopt;
}

void take_named(const Json& object, const char* key, std::optional<std::string>& token) {
  if (token) return;
  if (const auto found = object.find(key); found != object.end()) token = token_text(*found);
}

/// The flags of a token that is written as an object.
AddedToken read_flags(const Json& value, std::string content, bool special) {
  return {.content = std::move(content),
          .special = special,
          .lstrip = flag(value, "lstrip", false),
          .rstrip = flag(value, "rstrip", false),
          .single_word = flag(value, "single_word", false),
          .normalized = flag(value, "normalized", !special)};
}

void add_special(const Json& value, TokenizerConfig& config) {
  const auto text = token_text(value);
  if (!text || text->empty()) return;
  config.special_tokens.insert(*text);
  if (value.is_object()) config.named_tokens.emplace(*text, read_flags(value, *text, true));
}

/// Lists of special tokens; the second is the newer name, which has names by token too.
void take_more_special(const Json& object, TokenizerConfig& config) {
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto more = object.find(key);
    if (more == object.end() || !more->is_structured()) continue;
    for (const Json& item : *more) add_special(item, config);
  }
}

/// "bos_token", and whatever else a model calls a token of its own: "image_token", "boi_token"...
void take_special(const Json& object, TokenizerConfig& config) {
  take_named(object, "bos_token", config.bos_token);
  take_named(object, "eos_token", config.eos_token);
  take_named(object, "unk_token", config.unk_token);
  take_named(object, "pad_token", config.pad_token);
  take_named(object, "mask_token", config.mask_token);
  for (const auto& [key, value] : object.items()) {
    if (key.ends_with("_token")) add_special(value, config);
  }
  take_more_special(object, config);
}

Result<std::int32_t> token_id(std::string_view text, std::string_view file) {
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size() && id >= 0) return id;
  return fail(ErrorCode::model_refused, fmt::format("\"{}\" is no token id", printable_excerpt(text)), std::string(file));
}

Result<void> take_decoder(const Json& object, TokenizerConfig& config) {
  const auto decoder = object.find("added_tokens_decoder");
  if (decoder == object.end()) return {};
  if (!decoder->is_object())
    return fail(ErrorCode::model_refused, "must be an object", "tokenizer_config.json: added_tokens_decoder");
  for (const auto& [key, value] : decoder->items()) {
    AddedToken token;
    LATHE_TRY(token.id, token_id(key, "tokenizer_config.json: added_tokens_decoder"));
    auto content = token_text(value);
    if (!content || !value.is_object()) {
      return fail(ErrorCode::model_refused, "must have a \"content\"", "tokenizer_config.json: added_tokens_decoder." + key);
    }
    const std::int32_t id = token.id;
    token = read_flags(value, std::move(*content), flag(value, "special", false));
    token.id = id;
    config.added_tokens.push_back(std::move(token));
  }
  return {};
}

/// added_tokens.json: text to id, for tokens that tokenizer_config.json does not describe.
Result<void> take_added(const Json& object, TokenizerConfig& config) {
  std::unordered_set<std::int32_t> described;
  for (const AddedToken& token : config.added_tokens) described.insert(token.id);
  for (const auto& [content, id] : object.items()) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<std::int32_t>::max()) {
      return fail(ErrorCode::model_refused, fmt::format("the id of \"{}\" is no token id", printable_excerpt(content)),
                  std::string(kAdded));
    }
    if (described.contains(id.get<std::int32_t>())) continue;
    const bool special = config.special_tokens.contains(content);
    config.added_tokens.push_back(
        {.id = id.get<std::int32_t>(), .content = content, .special = special, .normalized = !special});
  }
  return {};
}

}  // namespace

AddedToken TokenizerConfig::special_token(const std::string& content, std::int32_t id) const {
  const auto known = named_tokens.find(content);
  AddedToken token = known != named_tokens.end() ? known->second : AddedToken{.content = content, .special = true};
  token.id = id;
  return token;
}

Result<TokenizerConfig> read_tokenizer_config(const ModelFolder& folder) {
  if (!folder.gguf().empty()) return read_gguf_tokenizer_config(folder);
  LATHE_TRY(const Json main, folder.read_json_if_present(kConfig));
  LATHE_TRY(const Json map, folder.read_json_if_present(kMap));
  LATHE_TRY(const Json added, folder.read_json_if_present(kAdded));
  TokenizerConfig config;
  config.tokenizer_class =
      main.value("tokenizer_class", Json()).is_string() ? main["tokenizer_class"].get<std::string>() : "";
  config.add_bos = maybe_flag(main, "add_bos_token");
  config.add_eos = maybe_flag(main, "add_eos_token");
  config.legacy = flag(main, "legacy", true);
  config.add_prefix_space = flag(main, "add_prefix_space", true);
  take_special(main, config);
  take_special(map, config);
  LATHE_TRY_VOID(take_decoder(main, config));
  LATHE_TRY_VOID(take_added(added, config));
  for (AddedToken& token : config.added_tokens) {
    if (config.special_tokens.contains(token.content)) token.special = true;
  }
  return config;
}

}  // namespace lathe::engine
