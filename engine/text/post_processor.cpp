// SPDX-License-Identifier: Apache-2.0
#include "engine/text/post_processor.h"

#include <array>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/json_field.h"

namespace lathe::engine {
namespace {

using IdOf = std::function<std::optional<std::int32_t>(std::string_view)>;

Result<std::int32_t> known_id(const std::string& name, const IdOf& id_of, std::string_view where) {
  if (const auto id = id_of(name)) return *id;
  return fail(ErrorCode::model_refused, fmt::format("\"{}\" is not in the vocabulary", printable_excerpt(name)),
              fmt::format("tokenizer.json: {}", where));
}

/// Adds the ids of a template's special token. Its entry in "special_tokens" has them, and they need no name in the
/// vocabulary; a template without an entry means the token of that name.
Result<void> add_special(const Json& description, const std::string& name, const IdOf& id_of, std::string_view where,
                         std::vector<std::int32_t>& out) {
  constexpr std::size_t kMaxIds = 64;
  const auto all = description.find("special_tokens");
  const auto entry = all != description.end() && all->is_object() ? all->find(name) : Json::const_iterator();
  if (all == description.end() || !all->is_object() || entry == all->end()) {
    LATHE_TRY(const std::int32_t id, known_id(name, id_of, where));
    out.push_back(id);
    return {};
  }
  const auto ids = entry->find("ids");
  if (ids == entry->end() || !ids->is_array() || ids->size() > kMaxIds) {
    return fail(ErrorCode::model_refused,
                fmt::format("\"ids\" of \"{}\" must be a list of at most {} ids", printable_excerpt(name), kMaxIds),
                fmt::format("tokenizer.json: {}", where));
  }
  for (const Json& id : *ids) {
    const auto number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
    if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) {
      return fail(ErrorCode::model_refused, fmt::format("an id of \"{}\" is no token id", printable_excerpt(name)),
                  fmt::format("tokenizer.json: {}", where));
    }
    out.push_back(static_cast<std::int32_t>(number));
  }
  return {};
}

/// Reads a template: a list of {"SpecialToken": {"id": text}} and one {"Sequence": ...}, which represents the text.
Result<void> add_template(const Json& description, const IdOf& id_of, Surroundings& out) {
  constexpr std::string_view kWhere = "post_processor.TemplateProcessing";
  const auto single = description.find("single");
  if (single == description.end() || !single->is_array()) {
    return fail(ErrorCode::model_refused, "\"single\" must be a list", fmt::format("tokenizer.json: {}", kWhere));
  }
  LATHE_TRY_VOID(check_parts(*single, kWhere));
  bool text_seen = false;
  for (const Json& item : *single) {
    if (item.is_object() && item.contains("Sequence")) {
      text_seen = true;
    } else if (item.is_object() && item.contains("SpecialToken")) {
      LATHE_TRY(const std::string name, text_field(item["SpecialToken"], "id", kWhere));
      LATHE_TRY_VOID(add_special(description, name, id_of, kWhere, text_seen ? out.after : out.before));
    } else {
      return fail(ErrorCode::model_refused, "an item must be a SpecialToken or a Sequence",
                  fmt::format("tokenizer.json: {}", kWhere));
    }
  }
  return {};
}

/// ByteLevel changes only offsets, which are not kept here.
Result<void> add_byte_level(const Json&, const IdOf&, Surroundings&) { return {}; }

/// Adds "cls" and "sep", which are pairs of text and id.
Result<void> add_cls_sep(const Json& description, const IdOf& id_of, Surroundings& out) {
  constexpr std::string_view kWhere = "post_processor";
  for (const auto& [key, ids] : {std::pair{"cls", &out.before}, std::pair{"sep", &out.after}}) {
    const auto pair = description.find(key);
    if (pair == description.end() || !pair->is_array() || pair->size() != 2 || !pair->front().is_string()) {
      return fail(ErrorCode::model_refused, fmt::format("\"{}\" must be a pair of text and id", key),
                  "tokenizer.json: post_processor");
    }
    LATHE_TRY(const std::int32_t id, known_id(pair->front().get<std::string>(), id_of, kWhere));
    ids->push_back(id);
  }
  return {};
}

Result<void> add_post_processor(const Json& description, const IdOf& id_of, Surroundings& out);

Result<void> add_sequence(const Json& description, const IdOf& id_of, Surroundings& out) {
  const auto list = description.find("processors");
  if (list == description.end() || !list->is_array()) {
    return fail(ErrorCode::model_refused, "\"processors\" must be a list", "tokenizer.json: post_processor.Sequence");
  }
  LATHE_TRY_VOID(check_parts(*list, "post_processor.Sequence"));
  for (const Json& item : *list) LATHE_TRY_VOID(add_post_processor(item, id_of, out));
  return {};
}

struct PostProcessorKind {
  std::string_view type;
  Result<void> (*add)(const Json& description, const IdOf& id_of, Surroundings& out);
};

// THE TABLE of post-processors, under tokenizer.json's names.
constexpr std::array kPostProcessorKinds = {
    PostProcessorKind{"TemplateProcessing", add_template}, PostProcessorKind{"ByteLevel", add_byte_level},
    PostProcessorKind{"BertProcessing", add_cls_sep},      PostProcessorKind{"RobertaProcessing", add_cls_sep},
    PostProcessorKind{"Sequence", add_sequence},
};

Result<void> add_post_processor(const Json& description, const IdOf& id_of, Surroundings& out) {
  LATHE_TRY(const std::string type, component_type(description, "post_processor"));
  for (const PostProcessorKind& kind : kPostProcessorKinds) {
    if (kind.type == type) return kind.add(description, id_of, out);
  }
  return unknown_component(type, "post_processor");
}

}  // namespace

Result<Surroundings> read_post_processor(const Json& description, const IdOf& id_of) {
  Surroundings out;
  if (!description.is_null()) LATHE_TRY_VOID(add_post_processor(description, id_of, out));
  return out;
}

}  // namespace lathe::engine
