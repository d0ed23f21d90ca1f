// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/ebnf.h"

#include <algorithm>
#include <map>
#include <string>

#include "engine/base/utf8.h"
#include "engine/sample/grammar/regex_rules.h"
#include "engine/sample/grammar/text_cursor.h"

namespace lathe::engine::grammar {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

class EbnfReader {
 public:
  EbnfReader(GrammarBuilder& builder, std::string_view text) : builder_(builder), cursor_(text) {}

  NodeId append_root(NodeId from) {
    skip_blanks(true);
    while (!is_done() && !cursor_.at_end()) {
      read_rule();
      skip_blanks(true);
    }
    for (const auto& [name, use] : names_) {
      if (!use.is_defined && !is_done()) cursor_.refuse_at(use.position, "the rule \"" + name + "\" is not defined");
    }
    if (!is_done() && !names_.contains("root")) cursor_.refuse_at(0, "no rule is named \"root\"");
    if (cursor_.failed()) builder_.refuse(cursor_.error()->message);
    return builder_.failed() ? from : builder_.append_rule(from, names_.at("root").rule);
  }

 private:
  struct Name {
    RuleId rule = 0;
    std::size_t position = 0;
    bool is_defined = false;
  };

  bool is_done() const { return cursor_.failed() || builder_.failed(); }

  void skip_blanks(bool with_lines) {
    while (!cursor_.at_end()) {
      const char c = cursor_.peek();
      if (c == '#') {
        while (!cursor_.at_end() && cursor_.peek() != '\n') cursor_.skip();
      } else if (c == ' ' || c == '\t' || (with_lines && (c == '\n' || c == '\r'))) {
        cursor_.skip();
      } else {
        return;
      }
    }
  }

  std::string take_name() {
    std::string name;
    for (; is_name_character(cursor_.peek()); cursor_.skip()) name += cursor_.peek();
    return name;
  }

  Name& named(const std::string& name, std::size_t position) {
    const auto [found, is_new] = names_.try_emplace(name);
    if (is_new) found->second = {.rule = builder_.make_rule(), .position = position};
    return found->second;
  }

  void read_rule() {
    const std::size_t begin = cursor_.position();
    const std::string name = take_name();
    if (name.empty()) return cursor_.refuse("the name of a rule must be here");
    skip_blanks(false);
    if (!cursor_.take("::=")) {
      const bool is_lark = cursor_.peek() == ':' || cursor_.peek() == '=';
      return cursor_.refuse(is_lark
                                ? "::= must follow the name of a rule; grammars of Lark and others are not read, write EBNF"
                                : "::= must follow the name of a rule");
    }
    Name& rule = named(name, begin);
    if (rule.is_defined) return cursor_.refuse_at(begin, "the rule \"" + name + "\" is defined twice");
    rule.is_defined = true;
    const RuleId id = rule.rule;
    builder_.add_empty(choice(builder_.rule(id).start, 0), builder_.rule(id).final);
    if (!is_done() && !cursor_.at_end() && cursor_.peek() != '\n' && cursor_.peek() != '\r')
      cursor_.refuse("a line break must follow the end of a rule");
  }

  NodeId choice(NodeId from, int depth) {
    if (depth > builder_.limits().max_depth) {
      cursor_.refuse(fmt::format("more than {} groups in one another", builder_.limits().max_depth));
      return from;
    }
    const NodeId end = builder_.add_node();
    builder_.add_empty(sequence(from, depth), end);
    while (!is_done() && next_is_alternative(depth)) builder_.add_empty(sequence(from, depth), end);
    return end;
  }

  /// Reads "|"; it may be on the next line.
  bool next_is_alternative(int depth) {
    const std::size_t begin = cursor_.position();
    skip_blanks(true);
    if (cursor_.take('|')) return true;
    if (depth == 0) cursor_.go_to(begin);
    return false;
  }

  NodeId sequence(NodeId from, int depth) {
    skip_blanks(true);
    while (!is_done()) {
      const std::size_t begin = cursor_.position();
      const NodeId part = builder_.add_node();
      const NodeId end = atom(part, depth);
      if (end < 0) break;
      from = repeated(from, part, end, begin);
      skip_blanks(depth > 0);
    }
    return from;
  }

  /// Reads one part that begins at `from`; -1: the sequence ends here.
  NodeId atom(NodeId from, int depth) {
    const std::size_t begin = cursor_.position();
    const char c = cursor_.peek();
    if (c == '"') return literal(from);
    if (c == '[') return character_class(from);
    if (c == '.') return cursor_.skip(), builder_.append(from, CodePointSet::all());
    if (cursor_.take('(')) {
      const NodeId end = choice(from, depth + 1);
      skip_blanks(true);
      if (!is_done() && !cursor_.take(')')) cursor_.refuse_at(begin, "this ( has no )");
      return end;
    }
    if (c == '<' || c == '!') cursor_.refuse("tokens in a grammar are not supported; write the text of the token");
    if (!is_name_character(c)) return at_end_of_sequence(depth);
    const std::string name = take_name();
    return builder_.append_rule(from, named(name, begin).rule);
  }

  NodeId at_end_of_sequence(int depth) {
    const char c = cursor_.peek();
    const bool is_end = cursor_.at_end() || c == '|' || (c == ')' && depth > 0) || (depth == 0 && (c == '\n' || c == '\r'));
    if (!is_end && !cursor_.failed()) {
      cursor_.refuse(c == ')' ? "unmatched )" : fmt::format("\"{}\" cannot be here", printable_excerpt({&c, 1})));
    }
    return -1;
  }

  NodeId literal(NodeId from) {
    const std::size_t begin = cursor_.position();
    cursor_.skip();
    while (!is_done() && !cursor_.take('"')) {
      if (cursor_.at_end() || cursor_.peek() == '\n') {
        cursor_.refuse_at(begin, "this string has no end");
        break;
      }
      const char32_t c = character();
      from = builder_.append(from, CodePointSet{{c, c}});
    }
    return from;
  }

  char32_t character() {
    const std::size_t begin = cursor_.position();
    const char32_t c = cursor_.take_character();
    if (c != '\\') return c;
    const char escaped = cursor_.peek();
    cursor_.skip();
    switch (escaped) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case 'b': return '\b';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'x': return cursor_.take_hex(2);
      case 'u': return cursor_.take_hex(4);
      case 'U': return cursor_.take_hex(8);
      case '\\':
      case '"':
      case '\'':
      case '[':
      case ']':
      case '-':
      case '^':
      case '/':
      case '.': return static_cast<char32_t>(escaped);
      default: cursor_.refuse_at(begin, "this escape is not known"); return c;
    }
  }

  NodeId character_class(NodeId from) {
    const std::size_t begin = cursor_.position();
    cursor_.skip();
    const bool is_negated = cursor_.take('^');
    CodePointSet set;
    while (!is_done() && !cursor_.take(']')) {
      if (cursor_.at_end()) {
        cursor_.refuse_at(begin, "this [ has no ]");
        break;
      }
      add_class_part(set, is_negated);
    }
    return builder_.append(from, is_negated ? set.complement() : set);
  }

  void add_class_part(CodePointSet& set, bool is_wide) {
    const std::string_view letters = "dDwWsS";
    if (cursor_.peek() == '\\' && letters.find(cursor_.peek(1)) != letters.npos && cursor_.peek(1) != '\0') {
      set.add(regex_class(cursor_.peek(1), is_wide));
      return cursor_.skip(2);
    }
    const std::size_t begin = cursor_.position();
    const char32_t first = character();
    char32_t last = first;
    if (cursor_.peek() == '-' && cursor_.peek(1) != ']') {
      cursor_.skip();
      last = character();
    }
    if (first > last) cursor_.refuse_at(begin, "the range ends before it begins");
    set.add(first, last);
  }

  /// Reads a repeat behind the part from `part` to `end`, and joins it to `from`.
  NodeId repeated(NodeId from, NodeId part, NodeId end, std::size_t begin) {
    std::int32_t min = 1, max = 1;
    if (cursor_.take('*')) min = 0, max = kUnbounded;
    else if (cursor_.take('+')) max = kUnbounded;
    else if (cursor_.take('?')) min = 0;
    else if (cursor_.peek() == '{') take_counts(min, max);
    if (max >= 0 && min > max)
      cursor_.refuse_at(begin, fmt::format("at least {} and at most {} contradict each other", min, max));
    if (is_done()) return from;
    if (min == 1 && max == 1) {
      builder_.add_empty(from, part);
      return end;
    }
    const RuleId body = builder_.make_rule();
    builder_.add_empty(builder_.rule(body).start, part);
    builder_.add_empty(end, builder_.rule(body).final);
    return builder_.append_repeat(from, body, min, max);
  }

  void take_counts(std::int32_t& min, std::int32_t& max) {
    const std::size_t begin = cursor_.position();
    cursor_.skip();
    skip_blanks(false);
    const auto least = cursor_.take_number();
    skip_blanks(false);
    const bool has_comma = cursor_.take(',');
    skip_blanks(false);
    const auto most = has_comma ? cursor_.take_number() : least;
    skip_blanks(false);
    if ((!least && !most) || !cursor_.take('}'))
      return cursor_.refuse_at(begin, "a count is written {2}, {2,}, {,3} or {2,3}");
    min = least.value_or(0);
    max = most.value_or(kUnbounded);
  }

  GrammarBuilder& builder_;
  TextCursor cursor_;
  std::map<std::string, Name> names_;
};

}  // namespace

NodeId append_ebnf(GrammarBuilder& builder, NodeId from, std::string_view text) {
  return EbnfReader(builder, text).append_root(from);
}

}  // namespace lathe::engine::grammar
