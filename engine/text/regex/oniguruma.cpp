// SPDX-License-Identifier: Apache-2.0
#include "engine/text/regex/oniguruma.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/text/regex/character_sets.h"

namespace lathe::engine {
namespace {

constexpr int kMaxClassDepth = 32;

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

std::string escaped(std::string_view character) {
  const char c = character[0];
  const bool plain = character.size() > 1 || is_ascii_letter(c) || is_ascii_digit(c) || static_cast<unsigned char>(c) <= ' ';
  return plain ? std::string(character) : fmt::format("\\{}", c);
}

/// A class: its items, or an expression for one character if items alone cannot express it.
struct CharacterClass {
  std::string items;                ///< items of a PCRE2 class
  std::vector<std::string> others;  ///< more alternatives, an expression for one character each
  bool negated = false;

  std::string positive() const {
    if (others.empty()) return items.empty() ? "(?!)" : fmt::format("[{}]", items);
    std::string out = items.empty() ? "(?:" : fmt::format("(?:[{}]|", items);
    for (std::size_t i = 0; i < others.size(); ++i) out.append(i == 0 ? "" : "|").append(others[i]);
    return out + ")";
  }
  std::string expression() const {
    // PCRE2 matches a property on its own faster than a class that holds it.
    const bool is_property = others.empty() && items.starts_with("\\p{") && items.find('}') + 1 == items.size();
    if (is_property) return fmt::format("\\{}{}", negated ? 'P' : 'p', items.substr(2));
    if (!negated) return positive();
    return others.empty() && !items.empty() ? fmt::format("[^{}]", items) : fmt::format("(?:(?!{})(?s:.))", positive());
  }
  void add(const CharacterClass& part) {
    if (part.negated) return others.push_back(part.expression());
    items += part.items;
    others.insert(others.end(), part.others.begin(), part.others.end());
  }
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) LATHE_TRY_VOID(step());
    out_.append(groups_.empty() ? n_options_ : 0, ')');
    return std::move(out_);
  }

 private:
  struct Group {
    std::size_t begin, n_options;
  };

  tl::unexpected<Error> refuse(std::size_t offset, std::string_view what) const {
    return fail(ErrorCode::model_refused, fmt::format("bad regular expression at offset {}: {}", offset, what));
  }
  tl::unexpected<Error> unsupported(std::size_t offset, std::size_t size) const {
    return refuse(offset, fmt::format("\"{}\" is not supported", printable_excerpt(pattern_.substr(offset, size))));
  }
  std::string_view rest() const { return pattern_.substr(std::min(at_, pattern_.size())); }
  std::string_view take_character() {
    std::size_t end = at_ + 1;
    while (end < pattern_.size() && (static_cast<unsigned char>(pattern_[end]) & 0xC0) == 0x80) ++end;
    const std::string_view character = pattern_.substr(at_, end - at_);
    at_ = end;
    return character;
  }
  void add_atom(std::string_view text) {
    atom_ = out_.size();
    out_ += text;
  }

  Result<void> step() {
    const std::string_view text = rest();
    if (text[0] == '\\') return add_escape();
    if (text[0] == '[') {
      LATHE_TRY(const CharacterClass set, read_class(0));
      add_atom(set.expression());
    } else if (text[0] == '(') {
      return open_group();
    } else if (text[0] == ')') {
      close_group();
    } else if (text[0] == '{') {
      add_interval();
    } else if (text[0] == '*' || text[0] == '+' || text[0] == '?') {
      out_ += take_character();
    } else {
      add_atom(take_character());
    }
    return {};
  }

  Result<void> open_group() {
    const std::string_view text = rest();
    if (text.starts_with("(*") || text.starts_with("(?~") || text.starts_with("(?{")) return unsupported(at_, 3);
    if (text.starts_with("(?#")) {
      at_ = std::min(pattern_.find(')', at_), pattern_.size() - 1) + 1;
      return {};
    }
    std::size_t size = 1;
    std::string opened = "(";
    if (text.starts_with("(?") && text.size() > 2 && (is_ascii_letter(text[2]) || text[2] == '-')) {
      size = text.find_first_not_of("imx-", 2);
      if (size == text.npos || (text[size] != ')' && text[size] != ':')) return unsupported(at_, 4);
      // m lets a dot match a line feed, as s does in PCRE2.
      for (const char c : text.substr(1, size - 1)) opened += c == 'm' ? 's' : c;
      opened += ':';
      at_ += size + 1;
      // Options without a colon hold to the end of the group and enclose its further alternatives.
      if (text[size] == ')') {
        ++n_options_;
        out_ += opened;
      } else {
        push_group(opened);
      }
      return {};
    }
    if (text.starts_with("(?")) {
      size = text.starts_with("(?<=") || text.starts_with("(?<!") ? 4 : std::min<std::size_t>(3, text.size());
      opened = text.substr(0, size);
    }
    at_ += size;
    push_group(opened);
    return {};
  }
  void push_group(std::string_view opened) {
    groups_.push_back({out_.size(), n_options_});
    n_options_ = 0;
    out_ += opened;
  }
  void close_group() {
    ++at_;
    out_.append(n_options_ + 1, ')');
    n_options_ = 0;
    if (groups_.empty()) return;  // PCRE2 refuses the parenthesis
    atom_ = groups_.back().begin;
    n_options_ = groups_.back().n_options;
    groups_.pop_back();
  }

  /// Translates {n}, {n,}, {,m} and {n,m}. In PCRE2 a + after an interval makes it possessive; in Oniguruma it repeats it.
  void add_interval() {
    const std::size_t end = pattern_.find('}', at_);
    const std::string_view inner = end == pattern_.npos ? "" : pattern_.substr(at_ + 1, end - at_ - 1);
    const bool is_interval = !inner.empty() && inner != "," && inner.find_first_not_of("0123456789,") == inner.npos &&
                             std::count(inner.begin(), inner.end(), ',') <= 1;
    if (!is_interval) {
      add_atom("\\{");
      ++at_;
      return;
    }
    out_ += fmt::format("{{{}{}}}", inner[0] == ',' ? "0" : "", inner);
    at_ = end + 1;
    const bool repeated = rest().starts_with('+') || (rest().starts_with('?') && inner.find(',') == inner.npos);
    if (!repeated) return;
    out_.insert(atom_, "(?:");
    out_ += ')';
  }

  Result<void> add_escape() {
    const std::string_view text = rest();
    if (text.size() < 2) return refuse(at_, "a backslash at the end");
    const char c = text[1];
    if (c == 'b' || c == 'B') {
      const std::string word = fmt::format("[{}{}]", kWordCharacters, kWordNumbers);
      add_atom(c == 'b' ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)
                        : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word));
      at_ += 2;
      return {};
    }
    constexpr std::string_view kSame = "AzZGKRXNkg";
    if (kSame.find(c) != kSame.npos || (c >= '1' && c <= '9')) {
      add_atom(text.substr(0, 2));
      at_ += 2;
      if (c == 'k' || c == 'g') {  // the name follows
        const std::size_t end = std::min(pattern_.find('>', at_), pattern_.size() - 1) + 1;
        out_ += pattern_.substr(at_, end - at_);
        at_ = std::max(at_, end);
      }
      return {};
    }
    if (c == 'O') {
      add_atom("(?s:.)");
      at_ += 2;
      return {};
    }
    std::string literal;
    LATHE_TRY(CharacterClass set, read_escape(literal));
    if (c == 'w' || c == 'W') set.items += kWordNumbers;
    add_atom(literal.empty() ? set.expression() : literal);
    return {};
  }

  /// Reads an escape that means a set or, then in `literal`, one character.
  Result<CharacterClass> read_escape(std::string& literal) {
    const std::size_t begin = at_;
    if (rest().size() < 2) return refuse(at_, "a backslash at the end");
    const char c = pattern_[at_ + 1];
    at_ += 1;
    CharacterClass set;
    const std::string_view character = take_character();
    switch (c) {
      case 'w':
      case 'W': set.items = kWordCharacters; break;
      case 's':
      case 'S': set.items = kSpaces; break;
      case 'd':
      case 'D': set.items = "\\p{Nd}"; break;
      case 'h':
      case 'H': set.items = kHexDigits; break;
      case 'p':
      case 'P': return read_property(begin, c == 'P');
      case 'x':
      case 'u': {
        LATHE_TRY(literal, read_code(begin, c == 'u' ? 4 : 2));
        return set;
      }
      case 'c':
      case 'C':
      case 'M':
      case 'y':
      case 'Y': return unsupported(begin, 2);
      case 'v': literal = "\\x{b}"; return set;
      case 'a':
      case 'e':
      case 'f':
      case 'n':
      case 'r':
      case 't': literal = fmt::format("\\{}", c); return set;
      default: break;
    }
    if (!set.items.empty()) {
      set.negated = c < 'a';
    } else if (is_ascii_digit(c)) {
      std::uint32_t code = static_cast<std::uint32_t>(c - '0');
      for (int i = 0; i < 2 && at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '7'; ++i) {
        code = code * 8 + static_cast<std::uint32_t>(pattern_[at_++] - '0');
      }
      literal = fmt::format("\\x{{{:x}}}", code);
    } else {
      literal = escaped(character);  // any other escaped character means itself
    }
    return set;
  }

  /// Reads the digits after \x or \u. Requires: at_ is behind the letter.
  Result<std::string> read_code(std::size_t begin, std::size_t n_digits) {
    constexpr std::string_view kHex = "0123456789abcdefABCDEF";
    std::string_view digits;
    if (n_digits == 2 && rest().starts_with('{')) {
      const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size());
      digits = pattern_.substr(at_ + 1, end - at_ - 1);
      at_ = std::min(end + 1, pattern_.size());
    } else {
      digits = rest().substr(0, std::min(rest().find_first_not_of(kHex), n_digits));
      at_ += digits.size();
      if (n_digits == 2 && digits.size() == 2 && digits[0] > '7') return unsupported(begin, 4);  // a byte of a character
    }
    if (digits.empty() || digits.find_first_not_of(kHex) != digits.npos) return unsupported(begin, at_ - begin);
    return fmt::format("\\x{{{}}}", digits);
  }

  Result<CharacterClass> read_property(std::size_t begin, bool negated) {
    const std::size_t end = pattern_.find('}', at_);
    if (!rest().starts_with('{') || end == pattern_.npos) return unsupported(begin, 2);
    std::string_view name = pattern_.substr(at_ + 1, end - at_ - 1);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    at_ = end + 1;
    auto items = property_set(name);
    if (!items) return unsupported(begin, at_ - begin);
    return CharacterClass{.items = std::move(*items), .others = {}, .negated = negated};
  }

  /// Reads [:name:] or [:^name:]; nothing if the bracket does not open one.
  Result<std::optional<CharacterClass>> read_posix() {
    if (!rest().starts_with("[:")) return std::nullopt;
    const std::size_t end = pattern_.find(":]", at_ + 2);
    if (end == pattern_.npos || pattern_.find(']', at_) < end) return std::nullopt;
    std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    auto items = posix_set(name);
    if (!items) return unsupported(at_, end + 2 - at_);
    at_ = end + 2;
    return CharacterClass{.items = std::move(*items), .others = {}, .negated = negated};
  }

  /// Reads one item of a class into `set`; a literal may begin a range.
  Result<void> read_item(CharacterClass& set) {
    std::string literal;
    LATHE_TRY_VOID(read_literal(set, literal));
    if (literal.empty()) return {};
    set.items += literal;
    const std::string_view next = rest();
    if (next.size() < 2 || next[0] != '-' || next[1] == ']' || next[1] == '[') return {};
    const std::size_t hyphen = at_++;
    CharacterClass end_set;
    std::string end;
    LATHE_TRY_VOID(read_literal(end_set, end));
    if (end.empty()) {  // a set cannot end a range: the hyphen is a literal
      set.items += "\\-";
      at_ = hyphen + 1;
      return {};
    }
    set.items.append("-").append(end);
    return {};
  }
  Result<void> read_literal(CharacterClass& set, std::string& literal) {
    if (pattern_[at_] != '\\') {
      literal = escaped(take_character());
      return {};
    }
    if (rest().starts_with("\\b")) {
      literal = "\\x{8}";
      at_ += 2;
      return {};
    }
    LATHE_TRY(const CharacterClass part, read_escape(literal));
    if (literal.empty()) set.add(part);
    return {};
  }

  Result<CharacterClass> read_class(int depth) {
    const std::size_t begin = at_++;
    if (depth == kMaxClassDepth) return refuse(begin, "the character classes are nested too deep");
    CharacterClass set;
    std::vector<std::string> operands;  // of &&
    const bool negated = rest().starts_with('^');
    if (negated) ++at_;
    if (rest().starts_with(']')) set.items = escaped(take_character());
    for (;;) {
      const std::string_view text = rest();
      if (text.empty()) return refuse(begin, "the character class has no end");
      if (text[0] == ']') break;
      if (text.starts_with("&&")) {
        operands.push_back(set.positive());
        set = {};
        at_ += 2;
      } else if (text[0] == '[') {
        LATHE_TRY(const auto posix, read_posix());
        if (posix) {
          set.add(*posix);
        } else {
          LATHE_TRY(const CharacterClass inner, read_class(depth + 1));
          set.add(inner);
        }
      } else {
        LATHE_TRY_VOID(read_item(set));
      }
    }
    ++at_;
    if (!operands.empty()) {
      std::string both = "(?:";
      for (const std::string& operand : operands) both += fmt::format("(?={})", operand);
      both += set.positive() + ")";
      set = {};
      set.others.push_back(std::move(both));
    }
    set.negated = negated;
    return set;
  }

  std::string_view pattern_;
  std::size_t at_ = 0, atom_ = 0, n_options_ = 0;
  std::string out_;
  std::vector<Group> groups_;
};

}  // namespace

Result<std::string> pcre2_of_oniguruma(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace lathe::engine
