// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/regex_syntax.h"

#include <algorithm>

#include "engine/sample/grammar/grammar_builder.h"
#include "engine/sample/grammar/text_cursor.h"
#include "engine/sample/grammar/unicode_set.h"

namespace lathe::engine::grammar {
namespace {

using Kind = RegexNode::Kind;

/// Characters that end a line for ".": what ECMA-262 has, of which Python's re has one.
const CodePointSet& line_ends() {
  static const CodePointSet set{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return set;
}

class RegexParser {
 public:
  RegexParser(std::string_view pattern, int max_depth) : cursor_(pattern), max_depth_(max_depth) {}

  Result<RegexTree> parse() {
    tree_.root = choice(0);
    if (!cursor_.failed() && !cursor_.at_end()) cursor_.refuse("unmatched )");
    if (cursor_.failed()) return tl::unexpected(*cursor_.error());
    return std::move(tree_);
  }

 private:
  std::int32_t add(RegexNode node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::int32_t>(tree_.nodes.size() - 1);
  }
  std::int32_t add_set(CodePointSet set) { return add({.kind = Kind::set, .set = std::move(set)}); }

  std::int32_t choice(int depth) {
    if (depth > max_depth_) {
      cursor_.refuse(fmt::format("more than {} groups in one another", max_depth_));
      return add({});
    }
    std::vector<std::int32_t> parts{sequence(depth)};
    while (!cursor_.failed() && cursor_.take('|')) parts.push_back(sequence(depth));
    return parts.size() == 1 ? parts.front() : add({.kind = Kind::choice, .parts = std::move(parts)});
  }

  std::int32_t sequence(int depth) {
    std::vector<std::int32_t> parts;
    while (!cursor_.failed() && !cursor_.at_end() && cursor_.peek() != '|' && cursor_.peek() != ')')
      parts.push_back(repeated(atom(depth)));
    return add({.kind = Kind::sequence, .parts = std::move(parts)});
  }

  std::int32_t repeated(std::int32_t part) {
    if (cursor_.failed()) return part;
    const std::size_t begin = cursor_.position();
    std::int32_t min = 1, max = 1;
    if (cursor_.take('*')) min = 0, max = kUnbounded;
    else if (cursor_.take('+')) max = kUnbounded;
    else if (cursor_.take('?')) min = 0;
    else if (cursor_.peek() == '{' && !take_counts(min, max)) return part;
    if (cursor_.position() == begin) return part;
    const Kind kind = tree_.node(part).kind;
    if (kind == Kind::text_start || kind == Kind::text_end) cursor_.refuse_at(begin, "an anchor cannot be repeated");
    if (cursor_.peek() == '+') cursor_.refuse("possessive repeats are not supported");
    cursor_.take('?');  // the same texts, whichever is tried first
    if (cursor_.peek() == '*' || cursor_.peek() == '+' || cursor_.peek() == '?') cursor_.refuse("nothing to repeat");
    return add({.kind = Kind::repeat, .parts = {part}, .min = min, .max = max});
  }

  /// Reads {m}, {m,}, {,n} or {m,n}; false: the brace is none of them, and stays.
  bool take_counts(std::int32_t& min, std::int32_t& max) {
    const std::size_t begin = cursor_.position();
    cursor_.skip();
    const auto least = cursor_.take_number();
    const bool has_comma = cursor_.take(',');
    const auto most = has_comma ? cursor_.take_number() : least;
    if ((!least && !most) || !cursor_.take('}')) {
      cursor_.go_to(begin);
      return false;
    }
    min = least.value_or(0);
    max = most.value_or(kUnbounded);
    if (max >= 0 && min > max)
      cursor_.refuse_at(begin, fmt::format("at least {} and at most {} contradict each other", min, max));
    return true;
  }

  std::int32_t atom(int depth) {
    const std::size_t begin = cursor_.position();
    const char32_t c = cursor_.take_character();
    switch (c) {
      case '(': return group(begin, depth);
      case '[': return add_set(bracket_class(begin));
      case '.': return add_set(line_ends().complement());
      case '^': return add({.kind = Kind::text_start});
      case '$': return add({.kind = Kind::text_end});
      case '\\': return escape(begin);
      case '*':
      case '+':
      case '?': cursor_.refuse_at(begin, "nothing to repeat"); return add({});
      default: return add_set({{c, c}});
    }
  }

  std::int32_t group(std::size_t begin, int depth) {
    if (cursor_.take('?') && !take_group_kind(begin)) return add({});
    const std::int32_t inside = choice(depth + 1);
    if (!cursor_.failed() && !cursor_.take(')')) cursor_.refuse_at(begin, "this ( has no )");
    return inside;
  }

  /// Reads ":", or a group's name; false: refused.
  bool take_group_kind(std::size_t begin) {
    if (cursor_.take(':')) return true;
    const bool is_behind = cursor_.rest().starts_with("<=") || cursor_.rest().starts_with("<!");
    if (is_behind || cursor_.peek() == '=' || cursor_.peek() == '!') {
      cursor_.refuse_at(begin, "lookahead and lookbehind are not supported");
      return false;
    }
    if (cursor_.take("P<") || cursor_.take('<')) {
      while (!cursor_.at_end() && cursor_.peek() != '>') cursor_.skip();
      if (cursor_.take('>')) return true;
      cursor_.refuse_at(begin, "the group's name has no >");
      return false;
    }
    cursor_.refuse_at(begin, fmt::format("groups of the kind (?{} are not supported", cursor_.peek()));
    return false;
  }

  std::int32_t escape(std::size_t begin) {
    if (cursor_.at_end()) {
      cursor_.refuse_at(begin, "a \\ at the end escapes nothing");
      return add({});
    }
    const char c = cursor_.peek();
    if (c == 'A') return cursor_.skip(), add({.kind = Kind::text_start});
    if (c == 'Z' || c == 'z') return cursor_.skip(), add({.kind = Kind::text_end});
    if (c == 'b' || c == 'B') cursor_.refuse_at(begin, fmt::format("borders of words (\\{}) are not supported", c));
    if ((c >= '1' && c <= '9') || c == 'k') cursor_.refuse_at(begin, "references to groups are not supported");
    return cursor_.failed() ? add({}) : add_set(escaped_set(begin, false));
  }

  /// The set of an escape behind its backslash, in a class or outside. `is_wide`: the class is negated.
  CodePointSet escaped_set(std::size_t begin, bool is_wide) {
    const char32_t c = cursor_.take_character();
    const auto one = [](char32_t value) { return CodePointSet{{value, value}}; };
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 's':
      case 'S': return regex_class(static_cast<char>(c), is_wide);
      case 'n': return one('\n');
      case 't': return one('\t');
      case 'r': return one('\r');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case 'b': return one('\b');
      case '0': return one(0);
      case 'x': return one(cursor_.take_hex(2));
      case 'u': return one(unicode_escape());
      case 'p':
      case 'P': return property(begin, c == 'P');
      case 'c': {
        const char letter = cursor_.peek();
        if ((letter | 0x20) < 'a' || (letter | 0x20) > 'z') cursor_.refuse("a letter must follow \\c");
        cursor_.skip();
        return one(static_cast<char32_t>(letter & 0x1F));
      }
      default: break;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9'))
      cursor_.refuse_at(begin, fmt::format("the escape \\{} is not known", static_cast<char>(c)));
    return one(c);
  }

  char32_t unicode_escape() {
    if (cursor_.take('{')) {
      int n = 0;
      while (n < 6 && cursor_.peek(static_cast<std::size_t>(n)) != '}' && cursor_.peek(static_cast<std::size_t>(n)) != '\0')
        ++n;
      const char32_t value = cursor_.take_hex(n == 0 ? 1 : n);
      if (!cursor_.take('}')) cursor_.refuse("\\u{ has no }");
      return value;
    }
    const char32_t first = cursor_.take_hex(4);
    if (first < kFirstSurrogate || first > kLastSurrogate) return first;
    if (first >= 0xDC00 || !cursor_.take("\\u")) {
      cursor_.refuse("half a surrogate pair is no character");
      return first;
    }
    const char32_t second = cursor_.take_hex(4);
    if (second < 0xDC00 || second > kLastSurrogate) cursor_.refuse("half a surrogate pair is no character");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  CodePointSet property(std::size_t begin, bool is_negated) {
    std::string name(1, cursor_.peek());
    if (cursor_.take('{')) {
      name.clear();
      for (; !cursor_.at_end() && cursor_.peek() != '}'; cursor_.skip()) name += cursor_.peek();
      cursor_.take('}');
    } else {
      cursor_.skip();
    }
    const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '=';
    });
    auto set = is_plain && !name.empty() ? unicode_set("[\\p{" + name + "}]") : std::nullopt;
    if (!set) {
      cursor_.refuse_at(begin, "no such property of characters");
      return {};
    }
    return is_negated ? set->complement() : *set;
  }

  CodePointSet bracket_class(std::size_t begin) {
    const bool is_negated = cursor_.take('^');
    CodePointSet set;
    for (bool is_first = true; !cursor_.failed(); is_first = false) {
      if (cursor_.at_end()) {
        cursor_.refuse_at(begin, "this [ has no ]");
        break;
      }
      if (!is_first && cursor_.take(']')) break;
      if (is_first && cursor_.take(']')) {
        // "[]" is the empty class of ECMA-262, and "[]a]" begins with a bracket in Python: neither is meant often.
        cursor_.refuse_at(begin, "an empty class; write \\] for a bracket in a class");
        break;
      }
      add_class_part(set, is_negated);
    }
    return is_negated ? set.complement() : set;
  }

  void add_class_part(CodePointSet& set, bool is_wide) {
    const std::size_t begin = cursor_.position();
    const CodePointSet first = class_atom(is_wide);
    if (cursor_.peek() != '-' || cursor_.peek(1) == ']' || cursor_.peek(1) == '\0') return set.add(first);
    cursor_.skip();
    const CodePointSet last = class_atom(is_wide);
    const auto is_one = [](const CodePointSet& part) {
      return part.ranges().size() == 1 && part.ranges()[0].first == part.ranges()[0].last;
    };
    if (cursor_.failed()) return;
    if (!is_one(first) || !is_one(last)) return cursor_.refuse_at(begin, "a range needs a character on both sides");
    const char32_t from = first.ranges()[0].first, to = last.ranges()[0].first;
    if (from > to) return cursor_.refuse_at(begin, "the range ends before it begins");
    set.add(from, to);
  }

  CodePointSet class_atom(bool is_wide) {
    const std::size_t begin = cursor_.position();
    const char32_t c = cursor_.take_character();
    if (c != '\\') return {{c, c}};
    if (cursor_.at_end()) {
      cursor_.refuse_at(begin, "a \\ at the end escapes nothing");
      return {};
    }
    return escaped_set(begin, is_wide);
  }

  TextCursor cursor_;
  const int max_depth_;
  RegexTree tree_;
};

}  // namespace

Result<RegexTree> parse_regex(std::string_view pattern, int max_depth) { return RegexParser(pattern, max_depth).parse(); }

}  // namespace lathe::engine::grammar
