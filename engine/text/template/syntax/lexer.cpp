// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/syntax/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/utf8.h"

namespace lathe::engine::jinja {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

// The longest symbols come first, because "//" must not be read as two "/".
constexpr std::array<std::string_view, 25> kSymbols = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<",
                                                       ">",  "=",  ".",  ":",  ",",  "|",  "(", ")", "[", "]", "{", "}"};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag(at_);
      read_data(at_, tag);
      if (tag == source_.size()) break;
      move_to(tag);
      const char kind = source_[tag + 1];
      if (kind == '#') {
        skip_comment();
      } else if (!read_raw()) {
        read_tag(kind == '{');
      }
    }
    move_to(source_.size());
    add(TokenKind::end, {});
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), position_}); }
  [[noreturn]] void refuse(std::string message) const { throw Failure(std::move(message), position_); }

  void move_to(std::size_t to) {
    for (; at_ < to; ++at_) {
      if (source_[at_] == '\n') {
        ++position_.line;
        position_.column = 1;
      } else if ((static_cast<unsigned char>(source_[at_]) & 0xC0) != 0x80) {
        ++position_.column;
      }
    }
  }
  bool looking_at(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  std::size_t next_tag(std::size_t from) const {
    for (std::size_t i = from; (i = source_.find('{', i)) != source_.npos && i + 1 < source_.size(); ++i) {
      if (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#') return i;
    }
    return source_.size();
  }

  /// Reads the data before the tag at `end`, cut as the tag's mark and lstrip_blocks require.
  void read_data(std::size_t begin, std::size_t end) {
    std::size_t cut = end;
    if (end + 2 < source_.size()) {
      const char mark = source_[end + 2];
      if (mark == '-') {
        while (cut > begin && is_blank(source_[cut - 1])) --cut;
      } else if (mark != '+' && source_[end + 1] != '{') {
        std::size_t line = end;
        while (line > begin && (source_[line - 1] == ' ' || source_[line - 1] == '\t')) --line;
        if (line == 0 || source_[line - 1] == '\n') cut = line;
      }
    }
    if (cut > begin) add(TokenKind::data, std::string(source_.substr(begin, cut - begin)));
  }

  /// Skips text after a tag: `-` removes all following white space; otherwise a block tag removes one line end.
  void after_tag(char mark, bool trims_line_end) {
    if (mark == '-') {
      std::size_t to = at_;
      while (to < source_.size() && is_blank(source_[to])) ++to;
      move_to(to);
    } else if (mark != '+' && trims_line_end && looking_at("\n")) {
      move_to(at_ + 1);
    }
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_ + 2);
    if (end == source_.npos) refuse("the comment is not closed");
    const char mark = end > at_ + 2 ? source_[end - 1] : ' ';
    move_to(end + 2);
    after_tag(mark, true);
  }

  /// Reads "{%- name -%}" at `from`; sets its end and right mark if it is there.
  bool bare_tag(std::size_t from, std::string_view name, std::size_t& end, char& mark) const {
    std::size_t i = from + 2;
    const auto skip_blanks = [&] {
      while (i < source_.size() && is_blank(source_[i])) ++i;
    };
    if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) ++i;
    skip_blanks();
    if (!source_.substr(i).starts_with(name)) return false;
    i += name.size();
    skip_blanks();
    mark = i < source_.size() && (source_[i] == '-' || source_[i] == '+') ? source_[i++] : ' ';
    end = i + 2;
    return source_.substr(i).starts_with("%}");
  }

  /// Reads {% raw %}...{% endraw %}: its data is not interpreted.
  bool read_raw() {
    std::size_t end = 0;
    char mark = ' ';
    if (source_[at_ + 1] != '%' || !bare_tag(at_, "raw", end, mark)) return false;
    move_to(end);
    after_tag(mark, true);
    for (std::size_t i = at_; (i = source_.find("{%", i)) != source_.npos; i += 2) {
      if (!bare_tag(i, "endraw", end, mark)) continue;
      read_data(at_, i);
      move_to(end);
      after_tag(mark, true);
      return true;
    }
    refuse("{% raw %} is not closed by {% endraw %}");
  }

  void read_tag(bool is_variable) {
    const std::string_view close = is_variable ? "}}" : "%}";
    const Position opened = position_;
    add(is_variable ? TokenKind::variable_begin : TokenKind::block_begin, {});
    move_to(at_ + 2);
    if (looking_at("-") || looking_at("+")) move_to(at_ + 1);
    int n_open = 0;
    while (true) {
      while (at_ < source_.size() && is_blank(source_[at_])) move_to(at_ + 1);
      if (at_ == source_.size()) throw Failure(fmt::format("the tag is not closed by {}", close), opened);
      const bool marked = looking_at("-") || (looking_at("+") && !is_variable);
      if (n_open == 0 && source_.substr(at_ + (marked ? 1 : 0)).starts_with(close)) {
        const char mark = marked ? source_[at_] : ' ';
        add(is_variable ? TokenKind::variable_end : TokenKind::block_end, {});
        move_to(at_ + (marked ? 3 : 2));
        after_tag(mark, !is_variable);
        return;
      }
      n_open += read_token();
    }
  }

  /// Reads one token inside a tag; returns +1 if it opens a bracket, -1 if it closes one.
  int read_token() {
    const char c = source_[at_];
    if (is_name_start(c)) {
      std::size_t end = at_;
      while (end < source_.size() && is_name_part(source_[end])) ++end;
      take(TokenKind::name, end);
    } else if (is_digit(c)) {
      read_number();
    } else if (c == '\'' || c == '"') {
      read_text(c);
    } else {
      return read_symbol();
    }
    return 0;
  }

  void take(TokenKind kind, std::size_t end) {
    add(kind, std::string(source_.substr(at_, end - at_)));
    move_to(end);
  }

  int read_symbol() {
    for (const std::string_view symbol : kSymbols) {
      if (!looking_at(symbol)) continue;
      take(TokenKind::symbol, at_ + symbol.size());
      if (symbol == "(" || symbol == "[" || symbol == "{") return 1;
      return symbol == ")" || symbol == "]" || symbol == "}" ? -1 : 0;
    }
    refuse(fmt::format("unexpected character \"{}\"", printable_excerpt(source_.substr(at_, read_utf8(source_, at_).size))));
  }

  /// Returns the index after digits, each with at most one _ before it; `from` if there are none.
  std::size_t end_of_digits(std::size_t from, std::string_view digits) const {
    const auto is_one = [&](std::size_t at) { return at < source_.size() && digits.find(source_[at]) != digits.npos; };
    while (true) {
      const std::size_t next = from < source_.size() && source_[from] == '_' ? from + 1 : from;
      if (!is_one(next)) return from;
      from = next + 1;
    }
  }

  /// Returns the end of a number such as 0x1f, 0o17 or 0b11; its begin if there is none.
  std::size_t end_of_based_number() const {
    const std::string_view rest = source_.substr(at_);
    const char kind = rest.size() > 2 && rest[0] == '0' ? rest[1] : ' ';
    const std::string_view digits = kind == 'x' || kind == 'X'   ? "0123456789abcdefABCDEF"
                                    : kind == 'o' || kind == 'O' ? "01234567"
                                    : kind == 'b' || kind == 'B' ? "01"
                                                                 : "";
    const std::size_t end = digits.empty() ? at_ : end_of_digits(at_ + 2, digits);
    return end > at_ + 2 ? end : at_;
  }

  void read_number() {
    std::size_t end = end_of_based_number();
    if (end > at_) {
      take(TokenKind::integer, end);
      std::erase(tokens_.back().text, '_');
      return;
    }
    const auto skip_digits = [&] { end = end_of_digits(end, "0123456789"); };
    skip_digits();
    bool is_float = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_float = true;
      ++end;
      skip_digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        is_float = true;
        end = exponent;
        skip_digits();
      }
    }
    // An integer does not begin with 0: digits after the zeros are not part of it and are refused.
    if (!is_float && source_[at_] == '0') end = end_of_digits(at_, "0");
    take(is_float ? TokenKind::number : TokenKind::integer, end);
    std::erase(tokens_.back().text, '_');
  }

  void read_text(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) refuse("the string is not closed");
    add(TokenKind::text, unescaped(source_.substr(at_ + 1, end - at_ - 1)));
    move_to(end + 1);
  }

  /// Resolves Python's escapes; an unknown one is kept.
  static std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\' || i + 1 == text.size()) {
        out += text[i];
        continue;
      }
      constexpr std::string_view kLetters = "ntrabfv\\'\"", kMeanings = "\n\t\r\a\b\f\v\\'\"";
      const char letter = text[++i];
      if (letter >= '0' && letter <= '7') {  // up to three octal digits
        char32_t code = 0;
        for (const std::size_t end = std::min(i + 3, text.size()); i < end && text[i] >= '0' && text[i] <= '7'; ++i) {
          code = code * 8 + static_cast<char32_t>(text[i] - '0');
        }
        --i;
        append_utf8(out, code);
        continue;
      }
      const std::size_t known = kLetters.find(letter);
      const std::size_t n_hex = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
      if (known != kLetters.npos) {
        out += kMeanings[known];
      } else if (n_hex > 0 && append_code(out, text.substr(i + 1, n_hex), n_hex)) {
        i += n_hex;
      } else if (letter != '\n') {
        out += '\\';
        out += letter;
      }
    }
    return out;
  }

  static bool append_code(std::string& out, std::string_view hex, std::size_t n_hex) {
    if (hex.size() != n_hex || hex.find_first_not_of("0123456789abcdefABCDEF") != hex.npos) return false;
    const auto code = static_cast<char32_t>(std::stoul(std::string(hex), nullptr, 16));
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    append_utf8(out, code);
    return true;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  Position position_{1, 1};
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {  // the line ends of all systems become \n
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return Lexer(text).run();
}

}  // namespace lathe::engine::jinja
