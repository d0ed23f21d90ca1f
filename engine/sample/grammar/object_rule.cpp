// SPDX-License-Identifier: Apache-2.0
// Objects of a schema: properties in its order, then others where it lets them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/api/printable.h"
#include "engine/api/utf8.h"
#include "engine/sample/grammar/character_spelling.h"
#include "engine/sample/grammar/regex_rules.h"
#include "engine/sample/grammar/schema_rules.h"

namespace lathe::engine::grammar {
namespace {

struct Member {
  std::string name;
  RuleId rule = 0;  ///< name, colon and value
  bool is_required = false;
};

/// The members of an object and how many there are.
struct ObjectMembers {
  std::vector<Member> named;
  RuleId other = -1;  ///< a member of any other name; -1: there are none
  std::int32_t min = 0, max = kUnbounded;
};

/// Characters of names that are not in the schema. They have one spelling each, so that no escape spells a name that is.
const CodePointSet& name_characters() {
  static const CodePointSet set = CodePointSet{{0, 0x1F}, {kFirstSurrogate, kLastSurrogate}}.complement();
  return set;
}

/// Characters of such names where they have no quotes.
const CodePointSet& bare_characters() {
  static const CodePointSet set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}

/// Appends names, with their quotes, that are none of `taken`: a trie of these that is left before one of them ends.
NodeId append_other_name(const JsonRules& json, NodeId from, const std::vector<std::string>& taken) {
  GrammarBuilder& builder = json.builder();
  const bool is_bare = json.style().bare_names;
  const CodePointSet& characters = is_bare ? bare_characters() : name_characters();
  struct Branch {
    std::map<char32_t, std::size_t> next;
    NodeId node = 0;
    bool is_taken = false;
  };
  std::vector<Branch> trie(1);
  trie[0].node = is_bare ? from : builder.append(from, json.style().open);
  trie[0].is_taken = is_bare;
  const NodeId rest = builder.add_node(), end = builder.add_node();
  const auto end_at = [&](NodeId node) {
    builder.add_empty(is_bare ? node : builder.append(node, json.style().close), end);
  };
  for (const std::string& name : taken) {
    const bool is_quoted = is_bare && name.find_first_not_of(kPlainNameCharacters) != name.npos;
    if (is_quoted) continue;
    std::size_t at = 0;
    for (std::size_t i = 0; i < name.size() && !builder.failed();) {
      const Utf8Step step = read_utf8(name, i);
      i += step.size;
      const auto [found, is_new] = trie[at].next.try_emplace(step.code, trie.size());
      at = found->second;
      if (is_new) trie.push_back({.next = {}, .node = builder.add_node()});
    }
    trie[at].is_taken = true;
  }
  for (const Branch& branch : trie) {
    CodePointSet followed;
    for (const auto& [code, next] : branch.next) {
      followed.add(code, code);
      append_characters(builder, branch.node, {{code, code}}, trie[next].node, Spelling::json);
    }
    append_characters(builder, branch.node, characters.without(followed), rest, Spelling::json);
    if (!branch.is_taken) end_at(branch.node);
  }
  append_characters(builder, rest, characters, rest, Spelling::json);
  end_at(rest);
  return end;
}

/// Reads the members of one schema.
class MemberReader {
 public:
  MemberReader(SchemaRules& rules, const OrderedJson& schema, const std::string& path)
      : rules_(rules), schema_(schema), path_(path) {}

  ObjectMembers read() {
    ObjectMembers out{.named = {},
                      .min = rules_.count(schema_, "minProperties", 0, path_),
                      .max = rules_.count(schema_, "maxProperties", kUnbounded, path_)};
    read_required();
    read_named(out);
    check_unevaluated();
    if (!rules_.builder().failed()) read_other(out);
    return out;
  }

 private:
  const OrderedJson* object_of(const char* keyword) {
    const OrderedJson* found = SchemaRules::find(schema_, keyword);
    if (found != nullptr && !found->is_object()) rules_.refuse("must be an object", path_ + "." + keyword);
    return rules_.builder().failed() ? nullptr : found;
  }

  void read_required() {
    const OrderedJson* required = SchemaRules::find(schema_, "required");
    if (required == nullptr || required->is_boolean()) return;  // a flag in draft 3, which says nothing here
    for (const OrderedJson& name : required->is_array() ? *required : OrderedJson::array({nullptr})) {
      if (!name.is_string()) return rules_.refuse("must be a list of names", path_ + ".required");
      required_.insert(name.get<std::string>());
    }
  }

  void read_named(ObjectMembers& out) {
    const OrderedJson* properties = object_of("properties");
    if (properties != nullptr) {
      for (const auto& [name, schema] : properties->items())
        add_named(out, name, schema, path_ + ".properties." + printable(name, 60));
    }
    for (const std::string& name : required_) {
      if (properties != nullptr && properties->contains(name)) continue;
      const OrderedJson* additional = SchemaRules::find(schema_, "additionalProperties");
      add_named(out, name, additional == nullptr ? OrderedJson(true) : *additional, path_ + ".additionalProperties");
    }
  }

  void add_named(ObjectMembers& out, const std::string& name, const OrderedJson& schema, const std::string& path) {
    GrammarBuilder& builder = rules_.builder();
    if (builder.failed()) return;
    check_patterns(name);
    const RuleId value = rules_.rule_of(schema, path);
    if (builder.failed()) return;
    const RuleId rule = builder.make_rule();
    const NodeId behind = rules_.json().append_name(builder.rule(rule).start, name);
    builder.add_rule(rules_.json().append_colon(behind), value, builder.rule(rule).final);
    out.named.push_back({.name = name, .rule = rule, .is_required = required_.contains(name)});
  }

  /// A name that a pattern matches would have to hold to two schemas.
  void check_patterns(const std::string& name) {
    const OrderedJson* patterns = object_of("patternProperties");
    if (patterns == nullptr) return;
    for (const auto& [pattern, schema] : patterns->items()) {
      const auto matches = pattern_matches(pattern, name);
      const std::string where = path_ + ".patternProperties";
      if (!matches) return rules_.refuse(matches.error().message, where);
      if (*matches) {
        return rules_.refuse(
            fmt::format("the pattern \"{}\" matches the property \"{}\", which is not enforced; let the pattern "
                        "leave it out",
                        printable(pattern, 60), printable(name, 60)),
            where);
      }
    }
  }

  void check_unevaluated() {
    const OrderedJson* unevaluated = SchemaRules::find(schema_, "unevaluatedProperties");
    if (unevaluated != nullptr && !unevaluated->is_boolean())
      rules_.refuse("only true and false are enforced", path_ + ".unevaluatedProperties");
  }

  void read_other(ObjectMembers& out) {
    GrammarBuilder& builder = rules_.builder();
    const OrderedJson* patterns = object_of("patternProperties");
    const OrderedJson* additional = SchemaRules::find(schema_, "additionalProperties");
    const bool has_patterns = patterns != nullptr && !patterns->empty();
    const bool is_closed =
        additional == nullptr ? (!out.named.empty() || has_patterns || says_nothing_else()) : *additional == false;
    if (has_patterns && !is_closed)
      return rules_.refuse("additionalProperties next to patternProperties is not enforced; set it to false",
                           path_ + ".additionalProperties");
    if (is_closed && !has_patterns) return;
    const RuleId value = has_patterns            ? pattern_value(*patterns)
                         : additional == nullptr ? rules_.json().value()
                                                 : rules_.rule_of(*additional, path_ + ".additionalProperties");
    if (builder.failed()) return;
    const RuleId rule = builder.make_rule();
    const NodeId name = has_patterns ? append_pattern_name(builder.rule(rule).start, patterns->begin().key())
                                     : append_free_name(out, builder.rule(rule).start);
    builder.add_rule(rules_.json().append_colon(name), value, builder.rule(rule).final);
    out.other = rule;
  }

  /// An object of which only `properties: {}` is said is empty, as one with properties has no others.
  bool says_nothing_else() const { return schema_.contains("properties"); }

  RuleId pattern_value(const OrderedJson& patterns) {
    if (patterns.size() > 1) {
      rules_.refuse("more than one pattern is not enforced: a name may match several", path_ + ".patternProperties");
      return 0;
    }
    return rules_.rule_of(patterns.front(), path_ + ".patternProperties." + printable(patterns.begin().key(), 60));
  }

  NodeId append_pattern_name(NodeId from, const std::string& pattern) {
    GrammarBuilder& builder = rules_.builder();
    if (schema_.contains("propertyNames"))
      rules_.refuse("propertyNames next to patternProperties is not enforced", path_ + ".propertyNames");
    const JsonRules& json = rules_.json();
    const NodeId inside = builder.append(from, json.style().open);
    return builder.append(append_pattern(builder, inside, pattern, {}, json.spelling()), json.style().close);
  }

  NodeId append_free_name(const ObjectMembers& out, NodeId from) {
    const OrderedJson* names = SchemaRules::find(schema_, "propertyNames");
    if (names != nullptr && *names != true) {
      if (!out.named.empty()) rules_.refuse("propertyNames next to properties is not enforced", path_ + ".propertyNames");
      OrderedJson schema = *names;
      if (schema.is_object() && !schema.contains("type") && !schema.contains("$ref")) schema["type"] = "string";
      return rules_.builder().append_rule(from, rules_.rule_of(schema, path_ + ".propertyNames"));
    }
    std::vector<std::string> taken;
    for (const Member& member : out.named) taken.push_back(member.name);
    return append_other_name(rules_.json(), from, taken);
  }

  SchemaRules& rules_;
  const OrderedJson& schema_;
  const std::string& path_;
  std::set<std::string> required_;
};

/// Appends the members between the brackets. A node knows the next named member and how many there were, as far as that
/// matters: for the comma, and for the bounds.
void append_members(SchemaRules& rules, RuleId rule, const ObjectMembers& members) {
  GrammarBuilder& builder = rules.builder();
  JsonRules& json = rules.json();
  const std::int32_t enough = members.max >= 0 ? members.max : std::max(members.min, 1);
  const auto n_named = static_cast<std::int32_t>(members.named.size());
  if (members.max < 0 ? members.min > n_named && members.other < 0 : members.min > members.max) return;  // without any text
  const NodeId open = json.append_open(builder.rule(rule).start, '{'), end = builder.add_node();
  builder.add_empty(json.append_close(end, '}'), builder.rule(rule).final);
  std::map<std::pair<std::int32_t, std::int32_t>, NodeId> nodes{{{0, 0}, open}};
  const auto node_of = [&](std::int32_t next, std::int32_t n) {
    const auto [found, is_new] = nodes.try_emplace({next, n}, 0);
    if (is_new) found->second = builder.add_node();
    return found->second;
  };
  const auto add_member = [&](NodeId from, std::int32_t n, RuleId member, NodeId to) {
    builder.add_rule(n == 0 ? from : json.append_comma(from), member, to);
  };
  for (std::int32_t next = 0; next <= n_named && !builder.failed(); ++next) {
    for (std::int32_t n = 0;
         n <= std::min(enough, members.other >= 0 && next == n_named ? enough : next) && !builder.failed(); ++n) {
      if (!nodes.contains({next, n})) continue;
      const NodeId here = nodes.at({next, n});
      const bool may_add = members.max < 0 || n < members.max;
      const std::int32_t after = std::min(n + 1, enough);
      if (next < n_named) {
        const Member& member = members.named[static_cast<std::size_t>(next)];
        if (may_add) add_member(here, n, member.rule, node_of(next + 1, after));
        if (!member.is_required) builder.add_empty(here, node_of(next + 1, n));
        continue;
      }
      if (n >= members.min && n > 0) builder.add_empty(here, end);
      if (n >= members.min && n == 0) builder.add_bytes(here, '}', '}', builder.rule(rule).final);
      if (members.other >= 0 && may_add) add_member(here, n, members.other, node_of(next, after));
    }
  }
}

}  // namespace

RuleId object_rule(SchemaRules& rules, const OrderedJson& schema, const std::string& path) {
  const ObjectMembers members = MemberReader(rules, schema, path).read();
  if (rules.builder().failed()) return 0;
  const bool is_free = members.named.empty() && members.min == 0 && members.max < 0 && members.other >= 0 &&
                       !schema.contains("additionalProperties") && !schema.contains("propertyNames") &&
                       !schema.contains("patternProperties");
  if (is_free) return rules.json().object();
  const RuleId rule = rules.builder().make_rule();
  append_members(rules, rule, members);
  return rule;
}

}  // namespace lathe::engine::grammar
