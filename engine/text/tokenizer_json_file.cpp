// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_json_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "engine/base/utf8.h"
#include "engine/text/tokenizer_base.h"

namespace lathe::engine {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kMaxJsonBytes = 512LL << 20;
constexpr std::int64_t kMaxId = 4'000'000;
// The largest components are tables of Unicode normal forms, below 1 MiB.
constexpr std::size_t kMaxComponentBytes = 8u << 20;

tl::unexpected<Error> refuse_json(std::string message, std::string_view field) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("tokenizer.json: {}", field));
}

/// Refuses an object with a repeated key, because parsers disagree about which of its values counts.
Result<void> check_keys(const dom::object& object, std::string_view field) {
  std::vector<std::string_view> keys;
  keys.reserve(object.size());
  for (const auto [key, value] : object) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return {};
  return refuse_json(fmt::format("the key \"{}\" appears twice", printable_excerpt(*twice)), field);
}

/// Returns a piece, decoded from the file. Errors: model_refused if the piece is longer than any real one, because it would
/// only take memory.
Result<std::string> checked_piece(std::string_view piece, std::string_view field) {
  if (piece.size() <= kMaxPieceBytes) return std::string(piece);
  return refuse_json(
      fmt::format("the piece \"{}\" has {} bytes, at most {}", printable_excerpt(piece), piece.size(), kMaxPieceBytes),
      field);
}

/// Returns a component as Json; null if it is absent.
Result<Json> component(const dom::element& parent, const char* key) {
  dom::element found;
  if (parent[key].get(found) != simdjson::SUCCESS) return Json();
  const std::string text = simdjson::minify(found);
  if (text.size() > kMaxComponentBytes) {
    return refuse_json(fmt::format("it has {} bytes, at most {} are read", text.size(), kMaxComponentBytes), key);
  }
  auto json = parse_json(text, key);
  if (!json) return refuse_json(json.error().message, key);
  return json;
}

Result<std::int32_t> checked_id(simdjson::simdjson_result<dom::element> value, std::string_view piece,
                                std::string_view field) {
  std::int64_t id = -1;
  if (value.get(id) == simdjson::SUCCESS && id >= 0 && id < kMaxId) return static_cast<std::int32_t>(id);
  return refuse_json(fmt::format("the id of \"{}\" must be a whole number below {}", printable_excerpt(piece), kMaxId),
                     field);
}

/// Reads the vocabulary of Unigram, a list of pieces and scores, whose indices are the ids.
Result<void> read_scored_vocabulary(const dom::element& model, TokenizerDescription& file) {
  dom::array vocabulary;
  if (model["vocab"].get(vocabulary) != simdjson::SUCCESS)
    return refuse_json("must be a list of pieces and scores", "model.vocab");
  std::int32_t id = 0;
  for (const dom::element entry : vocabulary) {
    std::string_view piece;
    double score = 0;
    dom::array pair;
    const bool is_pair = entry.get(pair) == simdjson::SUCCESS && pair.size() == 2 &&
                         pair.at(0).get(piece) == simdjson::SUCCESS && pair.at(1).get(score) == simdjson::SUCCESS;
    if (!is_pair) return refuse_json("must be a piece and its score", fmt::format("model.vocab[{}]", id));
    if (id == kMaxId) return refuse_json(fmt::format("more than {} pieces", kMaxId), "model.vocab");
    LATHE_TRY(std::string text, checked_piece(piece, "model.vocab"));
    file.vocabulary.emplace_back(std::move(text), id++);
    file.scores.push_back(score);
  }
  return {};
}

Result<void> read_vocabulary(const simdjson::simdjson_result<dom::element>& field, TokenizerDescription& file) {
  dom::object vocabulary;
  if (field.get(vocabulary) != simdjson::SUCCESS) return refuse_json("must be an object of pieces and ids", "model.vocab");
  file.vocabulary.reserve(vocabulary.size());
  for (const auto [piece, value] : vocabulary) {
    LATHE_TRY(const std::int32_t id, checked_id(dom::element(value), piece, "model.vocab"));
    LATHE_TRY(std::string text, checked_piece(piece, "model.vocab"));
    file.vocabulary.emplace_back(std::move(text), id);
  }
  return {};
}

/// Reads a merge, which is written "left right" or ["left", "right"]. Both sides must be non-empty.
Result<std::pair<std::string, std::string>> read_merge(const dom::element& merge, std::size_t index) {
  std::string_view text, right;
  if (merge.get(text) == simdjson::SUCCESS) {
    const std::size_t blank = text.find(' ');
    if (blank != text.npos && blank > 0 && blank + 1 < text.size() && text.find(' ', blank + 1) == text.npos) {
      return std::pair(std::string(text.substr(0, blank)), std::string(text.substr(blank + 1)));
    }
  } else if (dom::array pair; merge.get(pair) == simdjson::SUCCESS && pair.size() == 2) {
    const bool texts = pair.at(0).get(text) == simdjson::SUCCESS && pair.at(1).get(right) == simdjson::SUCCESS;
    if (texts && !text.empty() && !right.empty()) {
      return std::pair(std::string(text), std::string(right));
    }
  }
  return refuse_json("must be two pieces", fmt::format("model.merges[{}]", index));
}

Result<void> read_merges(const dom::element& model, TokenizerDescription& file) {
  dom::array merges;
  if (model["merges"].get(merges) != simdjson::SUCCESS) return refuse_json("must be a list", "model.merges");
  for (const dom::element merge : merges) {
    LATHE_TRY(auto pair, read_merge(merge, file.merges.size()));
    file.merges.push_back(std::move(pair));
  }
  return {};
}

Result<void> read_model(const dom::element& root, TokenizerDescription& file) {
  dom::element model;
  dom::object fields;
  if (root["model"].get(model) != simdjson::SUCCESS || model.get(fields) != simdjson::SUCCESS) {
    return refuse_json("must be an object", "model");
  }
  LATHE_TRY_VOID(check_keys(fields, "model"));
  file.model = Json::object();
  for (const auto [key, value] : fields) {
    if (key == "vocab" || key == "merges") continue;
    const auto scalar = parse_json(simdjson::minify(value), key);
    if (scalar) file.model[std::string(key)] = *scalar;
  }
  // Files older than the field "type" show their type by their other fields.
  if (!file.model.contains("type")) {
    const bool has_merges = model["merges"].error() == simdjson::SUCCESS;
    file.model["type"] = has_merges ? "BPE" : model["vocab"].is_array() ? "Unigram" : "WordPiece";
  }
  if (file.model["type"] == "Unigram") return read_scored_vocabulary(model, file);
  LATHE_TRY_VOID(read_vocabulary(model["vocab"], file));
  return file.model["type"] == "BPE" ? read_merges(model, file) : Result<void>();
}

bool flag(const dom::element& token, const char* key) {
  bool value = false;
  return token[key].get(value) == simdjson::SUCCESS && value;
}

Result<void> read_added(const dom::element& root, TokenizerDescription& file) {
  dom::element list;
  dom::array added;
  if (root["added_tokens"].get(list) != simdjson::SUCCESS || list.is_null()) return {};
  if (list.get(added) != simdjson::SUCCESS) return refuse_json("must be a list", "added_tokens");
  for (const dom::element token : added) {
    std::string_view content;
    dom::object fields;
    const std::string field = fmt::format("added_tokens[{}]", file.added_tokens.size());
    if (token.get(fields) == simdjson::SUCCESS) LATHE_TRY_VOID(check_keys(fields, field));
    if (token["content"].get(content) != simdjson::SUCCESS) return refuse_json("must have a \"content\"", field);
    LATHE_TRY(const std::int32_t id, checked_id(token["id"], content, field));
    LATHE_TRY(std::string text, checked_piece(content, field));
    file.added_tokens.push_back({.id = id,
                                 .content = std::move(text),
                                 .special = flag(token, "special"),
                                 .lstrip = flag(token, "lstrip"),
                                 .rstrip = flag(token, "rstrip"),
                                 .single_word = flag(token, "single_word"),
                                 .normalized = flag(token, "normalized")});
  }
  return {};
}

/// Requires: `parser` outlives the element.
Result<dom::element> parse_file(dom::parser& parser, const std::string& text, const std::string& name) {
  dom::element root;
  const auto error = parser.parse(text).get(root);
  if (error == simdjson::SUCCESS) return root;
  // simdjson does not say at which byte it stopped.
  const auto json = parse_json(text, name);
  return fail(ErrorCode::model_refused,
              json ? fmt::format("not valid JSON: {}", simdjson::error_message(error)) : json.error().message, name);
}

}  // namespace

Result<TokenizerDescription> read_tokenizer_json(const ModelFolder& folder, const std::string& name) {
  LATHE_TRY(const std::string text, folder.read_text(name, kMaxJsonBytes));
  dom::parser parser;
  dom::object fields;
  LATHE_TRY(const dom::element root, parse_file(parser, text, name));
  if (root.get(fields) != simdjson::SUCCESS)
    return fail(ErrorCode::model_refused, "the file must hold a JSON object", "tokenizer.json");
  LATHE_TRY_VOID(check_keys(fields, "the file"));
  TokenizerDescription file;
  LATHE_TRY_VOID(read_model(root, file));
  LATHE_TRY_VOID(read_added(root, file));
  LATHE_TRY(file.normalizer, component(root, "normalizer"));
  LATHE_TRY(file.pre_tokenizer, component(root, "pre_tokenizer"));
  LATHE_TRY(file.post_processor, component(root, "post_processor"));
  LATHE_TRY(file.decoder, component(root, "decoder"));
  return file;
}

Result<void> read_vocabulary_json(const ModelFolder& folder, const std::string& name, TokenizerDescription& description) {
  LATHE_TRY(const std::string text, folder.read_text(name, kMaxJsonBytes));
  dom::parser parser;
  LATHE_TRY(dom::element root, parse_file(parser, text, name));
  if (auto read = read_vocabulary(std::move(root), description); !read) {
    return fail(ErrorCode::model_refused, std::move(read.error().message), name);
  }
  return {};
}

}  // namespace lathe::engine
