// SPDX-License-Identifier: Apache-2.0
#include "app/server/embed/text_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/server/generate/common_fields.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using Ids = std::vector<std::int32_t>;

constexpr std::size_t kMaxTexts = 2048;  // limit of OpenAI

/// Removes tokens at the end, or at the beginning, until `most` are left.
void cut_to(Ids& ids, std::int64_t most, bool keeps_end) {
  const std::int64_t n_gone = std::ssize(ids) - most;
  if (n_gone <= 0) return;
  if (keeps_end) ids.erase(ids.begin(), ids.begin() + n_gone);
  else ids.resize(static_cast<std::size_t>(most));
}

/// The instruction, the query and the document of a pair, with what the prompt has between them. Clients of vLLM may send
/// the prompt's texts themselves: the end of the first text and the beginning of the second are then anywhere in it.
std::string inner_text(const std::string& first, const std::string& second, const engine::PairPrompt& prompt) {
  const std::string whole = first + second;
  const bool has_prompt = whole.size() >= prompt.begin.size() + prompt.end.size() && whole.starts_with(prompt.begin) &&
                          whole.ends_with(prompt.end) && whole.find(prompt.before_query) != std::string::npos;
  if (has_prompt) return whole.substr(prompt.begin.size(), whole.size() - prompt.begin.size() - prompt.end.size());
  return prompt.instruction + prompt.before_query + first + prompt.before_document + second;
}

}  // namespace

TextRules read_text_rules(RequestFields& body, const engine::LoadedModel& model) {
  TextRules rules;
  rules.add_special_tokens = body.flag("add_special_tokens").value_or(true);
  const std::string side = body.text("truncation_side").value_or("right");
  if (side != "left" && side != "right") body.refuse("truncation_side", "must be \"left\" or \"right\"");
  rules.keeps_end = side == "left";
  const auto most = body.integer("truncate_prompt_tokens");
  if (!most) return rules;
  if (*most < -1 || *most == 0 || *most > model.max_model_len) {
    body.refuse(
        "truncate_prompt_tokens",
        fmt::format("must be -1 or between 1 and {}, the longest text of the model; got {}", model.max_model_len, *most));
  }
  rules.most_tokens = *most == -1 ? model.max_model_len : *most;
  return rules;
}

engine::Result<void> read_text_list(const Json* value, const std::string& name, bool is_one,
                                    const std::function<engine::Result<void>(const Json&, const std::string&)>& read) {
  const auto refuse = [&](std::string message) {
    return engine::fail(ErrorCode::invalid_argument, std::move(message), name);
  };
  if (value == nullptr) return refuse("is missing");
  if (is_one) return read(*value, name);
  if (value->empty()) return refuse("must not be an empty list");
  if (value->size() > kMaxTexts) return refuse(fmt::format("may hold at most {} texts, got {}", kMaxTexts, value->size()));
  for (std::size_t i = 0; i < value->size(); ++i) LATHE_TRY_VOID(read((*value)[i], fmt::format("{}[{}]", name, i)));
  return {};
}

engine::Result<std::vector<Ids>> TextInput::read(const Json* value, const std::string& name) const {
  const bool is_one =
      value != nullptr && (!value->is_array() || (!value->empty() && value->front().is_number()));  // else a list of texts
  std::vector<Ids> texts;
  LATHE_TRY_VOID(read_text_list(value, name, is_one, [&](const Json& item, const std::string& path) -> engine::Result<void> {
    LATHE_TRY(Ids one, read_one(item, path));
    texts.push_back(std::move(one));
    return {};
  }));
  return texts;
}

engine::Result<Ids> TextInput::read_one(const Json& value, const std::string& name) const {
  if (value.is_string()) return encode(value.get_ref<const std::string&>(), name);
  if (!value.is_array()) {
    return engine::fail(ErrorCode::invalid_argument, "must be a string, a list of token IDs, or a list of either", name);
  }
  LATHE_TRY(Ids ids, read_ids(value, name));
  LATHE_TRY_VOID(check_ids(ids, name, engine_.tokenizer()));
  if (rules_.most_tokens > 0) cut_to(ids, rules_.most_tokens, rules_.keeps_end);
  return fitted(std::move(ids), name);
}

engine::Result<Ids> TextInput::encode(const std::string& text, const std::string& name) const {
  if (rules_.most_tokens == 0) LATHE_TRY_VOID(check_text_size(text.size(), engine_));
  LATHE_TRY(Ids ids, engine_.tokenizer().encode(text, rules_.add_special_tokens, false));
  if (rules_.most_tokens > 0 && std::ssize(ids) > rules_.most_tokens) {
    LATHE_TRY(ids, cut(text, std::move(ids)));
  }
  return fitted(std::move(ids), name);
}

/// Cuts the text's own tokens and keeps the special ones around them, if the text has the same tokens without them.
engine::Result<Ids> TextInput::cut(const std::string& text, Ids ids) const {
  LATHE_TRY(Ids inner, engine_.tokenizer().encode(text, false, false));
  const auto begin = std::search(ids.begin(), ids.end(), inner.begin(), inner.end());
  const std::int64_t n_special = std::ssize(ids) - std::ssize(inner);
  if (begin == ids.end() || n_special >= rules_.most_tokens) {
    cut_to(ids, rules_.most_tokens, rules_.keeps_end);
    return ids;
  }
  Ids joined(ids.begin(), begin);
  const Ids end(begin + std::ssize(inner), ids.end());
  cut_to(inner, rules_.most_tokens - n_special, rules_.keeps_end);
  joined.insert(joined.end(), inner.begin(), inner.end());
  joined.insert(joined.end(), end.begin(), end.end());
  return joined;
}

engine::Result<VectorText> TextInput::encode_in_prompt(const std::string& first, const std::string& second,
                                                       const engine::PairPrompt& prompt, const std::string& name) const {
  const engine::Tokenizer& tokenizer = engine_.tokenizer();
  if (rules_.most_tokens == 0) LATHE_TRY_VOID(check_text_size(first.size() + second.size(), engine_));
  LATHE_TRY(const Ids begin, tokenizer.encode(prompt.begin, false, true));
  LATHE_TRY(const Ids end, tokenizer.encode(prompt.end, false, true));
  LATHE_TRY(Ids ids, tokenizer.encode_spans(
                         std::vector<engine::TextSpan>{{prompt.begin, true}, {inner_text(first, second, prompt), false}}));
  const std::int64_t most = rules_.most_tokens, n_own = std::ssize(begin) + std::ssize(end);
  if (most > 0 && most <= n_own) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("must be more than the {} tokens of the model's prompt for pairs, got {}", n_own, most),
                        "truncate_prompt_tokens");
  }
  if (most > 0) cut_to(ids, most - std::ssize(end), false);
  ids.insert(ids.end(), end.begin(), end.end());
  LATHE_TRY(ids, fitted(std::move(ids), name));
  return VectorText{.ids = std::move(ids)};
}

engine::Result<VectorText> TextInput::encode_pair(const std::string& first, const std::string& second,
                                                  const engine::LabelInfo& labels, const std::string& name) const {
  if (labels.prompt) return encode_in_prompt(first, second, *labels.prompt, name);
  const bool doubles_separator = labels.doubles_separator;
  const engine::Tokenizer& tokenizer = engine_.tokenizer();
  if (rules_.most_tokens == 0) LATHE_TRY_VOID(check_text_size(first.size() + second.size(), engine_));
  LATHE_TRY(Ids a, tokenizer.encode(first, false, false));
  LATHE_TRY(Ids b, tokenizer.encode(second, false, false));
  LATHE_TRY(const Ids around, tokenizer.encode("", true, false));
  const bool has_separator = around.size() >= 2;
  const std::size_t n_special = around.size() + (has_separator ? (doubles_separator ? 2 : 1) : 0);
  const auto most = static_cast<std::size_t>(rules_.most_tokens);
  if (most > 0 && most <= n_special) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("must be more than the {} special tokens of a pair, got {}", n_special, most),
                        "truncate_prompt_tokens");
  }
  // The only special token of a text is at its beginning or at its end.
  LATHE_TRY(const Ids alone, tokenizer.encode("a", true, false));
  const bool ends_text = around.size() == 1 && alone.front() != around.front();
  while (most > 0 && n_special + a.size() + b.size() > most) (a.size() > b.size() ? a : b).pop_back();
  VectorText pair;
  if (!around.empty() && !ends_text) pair.ids.push_back(around.front());
  pair.ids.insert(pair.ids.end(), a.begin(), a.end());
  for (int i = 0; has_separator && i < (doubles_separator ? 2 : 1); ++i) pair.ids.push_back(around.back());
  pair.second_begin = static_cast<std::int32_t>(pair.ids.size());
  pair.ids.insert(pair.ids.end(), b.begin(), b.end());
  if (has_separator || ends_text) pair.ids.push_back(around.back());
  LATHE_TRY(pair.ids, fitted(std::move(pair.ids), name));
  return pair;
}

engine::Result<Ids> TextInput::fitted(Ids ids, const std::string& name) const {
  if (ids.empty()) return engine::fail(ErrorCode::invalid_argument, "has no token, so it has no vector", name);
  const std::int64_t most = engine_.model().max_model_len;
  if (std::ssize(ids) <= most) return ids;
  return engine::fail(ErrorCode::invalid_argument,
                      fmt::format("This model's maximum context length is {} tokens. However, {} has {} tokens. Please "
                                  "shorten it, or send truncate_prompt_tokens.",
                                  most, name, ids.size()),
                      "input_tokens");
}

}  // namespace lathe::app
