// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/structural_tag.h"

#include <fmt/format.h>

#include <deque>
#include <map>

#include "engine/api/printable.h"
#include "engine/sample/grammar/ebnf.h"
#include "engine/sample/grammar/free_text.h"
#include "engine/sample/grammar/regex_rules.h"
#include "engine/sample/grammar/schema_rules.h"
#include "engine/sample/grammar/vocabulary.h"

namespace lathe::engine::grammar {
namespace {

constexpr int kMostFormats = 64;  // in one another

class TagReader {
 public:
  explicit TagReader(JsonRules& json) : json_(json), builder_(json.builder()) {}

  NodeId append(NodeId from, const OrderedJson& format, const std::string& path) {
    if (builder_.failed()) return from;
    if (++depth_ > kMostFormats) builder_.refuse(fmt::format("more than {} formats in one another", kMostFormats), path);
    const std::string type = text_of(format, "type", path);
    NodeId end = from;
    if (builder_.failed()) return from;
    if (type == "const_string") end = builder_.append(from, text_of(format, "value", path));
    else if (type == "json_schema") end = append_schema(from, format, "json_schema", path);
    else if (type == "regex")
      end = at_path(path + ".pattern",
                    [&] { return append_regex(builder_, from, text_of(format, "pattern", path), Spelling::plain); });
    else if (type == "grammar")
      end = at_path(path + ".grammar", [&] { return append_ebnf(builder_, from, text_of(format, "grammar", path)); });
    else if (type == "any_text") end = append_any(from, format, path);
    else if (type == "token") end = builder_.append(from, token_of(format.value("token", OrderedJson()), path + ".token"));
    else if (type == "optional") end = append_repeat(from, format, path, true, false);
    else if (type == "star") end = append_repeat(from, format, path, true, true);
    else if (type == "plus") end = append_repeat(from, format, path, false, true);
    else if (type == "sequence") end = append_sequence(from, list_of(format, "elements", path), path + ".elements");
    else if (type == "or") end = append_choice(from, list_of(format, "elements", path), path + ".elements");
    else if (type == "tag") end = append_tag(from, format, path);
    else if (type == "triggered_tags") end = append_triggered(from, format, path);
    else if (type == "tags_with_separator") end = append_separated(from, format, path);
    else
      builder_.refuse(
          fmt::format("the format \"{}\" is not supported: const_string, token, json_schema, regex, grammar, any_text, "
                      "sequence, or, optional, star, plus, tag, triggered_tags and tags_with_separator are",
                      printable(type, 60)),
          path + ".type");
    --depth_;
    return end;
  }

  /// The older form, as a format of the newer.
  static OrderedJson newer_form(const OrderedJson& tag) {
    OrderedJson tags = OrderedJson::array();
    for (const OrderedJson& one : tag.value("structures", OrderedJson::array())) {
      if (!one.is_object()) continue;
      const OrderedJson schema = one.contains("schema") ? one["schema"] : OrderedJson(true);
      tags.push_back({{"type", "tag"},
                      {"begin", one.value("begin", OrderedJson())},
                      {"content", {{"type", "json_schema"}, {"json_schema", schema}}},
                      {"end", one.value("end", OrderedJson())}});
    }
    return {{"type", "triggered_tags"}, {"triggers", tag.value("triggers", OrderedJson::array())}, {"tags", tags}};
  }

 private:
  std::string text_of(const OrderedJson& object, const char* name, const std::string& path) {
    if (object.is_object() && object.contains(name) && object[name].is_string()) return object[name].get<std::string>();
    builder_.refuse("must be a string", path + "." + name);
    return {};
  }

  const OrderedJson& list_of(const OrderedJson& object, const char* name, const std::string& path) {
    static const OrderedJson none = OrderedJson::array();
    if (object.contains(name) && object[name].is_array() && !object[name].empty()) return object[name];
    builder_.refuse("must be a list that is not empty", path + "." + name);
    return none;
  }

  static bool flag_of(const OrderedJson& object, const char* name) { return object.value(name, OrderedJson(false)) == true; }

  /// Gives an error of a part its path.
  template <class Append>
  NodeId at_path(const std::string& path, Append append) {
    GrammarBuilder& builder = builder_;
    const bool had_failed = builder.failed();
    const NodeId end = append();
    if (!had_failed && builder.failed()) builder.place_error(path);
    return end;
  }

  NodeId append_schema(NodeId from, const OrderedJson& format, const char* name, const std::string& path) {
    if (!format.contains(name)) builder_.refuse("is missing", path + "." + name);
    const std::string key = style_key(format, path);
    if (builder_.failed()) return from;
    // Equal schemas of one style are one rule.
    const auto [known, is_new] = schemas_.try_emplace(key + dump_json(format[name]), -1);
    if (!is_new) return builder_.append_rule(from, known->second);
    roots_.push_back(format[name]);
    return at_path(path + "." + name, [&] {
      known->second = SchemaRules(styled_.at(key), roots_.back()).compile();
      return builder_.append_rule(from, known->second);
    });
  }

  /// The bytes of one token. Only its id is known here, not the tokenizer.
  std::string token_of(const OrderedJson& id, const std::string& path) {
    const bool is_id = id.is_number_integer() && id >= 0 && id < (1 << 21);
    if (!is_id) builder_.refuse("must be the id of a token", path);
    return is_id ? bytes_of_token(id.get<std::int32_t>()) : std::string();
  }

  /// The bytes of a list of texts and ids of tokens.
  std::string bytes_of(const OrderedJson& format, const char* name, const std::string& path) {
    std::string bytes;
    for (const OrderedJson& part : format.value(name, OrderedJson::array()))
      bytes += part.is_string() ? part.get<std::string>() : token_of(part, path + "." + name);
    return bytes;
  }

  /// Makes the rules of a schema's style, which `styled_` has by the returned key.
  std::string style_key(const OrderedJson& format, const std::string& path) {
    const OrderedJson name = format.value("style", OrderedJson("json"));
    JsonStyle style;
    if (name == "python") {
      style.strings = JsonStyle::Strings::escaped_once;
    } else if (name == "text" || name == "quoted") {
      style = {JsonStyle::Strings::plain, bytes_of(format, "open", path), bytes_of(format, "close", path), name == "quoted",
               name == "text"};
      if (style.close.empty()) builder_.refuse("must be a list that is not empty", path + ".close");
    } else if (name != "json") {
      builder_.refuse("must be \"json\", \"python\", \"text\" or \"quoted\"", path + ".style");
    }
    std::string key = dump_json(name) + style.open + style.close;
    styled_.try_emplace(key, builder_, json_.blanks(), style);
    return key;
  }

  NodeId append_repeat(NodeId from, const OrderedJson& format, const std::string& path, bool may_be_none, bool may_repeat) {
    if (!format.contains("content")) builder_.refuse("is missing", path + ".content");
    if (builder_.failed()) return from;
    const NodeId start = builder_.add_node(), end = builder_.add_node();
    builder_.add_empty(from, start);
    const NodeId behind = append(start, format["content"], path + ".content");
    builder_.add_empty(behind, end);
    if (may_be_none) builder_.add_empty(start, end);
    if (may_repeat) builder_.add_empty(behind, start);
    return end;
  }

  NodeId append_any(NodeId from, const OrderedJson& format, const std::string& path) {
    if (format.contains("excludes")) {
      std::vector<std::string> excluded;
      for (const OrderedJson& one : list_of(format, "excludes", path)) {
        if (one.is_string()) excluded.push_back(one.get<std::string>());
        else builder_.refuse("must be a list of strings", path + ".excludes");
      }
      const FreeText text = add_free_text(builder_, excluded);
      if (builder_.failed()) return from;
      const NodeId end = builder_.add_node();
      builder_.add_empty(from, text.start);
      finish_at(text, end);
      return end;
    }
    const NodeId loop = builder_.add_node();
    builder_.add_empty(from, loop);
    builder_.append_to(loop, CodePointSet::all(), loop);
    return loop;
  }

  NodeId append_sequence(NodeId from, const OrderedJson& parts, const std::string& path) {
    for (std::size_t i = 0; i < parts.size(); ++i) from = append(from, parts[i], fmt::format("{}[{}]", path, i));
    return from;
  }

  NodeId append_choice(NodeId from, const OrderedJson& parts, const std::string& path) {
    const NodeId end = builder_.add_node();
    for (std::size_t i = 0; i < parts.size(); ++i)
      builder_.add_empty(append(from, parts[i], fmt::format("{}[{}]", path, i)), end);
    return end;
  }

  NodeId append_tag(NodeId from, const OrderedJson& tag, const std::string& path) {
    return append_tag_behind(builder_.append(from, text_of(tag, "begin", path)), tag, path);
  }

  /// Content and end of a tag. Free content goes on until the end.
  NodeId append_tag_behind(NodeId from, const OrderedJson& tag, const std::string& path) {
    if (!tag.is_object() || !tag.contains("content")) builder_.refuse("is missing", path + ".content");
    const std::string end = builder_.failed() ? std::string() : text_of(tag, "end", path);
    if (builder_.failed()) return from;
    const OrderedJson& content = tag["content"];
    const bool is_free = content.is_object() && content.value("type", OrderedJson()) == "any_text";
    if (!is_free || end.empty()) return builder_.append(append(from, content, path + ".content"), end);
    const FreeText text = add_free_text(builder_, {end});
    builder_.add_empty(from, text.start);
    return text.behind.front();
  }

  NodeId append_triggered(NodeId from, const OrderedJson& format, const std::string& path) {
    std::vector<std::string> triggers;
    for (const OrderedJson& one : list_of(format, "triggers", path)) {
      if (!one.is_string()) builder_.refuse("must be a list of strings", path + ".triggers");
      else triggers.push_back(one.get<std::string>());
    }
    const OrderedJson& tags = list_of(format, "tags", path);
    const NodeId end = builder_.add_node();
    const bool needs_one = flag_of(format, "at_least_one"), ends_with_first = flag_of(format, "stop_after_first");
    const FreeText before = add_free_text(builder_, triggers);
    if (builder_.failed()) return from;
    builder_.add_empty(from, before.start);
    if (!needs_one) finish_at(before, end);
    if (ends_with_first) {
      add_tags(before, triggers, tags, end, path);
      return end;
    }
    const FreeText after = needs_one ? add_free_text(builder_, triggers) : before;
    if (needs_one) finish_at(after, end);
    add_tags(before, triggers, tags, after.start, path);
    if (needs_one) add_tags(after, triggers, tags, after.start, path);
    return end;
  }

  void finish_at(const FreeText& text, NodeId end) {
    for (const NodeId place : text.places) builder_.add_empty(place, end);
  }

  void add_tags(const FreeText& text, const std::vector<std::string>& triggers, const OrderedJson& tags, NodeId next,
                const std::string& path) {
    for (std::size_t i = 0; i < tags.size() && !builder_.failed(); ++i) {
      const std::string where = fmt::format("{}.tags[{}]", path, i);
      const std::string begin = text_of(tags[i], "begin", where);
      bool is_triggered = false;
      for (std::size_t k = 0; k < triggers.size() && !builder_.failed(); ++k) {
        if (!begin.starts_with(triggers[k]) || is_triggered) continue;
        is_triggered = true;
        const NodeId behind = builder_.append(text.behind[k], std::string_view(begin).substr(triggers[k].size()));
        builder_.add_empty(append_tag_behind(behind, tags[i], where), next);
      }
      if (!is_triggered) builder_.refuse("none of the triggers begins it", where + ".begin");
    }
  }

  NodeId append_separated(NodeId from, const OrderedJson& format, const std::string& path) {
    const OrderedJson& tags = list_of(format, "tags", path);
    const std::string separator = text_of(format, "separator", path);
    const NodeId start = builder_.add_node(), end = builder_.add_node();
    builder_.add_empty(from, start);
    if (!flag_of(format, "at_least_one")) builder_.add_empty(from, end);
    const NodeId behind = append_choice(start, tags, path + ".tags");
    builder_.add_empty(behind, end);
    if (!flag_of(format, "stop_after_first")) builder_.add_empty(builder_.append(behind, separator), start);
    return end;
  }

  JsonRules& json_;
  GrammarBuilder& builder_;
  std::deque<OrderedJson> roots_;
  std::map<std::string, JsonRules> styled_;
  std::map<std::string, RuleId> schemas_;
  int depth_ = 0;
};

}  // namespace

NodeId append_structural_tag(JsonRules& json, NodeId from, const OrderedJson& tag) {
  GrammarBuilder& builder = json.builder();
  TagReader reader(json);
  if (!tag.is_object()) {
    builder.refuse("must be an object with \"format\", or with \"structures\" and \"triggers\"");
    return from;
  }
  if (tag.contains("format")) return reader.append(from, tag["format"], ".format");
  return reader.append(from, TagReader::newer_form(tag), "");
}

}  // namespace lathe::engine::grammar
