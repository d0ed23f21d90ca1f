// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pretokenizer.h"

#include <array>
#include <optional>

#include "engine/base/utf8.h"
#include "engine/text/ascii_splitter.h"
#include "engine/text/json_field.h"
#include "engine/text/regex.h"

namespace lathe::engine {
namespace {

using PretokenizerPtr = std::unique_ptr<Pretokenizer>;

// Punctuation of Unicode, and the ASCII characters that are neither letter, digit nor space.
constexpr const char* kPunctuation = "[\\p{P}$+<=>^`|~]";

/// Treatment of a pattern's matches; the values of "behavior" in tokenizer.json.
enum class SplitBehavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// A part of a word: a match of the pattern, or the text between two matches.
struct Stretch {
  TextRange range;
  bool matched = false;
};

void join_stretches(const std::vector<Stretch>& stretches, SplitBehavior behavior, std::vector<TextRange>& out) {
  const std::size_t first_out = out.size();
  bool last_matched = false, glue_next = false;
  for (const Stretch& stretch : stretches) {
    const bool has_previous = out.size() > first_out;
    bool glue = false;
    switch (behavior) {
      case SplitBehavior::removed:
        if (stretch.matched) continue;
        break;
      case SplitBehavior::isolated: break;
      case SplitBehavior::merged_with_previous: glue = stretch.matched && !last_matched && has_previous; break;
      case SplitBehavior::merged_with_next:
        glue = glue_next && !stretch.matched;
        glue_next = stretch.matched;
        break;
      case SplitBehavior::contiguous: glue = has_previous && stretch.matched == last_matched; break;
    }
    if (glue) {
      out.back().end = stretch.range.end;
    } else {
      out.push_back(stretch.range);
    }
    last_matched = stretch.matched;
  }
}

class Split final : public Pretokenizer {
 public:
  Split(Regex pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Result<void> apply(Words& words, EncodeBudget& budget) const override {
    std::vector<TextRange> out, matches;
    std::vector<Stretch> stretches;
    RegexSearch search(pattern_, budget);
    for (const TextRange word : words.ranges) {
      matches.clear();
      stretches.clear();
      const auto text = std::string_view(words.text).substr(word.begin, word.end - word.begin);
      LATHE_TRY_VOID(search.find_all(text, matches));
      std::size_t from = word.begin;
      for (const TextRange match : matches) {
        const TextRange range{word.begin + match.begin, word.begin + match.end};
        if (range.begin > from) stretches.push_back({{from, range.begin}, invert_});
        stretches.push_back({range, !invert_});
        from = range.end;
      }
      if (from < word.end) stretches.push_back({{from, word.end}, invert_});
      join_stretches(stretches, behavior_, out);
    }
    words.ranges = std::move(out);
    return {};
  }
  bool keeps_size() const override { return behavior_ != SplitBehavior::removed; }

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class ByteLevel final : public Pretokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::unique_ptr<Pretokenizer> split)
      : add_prefix_space_(add_prefix_space), split_(std::move(split)) {}
  bool is_byte_level() const override { return true; }
  bool keeps_size() const override { return !split_ || split_->keeps_size(); }
  Result<void> apply(Words& words, EncodeBudget& budget) const override {
    if (add_prefix_space_) prefix_words(words);
    LATHE_TRY_VOID(budget.check_bytes(words.text.size()));
    return split_ ? split_->apply(words, budget) : Result<void>();
  }

 private:
  static void prefix_words(Words& words) {
    Words out{.text = {}, .ranges = {}, .at_start = words.at_start};
    for (const TextRange word : words.ranges) {
      const std::size_t begin = out.text.size();
      if (words.text[word.begin] != ' ') out.text += ' ';
      out.text.append(words.text, word.begin, word.end - word.begin);
      out.ranges.push_back({begin, out.text.size()});
    }
    words = std::move(out);
  }

  bool add_prefix_space_;
  std::unique_ptr<Pretokenizer> split_;
};

class Metaspace final : public Pretokenizer {
 public:
  enum class Prepend : std::uint8_t { never, first, always };
  Metaspace(std::string mark, Prepend prepend, bool split) : mark_(std::move(mark)), prepend_(prepend), split_(split) {}

  Result<void> apply(Words& words, EncodeBudget& budget) const override {
    Words out{.text = {}, .ranges = {}, .at_start = words.at_start};
    for (const TextRange word : words.ranges) {
      const std::size_t begin = out.text.size();
      append_marked(std::string_view(words.text).substr(word.begin, word.end - word.begin),
                    words.at_start && word.begin == 0, out.text);
      if (split_) {
        cut_before_marks(out.text, begin, out.ranges);
      } else {
        out.ranges.push_back({begin, out.text.size()});
      }
      LATHE_TRY_VOID(budget.check_bytes(out.text.size()));
    }
    words = std::move(out);
    return {};
  }
  bool keeps_size() const override { return !mark_.empty(); }

 private:
  void append_marked(std::string_view word, bool is_first, std::string& out) const {
    const bool prepend = prepend_ == Prepend::always || (prepend_ == Prepend::first && is_first);
    if (prepend && !word.starts_with(' ') && !word.starts_with(mark_)) out += mark_;
    for (const char c : word) {
      if (c == ' ') {
        out += mark_;
      } else {
        out += c;
      }
    }
  }
  void cut_before_marks(const std::string& text, std::size_t begin, std::vector<TextRange>& ranges) const {
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find(mark_, begin + 1), text.size());
      ranges.push_back({begin, end});
      begin = end;
    }
  }

  std::string mark_;
  Prepend prepend_;
  bool split_;
};

class PretokenizerSequence final : public Pretokenizer {
 public:
  explicit PretokenizerSequence(std::vector<PretokenizerPtr> parts) : parts_(std::move(parts)) {}
  bool is_byte_level() const override { return !parts_.empty() && parts_.back()->is_byte_level(); }
  Result<void> apply(Words& words, EncodeBudget& budget) const override {
    for (const PretokenizerPtr& part : parts_) {
      LATHE_TRY_VOID(budget.check_time());
      LATHE_TRY_VOID(part->apply(words, budget));
    }
    return {};
  }
  bool keeps_size() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->keeps_size(); });
  }

 private:
  std::vector<PretokenizerPtr> parts_;
};

Result<PretokenizerPtr> make_split_of(const std::string& pattern, SplitBehavior behavior, bool invert = false) {
  auto regex = Regex::compile(pattern);
  if (!regex)
    return fail(regex.error().code, std::move(regex.error().message), "tokenizer.json: pre_tokenizer.Split.pattern");
  return std::make_unique<Split>(std::move(*regex), behavior, invert);
}

/// Returns a pattern that matches exactly this text.
std::string literal_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) out += fmt::format("\\x{:02x}", byte);
    if (byte >= 0x80) out += c;
  }
  return out;
}

Result<SplitBehavior> behavior_field(const Json& description, std::string_view where) {
  constexpr std::array kNames = {
      std::pair{"Removed", SplitBehavior::removed}, std::pair{"Isolated", SplitBehavior::isolated},
      std::pair{"MergedWithPrevious", SplitBehavior::merged_with_previous},
      std::pair{"MergedWithNext", SplitBehavior::merged_with_next}, std::pair{"Contiguous", SplitBehavior::contiguous}};
  LATHE_TRY(const std::string name, text_field(description, "behavior", where));
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return fail(ErrorCode::model_refused, fmt::format("the behavior \"{}\" is not supported", printable_excerpt(name)),
              fmt::format("tokenizer.json: {}", where));
}

Result<PretokenizerPtr> make_split(const Json& description) {
  LATHE_TRY(const PatternField pattern, pattern_field(description, "pre_tokenizer.Split"));
  LATHE_TRY(const SplitBehavior behavior, behavior_field(description, "pre_tokenizer.Split"));
  return make_split_of(pattern.is_regex ? pattern.text : literal_pattern(pattern.text), behavior,
                       flag_field(description, "invert", false));
}

Result<PretokenizerPtr> make_byte_level(const Json& description) {
  PretokenizerPtr split;
  if (flag_field(description, "use_regex", true)) {
    LATHE_TRY(split, make_split_of(std::string(kGpt2Words), SplitBehavior::isolated));
  }
  return std::make_unique<ByteLevel>(flag_field(description, "add_prefix_space", true), std::move(split));
}

Result<PretokenizerPtr> make_digits(const Json& description) {
  return make_split_of(flag_field(description, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", SplitBehavior::isolated);
}

/// Words are matches of \w of the tokenizers library, as in Unicode's technical standard 18; other characters form words of
/// their own.
Result<PretokenizerPtr> make_whitespace(const Json&) {
  constexpr const char* kPattern =
      "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]+|[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}\\s]+";
  return make_split_of(kPattern, SplitBehavior::removed, true);
}
Result<PretokenizerPtr> make_whitespace_split(const Json&) { return make_split_of("\\s+", SplitBehavior::removed); }

Result<PretokenizerPtr> make_punctuation(const Json& description) {
  auto behavior = SplitBehavior::isolated;
  if (description.contains("behavior")) {
    LATHE_TRY(behavior, behavior_field(description, "pre_tokenizer.Punctuation"));
  }
  return make_split_of(kPunctuation, behavior);
}

Result<PretokenizerPtr> make_bert_pretokenizer(const Json&) {
  std::vector<PretokenizerPtr> parts;
  LATHE_TRY(parts.emplace_back(), make_split_of("\\s+", SplitBehavior::removed));
  LATHE_TRY(parts.emplace_back(), make_split_of(kPunctuation, SplitBehavior::isolated));
  return std::make_unique<PretokenizerSequence>(std::move(parts));
}

Result<PretokenizerPtr> make_delimiter(const Json& description) {
  LATHE_TRY(const std::string delimiter, rule_field(description, "delimiter", "pre_tokenizer.CharDelimiterSplit"));
  if (delimiter.empty()) {
    return fail(ErrorCode::model_refused, "\"delimiter\" is empty", "tokenizer.json: pre_tokenizer.CharDelimiterSplit");
  }
  return make_split_of(literal_pattern(delimiter), SplitBehavior::removed);
}

Result<PretokenizerPtr> make_metaspace(const Json& description) {
  LATHE_TRY(std::string mark, rule_field(description, "replacement", "pre_tokenizer.Metaspace"));
  if (mark.empty()) {
    return fail(ErrorCode::model_refused, "\"replacement\" is empty", "tokenizer.json: pre_tokenizer.Metaspace");
  }
  auto prepend = flag_field(description, "add_prefix_space", true) ? Metaspace::Prepend::always : Metaspace::Prepend::never;
  if (description.contains("prepend_scheme")) {
    LATHE_TRY(const std::string scheme, text_field(description, "prepend_scheme", "pre_tokenizer.Metaspace"));
    prepend = scheme == "first"   ? Metaspace::Prepend::first
              : scheme == "never" ? Metaspace::Prepend::never
                                  : Metaspace::Prepend::always;
  }
  return std::make_unique<Metaspace>(std::move(mark), prepend, flag_field(description, "split", true));
}

Result<PretokenizerPtr> make_pretokenizer_sequence(const Json& description) {
  const auto list = description.find("pretokenizers");
  if (list == description.end() || !list->is_array()) {
    return fail(ErrorCode::model_refused, "\"pretokenizers\" must be a list", "tokenizer.json: pre_tokenizer.Sequence");
  }
  LATHE_TRY_VOID(check_parts(*list, "pre_tokenizer.Sequence"));
  std::vector<PretokenizerPtr> parts;
  for (const Json& item : *list) {
    if (!parts.empty() && parts.back()->is_byte_level()) {
      return fail(ErrorCode::model_refused, "ByteLevel must be the last of the sequence",
                  "tokenizer.json: pre_tokenizer.Sequence");
    }
    LATHE_TRY(parts.emplace_back(), make_pretokenizer(item));
  }
  return std::make_unique<PretokenizerSequence>(std::move(parts));
}

struct PretokenizerKind {
  std::string_view type;
  Result<PretokenizerPtr> (*make)(const Json& description);
};

// THE TABLE of pre-tokenizers, under tokenizer.json's names.
constexpr std::array kPretokenizerKinds = {
    PretokenizerKind{"Split", make_split},
    PretokenizerKind{"ByteLevel", make_byte_level},
    PretokenizerKind{"Digits", make_digits},
    PretokenizerKind{"Whitespace", make_whitespace},
    PretokenizerKind{"WhitespaceSplit", make_whitespace_split},
    PretokenizerKind{"Punctuation", make_punctuation},
    PretokenizerKind{"BertPreTokenizer", make_bert_pretokenizer},
    PretokenizerKind{"CharDelimiterSplit", make_delimiter},
    PretokenizerKind{"Metaspace", make_metaspace},
    PretokenizerKind{"Sequence", make_pretokenizer_sequence},
};

}  // namespace

Result<std::unique_ptr<Pretokenizer>> make_pretokenizer(const Json& description) {
  if (description.is_null()) return nullptr;
  LATHE_TRY(const std::string type, component_type(description, "pre_tokenizer"));
  for (const PretokenizerKind& kind : kPretokenizerKinds) {
    if (kind.type == type) return kind.make(description);
  }
  return unknown_component(type, "pre_tokenizer");
}

}  // namespace lathe::engine
