// SPDX-License-Identifier: Apache-2.0
#include "tests/support/function_scan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace lathe::tests {
namespace {

struct Token {
  std::string_view text;  ///< an identifier or number, one of kPairs, or one character
  int line = 0;

  bool is_word() const { return std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_'; }
};

using Tokens = std::vector<Token>;

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// "<<" is no pair of template brackets, ">>" may be one.
constexpr std::array<std::string_view, 4> kPairs = {"::", "->", "<<", "<="};

Tokens tokens_of(std::string_view code) {
  Tokens tokens;
  int line = 1;
  for (std::size_t i = 0; i < code.size();) {
    if (code[i] == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(code[i])) != 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_word_char(code[i])) {
      while (end < code.size() && is_word_char(code[end])) ++end;
    } else if (is_one_of(code.substr(i, 2), kPairs)) {
      end = i + 2;
    }
    tokens.push_back({code.substr(i, end - i), line});
    i = end;
  }
  return tokens;
}

/// Preprocessor lines, with those that continue them, become blanks.
std::string without_directives(std::string code) {
  bool continues = false;
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    const std::size_t first = code.find_first_not_of(" \t", begin);
    const bool is_directive = continues || (first < end && code[first] == '#');
    continues = is_directive && end > begin && code[end - 1] == '\\';
    if (is_directive)
      std::fill(code.begin() + static_cast<std::ptrdiff_t>(begin), code.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    begin = end + 1;
  }
  return code;
}

constexpr std::array<std::string_view, 6> kControl = {"if", "for", "while", "switch", "do", "try"};

bool is_keyword_of_statement(const Token& token) { return token.text == "return" || is_one_of(token.text, kControl); }

int count_statements(const Tokens& tokens, std::size_t begin, std::size_t end) {
  int n = 0;
  std::vector<char> open;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string_view text = tokens[i].text;
    if (text == "(" || text == "{" || text == "[") open.push_back(text[0]);
    if ((text == ")" || text == "}" || text == "]") && !open.empty()) open.pop_back();
    if (text == ";" && (open.empty() || open.back() != '(')) ++n;
    if (is_one_of(text, kControl)) ++n;
  }
  return n;
}

/// The index after the bracket that closes the one at `i`; the end if none does.
std::size_t after_group(const Tokens& tokens, std::size_t i) {
  int depth = 0;
  for (; i < tokens.size(); ++i) {
    const char c = tokens[i].text[0];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && --depth == 0) return i + 1;
  }
  return tokens.size();
}

/// The index after the template arguments or parameters that begin with the "<" at `i`.
std::size_t after_angles(const Tokens& tokens, std::size_t i) {
  int depth = 0;
  while (i < tokens.size()) {
    const std::string_view text = tokens[i].text;
    if (text == "(" || text == "{" || text == "[") {
      i = after_group(tokens, i);
      continue;
    }
    if (text == "<") ++depth;
    ++i;
    if (text == ">" && --depth == 0) return i;
  }
  return i;
}

/// Reads declarations one after the other, and what their braces hold.
class Scanner {
 public:
  Scanner(Tokens tokens, FunctionScan& scan) : tokens_(std::move(tokens)), scan_(scan) {}

  void run() {
    while (i_ < tokens_.size()) declaration();
    const auto n_keywords = std::count_if(tokens_.begin(), tokens_.end(), is_keyword_of_statement);
    scan_.is_complete = scan_.is_complete && scopes_.empty() && n_keywords == n_keywords_found_;
  }

 private:
  struct Scope {
    std::string name;
    bool is_class;
  };

  std::string_view text(std::size_t i) const { return i < tokens_.size() ? tokens_[i].text : std::string_view(";"); }

  std::string scope_name() const {
    std::string name;
    for (const Scope& scope : scopes_) {
      if (!scope.name.empty()) name += (name.empty() ? "" : "::") + scope.name;
    }
    return name;
  }

  void declaration() {
    if (text(i_) == "}") {
      if (scopes_.empty()) scan_.is_complete = false;
      if (!scopes_.empty()) scopes_.pop_back();
      ++i_;
    } else if (text(i_) == "template" && text(i_ + 1) == "<") {
      i_ = after_angles(tokens_, i_ + 1);
    } else if (text(i_) == "namespace" || (text(i_) == "inline" && text(i_ + 1) == "namespace")) {
      open_namespace();
    } else if (text(i_) == "extern" && text(i_ + 1) == "{") {  // the literal "C" is blanked
      scopes_.push_back({"", false});
      i_ += 2;
    } else if (text(i_) == "enum") {
      skip_to_end();
    } else if ((text(i_) == "class" || text(i_) == "struct" || text(i_) == "union") && open_class()) {
      return;
    } else {
      member_or_function();
    }
  }

  void open_namespace() {
    if (text(i_) == "inline") ++i_;
    std::string name;
    for (++i_; tokens_[i_].is_word() || text(i_) == "::"; ++i_) name += text(i_);
    if (text(i_) != "{") return skip_to_end();  // an alias
    scopes_.push_back({name.empty() ? "(unnamed)" : name, false});
    ++i_;
  }

  /// False if the declaration is of something else than a class with a body.
  bool open_class() {
    std::string name;
    std::size_t i = i_ + 1;
    for (; i < tokens_.size() && text(i) != "{" && text(i) != ":"; ++i) {
      if (text(i) == "alignas" || text(i) == "__align__") {
        i = after_group(tokens_, i + 1) - 1;
      } else if (text(i) == "[") {
        i = after_group(tokens_, i) - 1;
      } else if (text(i) == "<") {
        i = after_angles(tokens_, i) - 1;
      } else if (tokens_[i].is_word() || text(i) == "::") {
        if (text(i) != "final")
          name = text(i) == "::" || name.ends_with("::") ? name + std::string(text(i)) : std::string(text(i));
      } else {
        return false;
      }
    }
    for (; i < tokens_.size() && text(i) != "{" && text(i) != ";"; ++i) {
      if (text(i) == "<") i = after_angles(tokens_, i) - 1;
    }
    if (text(i) != "{") return false;
    scopes_.push_back({name, true});
    if (!name.empty()) scan_.classes.push_back(scope_name());
    i_ = i + 1;
    return true;
  }

  void skip_to_end() {
    while (i_ < tokens_.size() && text(i_) != ";" && text(i_) != "}") {
      i_ = text(i_) == "{" || text(i_) == "(" || text(i_) == "[" ? after_group(tokens_, i_) : i_ + 1;
    }
    if (text(i_) == ";") ++i_;
  }

  /// A function with its body, or a declaration to its semicolon.
  void member_or_function() {
    std::string name;
    if (const std::size_t list = parameter_list(name); list != 0) after_parameters(list, name);
  }

  /// The index of the "(" of a function's parameters, past which it reads, with the function's name. 0: the declaration,
  /// which is read to its end, is of something else; functions within its initializer are found.
  std::size_t parameter_list(std::string& name) {
    while (i_ < tokens_.size() && text(i_) != "}") {  // at "}" a macro without a semicolon stands last in its scope
      const std::size_t at = i_;
      if (text(at) == ";" || text(at) == ":") {  // ":" after an access specifier, or before the width of a bit field
        ++i_;
        return 0;
      } else if (text(at) == "=") {
        initializer();
        return 0;
      } else if (text(at) == "{") {
        i_ = after_initializer(at);
      } else if (text(at) == "<") {
        i_ = after_angles(tokens_, at);
      } else if (text(at) == "operator") {
        name = operator_name();
        return std::exchange(i_, after_group(tokens_, i_));
      } else if (text(at) == "(") {
        i_ = after_group(tokens_, at);
        if (is_parameter_list(i_)) {
          name = name_before(at, "");
          return at;
        }
        if (begins_another(i_)) return 0;
      } else {
        i_ = text(at) == "[" ? after_group(tokens_, at) : at + 1;
      }
    }
    return 0;
  }

  /// The rest of a function whose parameters begin at `list`.
  void after_parameters(std::size_t list, const std::string& name) {
    while (i_ < tokens_.size() && text(i_) != "}") {
      if (text(i_) == "{") return body(list, name);
      if (text(i_) == ";" || text(i_) == "=") {
        const bool is_defaulted = text(i_) == "=" && text(i_ + 1) == "default" && name.find("::") != std::string::npos;
        if (is_defaulted) scan_.functions.push_back({.name = name, .scope = scope_name(), .line = tokens_[list].line});
        return skip_to_end();
      }
      if (text(i_) == ":") {
        i_ = after_member_initializers(i_ + 1);
      } else {
        i_ = text(i_) == "(" || text(i_) == "[" ? after_group(tokens_, i_) : i_ + 1;
      }
    }
  }

  void body(std::size_t list, std::string name) {
    const std::size_t end = after_group(tokens_, i_);
    n_keywords_found_ += std::count_if(tokens_.begin() + static_cast<std::ptrdiff_t>(list),
                                       tokens_.begin() + static_cast<std::ptrdiff_t>(end), is_keyword_of_statement);
    scan_.functions.push_back({.name = std::move(name),
                               .scope = scope_name(),
                               .line = tokens_[list].line,
                               .n_statements = count_statements(tokens_, list, end),
                               .is_in_class = !scopes_.empty() && scopes_.back().is_class});
    i_ = end;
  }

  /// Past "= ..." to the semicolon.
  void initializer() {
    while (i_ < tokens_.size() && text(i_) != ";" && text(i_) != "}") {
      i_ = text(i_) == "{" ? after_initializer(i_) : try_lambda() ? i_ : i_ + 1;
    }
    if (text(i_) == ";") ++i_;
  }

  /// The index after the braces at `i`, whose lambdas are functions.
  std::size_t after_initializer(std::size_t i) {
    const std::size_t end = after_group(tokens_, i);
    const std::size_t before = std::exchange(i_, i + 1);
    while (i_ < end) {
      if (!try_lambda()) ++i_;
    }
    i_ = before;
    return end;
  }

  /// At a lambda: reads it, and is then past its body.
  bool try_lambda() {
    if (text(i_) != "[" || (i_ > 0 && (tokens_[i_ - 1].is_word() || text(i_ - 1) == "]" || text(i_ - 1) == ")")))
      return false;
    const std::size_t introducer = i_;
    std::size_t i = after_group(tokens_, i_);
    if (text(i) == "<") i = after_angles(tokens_, i);
    if (text(i) == "(") i = after_group(tokens_, i);
    while (text(i) != "{") {
      static constexpr std::array<std::string_view, 4> kOfTypes = {"->", "::", "*", "&"};
      const bool is_part = i < tokens_.size() && (is_one_of(text(i), kOfTypes) || tokens_[i].is_word());
      if (text(i) == "<") {
        i = after_angles(tokens_, i);
      } else if (is_part) {
        ++i;
      } else {
        return false;
      }
    }
    i_ = i;
    body(introducer, "lambda");
    return true;
  }

  /// Whether the parentheses that end before `end` hold parameters, and not the arguments of a macro or an attribute.
  bool is_parameter_list(std::size_t end) const {
    static constexpr std::array<std::string_view, 16> kAfter = {"const", "noexcept", "override", "final",   "->",  ":", "&",
                                                                "{",     "requires", "volatile", "mutable", "try", "=", ";",
                                                                "[",     "}"};
    return is_one_of(text(end), kAfter);
  }

  /// Whether a macro without a semicolon ends before `i`.
  bool begins_another(std::size_t i) const {
    static constexpr std::array<std::string_view, 5> kFirst = {"class", "struct", "enum", "namespace", "template"};
    return is_one_of(text(i), kFirst);
  }

  /// The words before `i`, and `name` after them: "A::B::~B". Template arguments are left out.
  std::string name_before(std::size_t i, std::string name) const {
    for (; i > 0; --i) {
      const Token& token = tokens_[i - 1];
      const bool joins = name.empty() || name.starts_with("::");
      if (token.text == ">" && joins) {
        i = before_angles(i - 1) + 1;
      } else if (token.is_word() ? joins : (token.text == "::" || token.text == "~") && !joins) {
        name = std::string(token.text) + name;
      } else {
        break;
      }
    }
    return name;
  }

  /// The index of the "<" that the ">" at `i` closes.
  std::size_t before_angles(std::size_t i) const {
    for (int depth = 0; i > 0; --i) {
      if (text(i) == ">") ++depth;
      if (text(i) == "<" && --depth == 0) break;
    }
    return i;
  }

  /// At `operator`: reads its name up to its parameter list.
  std::string operator_name() {
    std::string name = name_before(i_, "operator");
    ++i_;
    if (text(i_) == "(" && text(i_ + 1) == ")") {
      i_ += 2;
      return name + "()";
    }
    for (; i_ < tokens_.size() && text(i_) != "("; ++i_) {
      if (name.ends_with("operator") && tokens_[i_].is_word()) name += " ";
      name += text(i_);
    }
    return name;
  }

  /// The index of the body's brace after "a_(1), b_{2}".
  std::size_t after_member_initializers(std::size_t i) const {
    while (i < tokens_.size()) {
      while (i < tokens_.size() && text(i) != "(" && text(i) != "{") i = text(i) == "<" ? after_angles(tokens_, i) : i + 1;
      i = after_group(tokens_, i);
      if (text(i) != ",") break;
      ++i;
    }
    return i;
  }

  Tokens tokens_;
  FunctionScan& scan_;
  std::vector<Scope> scopes_;
  std::size_t i_ = 0;
  std::ptrdiff_t n_keywords_found_ = 0;
};

}  // namespace

std::string Function::qualified_owner() const {
  const std::size_t end = name.rfind("::");
  if (end == std::string::npos) return "";
  return scope.empty() ? name.substr(0, end) : scope + "::" + name.substr(0, end);
}

int count_statements(const std::string& code) {
  const Tokens tokens = tokens_of(code);
  return count_statements(tokens, 0, tokens.size());
}

FunctionScan scan_functions(const SourceFile& file) {
  FunctionScan scan;
  const std::string code = without_directives(without_comments(file.text));
  Scanner(tokens_of(code), scan).run();
  return scan;
}

}  // namespace lathe::tests
