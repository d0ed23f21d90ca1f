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

/// Returns the text of a token, which is written as a text or as an object with "content".
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

/// Reads the flags of a token that is written as an object.
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

/// Reads the lists of special tokens. extra_special_tokens is the newer name, which may also be an object of names and
/// tokens.
void take_more_special(const Json& object, TokenizerConfig& config) {
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto more = object.find(key);
    if (more == object.end() || !more->is_structured()) continue;
    for (const Json& item : *more) add_special(item, config);
  }
}

/// Reads "bos_token" and every other key that ends in "_token", such as "image_token" or "boi_token".
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

std::optional<std::int32_t> token_id(std::string_view text) {
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_id = error == std::errc() && end == text.data() + text.size() && id >= 0;
  return is_id ? std::optional(id) : std::nullopt;
}

void take_decoder(const Json& object, TokenizerConfig& config) {
  const auto decoder = object.find("added_tokens_decoder");
  if (decoder == object.end() || decoder->is_null()) return;
  const auto leave_out = [&](const std::string& field, std::string_view why) {
    config.warnings.push_back(fmt::format("{}: added_tokens_decoder{} is left out: {}", kConfig, field, why));
  };
  if (!decoder->is_object()) return leave_out("", "must be an object");
  for (const auto& [key, value] : decoder->items()) {
    const auto id = token_id(key);
    auto content = token_text(value);
    const std::string field = "." + printable_excerpt(key);
    if (!id) {
      leave_out(field, "this is not a token ID");
    } else if (!content || !value.is_object()) {
      leave_out(field, "must have a \"content\"");
    } else {
      AddedToken token = read_flags(value, std::move(*content), flag(value, "special", false));
      token.id = *id;
      config.added_tokens.push_back(std::move(token));
    }
  }
}

/// Reads added_tokens.json, a map from text to id, for tokens that tokenizer_config.json does not describe.
void take_added(const Json& object, TokenizerConfig& config) {
  std::unordered_set<std::int32_t> described;
  for (const AddedToken& token : config.added_tokens) described.insert(token.id);
  for (const auto& [content, id] : object.items()) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<std::int32_t>::max()) {
      config.warnings.push_back(
          fmt::format("{}: \"{}\" is left out: its ID is not a token ID", kAdded, printable_excerpt(content)));
    } else if (!described.contains(id.get<std::int32_t>())) {
      const bool special = config.special_tokens.contains(content);
      config.added_tokens.push_back(
          {.id = id.get<std::int32_t>(), .content = content, .special = special, .normalized = !special});
    }
  }
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
  TokenizerConfig config;
  const Json main = folder.read_optional_json(kConfig, config.warnings);
  const Json map = folder.read_optional_json(kMap, config.warnings);
  const Json added = folder.read_optional_json(kAdded, config.warnings);
  config.tokenizer_class =
      main.value("tokenizer_class", Json()).is_string() ? main["tokenizer_class"].get<std::string>() : "";
  config.add_bos = maybe_flag(main, "add_bos_token");
  config.add_eos = maybe_flag(main, "add_eos_token");
  config.legacy = flag(main, "legacy", true);
  config.add_prefix_space = flag(main, "add_prefix_space", true);
  take_special(main, config);
  take_special(map, config);
  take_decoder(main, config);
  take_added(added, config);
  for (AddedToken& token : config.added_tokens) {
    if (config.special_tokens.contains(token.content)) token.special = true;
  }
  return config;
}

}  // namespace lathe::engine
