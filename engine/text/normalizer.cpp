// SPDX-License-Identifier: Apache-2.0
#include "engine/text/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/base/base64.h"
#include "engine/base/utf8.h"
#include "engine/text/charsmap.h"
#include "engine/text/json_field.h"
#include "engine/text/regex.h"

namespace lathe::engine {
namespace {

using NormalizerPtr = std::unique_ptr<Normalizer>;

// Decomposition turns a character of at most 4 bytes into at least one byte; composition turns at most 3 of these characters
// into one of 2 bytes. So no normal form is shorter than a sixth of its text.
constexpr std::size_t kFormShrink = 6;
// U+212A, the Kelvin sign, has 3 bytes, and its lowercase letter is "k".
constexpr std::size_t kLowercaseShrink = 3;

class UnicodeForm final : public Normalizer {
 public:
  UnicodeForm(const char* data, UNormalization2Mode mode) {
    UErrorCode error = U_ZERO_ERROR;
    form_ = icu::Normalizer2::getInstance(nullptr, data, mode, error);
  }
  bool available() const { return form_ != nullptr; }
  std::size_t max_shrink() const override { return kFormShrink; }
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    UErrorCode error = U_ZERO_ERROR;
    if (form_->isNormalizedUTF8(text, error)) return {};
    std::string out;
    icu::StringByteSink<std::string> sink(&out);
    icu::Edits edits;
    error = U_ZERO_ERROR;
    form_->normalizeUTF8(0, text, sink, marks.empty() ? nullptr : &edits, error);
    if (U_SUCCESS(error) && !marks.empty()) move(marks, edits, error);
    if (U_FAILURE(error)) {
      return fail(ErrorCode::internal, fmt::format("ICU: {}", u_errorName(error)), "tokenizer.json: normalizer");
    }
    text = std::move(out);
    return budget.check_bytes(text.size());
  }

 private:
  static void move(TextMarks& marks, const icu::Edits& edits, UErrorCode& error) {
    MarkMoves moves(marks);
    auto change = edits.getFineChangesIterator();
    while (change.next(error)) {
      const auto begin = static_cast<std::size_t>(change.sourceIndex()),
                 to = static_cast<std::size_t>(change.destinationIndex());
      moves.replaced(begin, begin + static_cast<std::size_t>(change.oldLength()), to,
                     to + static_cast<std::size_t>(change.newLength()));
    }
  }

  const icu::Normalizer2* form_ = nullptr;  // owned by ICU until the process ends
};

/// Replaces each character with the output of `change`, which gets the character and appends to the result.
template <class Change>
Result<void> change_characters(std::string& text, TextMarks& marks, EncodeBudget& budget, const Change& change) {
  std::string out;
  out.reserve(text.size());
  MarkMoves moves(marks);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    const std::size_t to = out.size();
    change(step.code, std::string_view(text).substr(at, step.size), out);
    moves.replaced(at, at + step.size, to, out.size());
    at += step.size;
  }
  text = std::move(out);
  return budget.check_bytes(text.size());
}

/// Lowercases each character alone: the end of a word is not detected, so a capital sigma always becomes the non-final small
/// one.
void append_lowercase(char32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 0x20 : code);
  } else if (code == 0x130) {
    out += "i\xCC\x87";  // the only letter whose lowercase form has two characters
  } else {
    append_utf8(out, static_cast<char32_t>(u_tolower(static_cast<UChar32>(code))));
  }
}

class Lowercase final : public Normalizer {
 public:
  std::size_t max_shrink() const override { return kLowercaseShrink; }
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    return change_characters(text, marks, budget,
                             [](char32_t code, std::string_view, std::string& out) { append_lowercase(code, out); });
  }
};

class StripAccents final : public Normalizer {
 public:
  /// `marks`: the general categories that are removed, as ICU's masks.
  explicit StripAccents(std::uint32_t marks) : marks_(marks) {}
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    return change_characters(text, marks, budget, [this](char32_t code, std::string_view character, std::string& out) {
      if ((U_GET_GC_MASK(static_cast<UChar32>(code)) & marks_) == 0) out += character;
    });
  }

 private:
  std::uint32_t marks_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    if (text.empty()) return {};
    MarkMoves(marks).replaced(0, 0, 0, prefix_.size());
    text.insert(0, prefix_);
    return budget.check_bytes(text.size());
  }
  std::size_t max_shrink() const override { return 1; }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    std::string out;
    std::size_t from = 0;
    MarkMoves moves(marks);
    for (std::size_t at = 0; (at = text.find(from_, at)) != text.npos; from = at) {
      out.append(text, from, at - from).append(to_);
      moves.put_in(at, at + from_.size(), out.size() - to_.size(), out.size());
      at += from_.size();
      LATHE_TRY_VOID(budget.check_bytes(out.size()));
    }
    text = out.append(text, from);
    return budget.check_bytes(text.size());
  }
  std::size_t max_shrink() const override { return to_.empty() ? 0 : (from_.size() + to_.size() - 1) / to_.size(); }

 private:
  std::string from_, to_;
};

class ReplaceRegex final : public Normalizer {
 public:
  ReplaceRegex(Regex pattern, std::string to) : pattern_(std::move(pattern)), to_(std::move(to)) {}
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    std::vector<TextRange> matches;
    LATHE_TRY_VOID(RegexSearch(pattern_, budget).find_all(text, matches));
    std::string out;
    std::size_t from = 0;
    MarkMoves moves(marks);
    for (const TextRange match : matches) {
      out.append(text, from, match.begin - from).append(to_);
      moves.put_in(match.begin, match.end, out.size() - to_.size(), out.size());
      from = match.end;
      LATHE_TRY_VOID(budget.check_bytes(out.size()));
    }
    text = out.append(text, from);
    return budget.check_bytes(text.size());
  }

 private:
  Regex pattern_;
  std::string to_;
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget&) const override {
    std::size_t begin = 0, end = 0;  // end: index after the last character that is not white space
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Step step = read_utf8(text, at);
      if (u_isUWhiteSpace(static_cast<UChar32>(step.code)) == 0) {
        if (end == 0) begin = at;
        end = at + step.size;
      }
      at += step.size;
    }
    if (end == 0) begin = text.size();
    end = right_ ? std::max(begin, end) : text.size();
    if (!left_) begin = 0;
    MarkMoves moves(marks);
    moves.replaced(0, begin, 0, 0);
    moves.replaced(end, text.size(), end - begin, end - begin);
    text.resize(end);
    text.erase(0, begin);
    return {};
  }

 private:
  bool left_, right_;
};

/// Removes control, format and private-use characters; all white space becomes a space.
class CleanText final : public Normalizer {
 public:
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    return change_characters(text, marks, budget, [](char32_t code, std::string_view character, std::string& out) {
      if (u_isUWhiteSpace(static_cast<UChar32>(code)) != 0) {
        if (is_kept(code)) out += ' ';
      } else if (is_kept(code)) {
        out += character;
      }
    });
  }

 private:
  static bool is_kept(char32_t code) {
    if (code == '\t' || code == '\n' || code == '\r') return true;
    constexpr std::uint32_t kDropped = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK;
    return code != 0 && code != 0xFFFD && (U_GET_GC_MASK(static_cast<UChar32>(code)) & kDropped) == 0;
  }
};

/// Puts spaces around ideographs, so that each is a word.
class SpaceIdeographs final : public Normalizer {
 public:
  std::size_t max_shrink() const override { return 1; }
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    return change_characters(text, marks, budget, [](char32_t code, std::string_view character, std::string& out) {
      if (!is_ideograph(code)) {
        out += character;
      } else {
        out.append(" ").append(character).append(" ");
      }
    });
  }

 private:
  static bool is_ideograph(char32_t code) {
    struct Block {
      char32_t first, last;
    };
    constexpr std::array kBlocks = {Block{0x4E00, 0x9FFF},   Block{0x3400, 0x4DBF},   Block{0x20000, 0x2A6DF},
                                    Block{0x2A700, 0x2B73F}, Block{0x2B740, 0x2B81F}, Block{0x2B920, 0x2CEAF},
                                    Block{0xF900, 0xFAFF},   Block{0x2F800, 0x2FA1F}};
    return std::any_of(kBlocks.begin(), kBlocks.end(),
                       [&](const Block& block) { return code >= block.first && code <= block.last; });
  }
};

/// Applies the table of a sentencepiece model as the tokenizers library does: a short grapheme cluster is replaced by the
/// value of its shortest key; in a longer one, each character is replaced. Source: its crate spm_precompiled.
class Precompiled final : public Normalizer {
 public:
  Precompiled(Charsmap map, Regex clusters) : map_(std::move(map)), clusters_(std::move(clusters)) {}
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    constexpr std::size_t kShortCluster = 6;  // bytes
    std::vector<TextRange> clusters;
    LATHE_TRY_VOID(RegexSearch(clusters_, budget).find_all(text, clusters));
    std::string out;
    MarkMoves moves(marks);
    for (const TextRange range : clusters) {
      const std::size_t to = out.size();
      const auto cluster = std::string_view(text).substr(range.begin, range.end - range.begin);
      const auto whole = cluster.size() < kShortCluster ? map_.replacement(cluster) : std::nullopt;
      if (whole) {
        out += *whole;
      } else {
        append_characters(cluster, out);
      }
      // The library's alignment ignores characters that are removed at the front.
      if (!out.empty()) moves.replaced(to == 0 ? 0 : range.begin, range.end, to, out.size());
      LATHE_TRY_VOID(budget.check_bytes(out.size()));
    }
    text = std::move(out);
    return {};
  }

 private:
  void append_characters(std::string_view cluster, std::string& out) const {
    for (std::size_t at = 0; at < cluster.size();) {
      const std::string_view character = cluster.substr(at, read_utf8(cluster, at).size);
      out += map_.replacement(character).value_or(character);
      at += character.size();
    }
  }

  Charsmap map_;
  Regex clusters_;
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> parts) : parts_(std::move(parts)) {}
  Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const override {
    for (const NormalizerPtr& part : parts_) {
      LATHE_TRY_VOID(budget.check_time());
      LATHE_TRY_VOID(part->apply(text, marks, budget));
    }
    return {};
  }
  std::size_t max_shrink() const override {
    constexpr std::size_t kMost = 4096;  // a larger bound would be useless
    std::size_t shrink = 1;
    for (const NormalizerPtr& part : parts_) shrink = std::min(shrink, kMost) * std::min(part->max_shrink(), kMost);
    return shrink <= kMost ? shrink : 0;
  }

 private:
  std::vector<NormalizerPtr> parts_;
};

Result<NormalizerPtr> make_form(const char* data, UNormalization2Mode mode) {
  auto form = std::make_unique<UnicodeForm>(data, mode);
  if (!form->available()) return fail(ErrorCode::internal, "ICU has no normalization data", "tokenizer.json: normalizer");
  return form;
}
Result<NormalizerPtr> make_nfc(const Json&) { return make_form("nfc", UNORM2_COMPOSE); }
Result<NormalizerPtr> make_nfd(const Json&) { return make_form("nfc", UNORM2_DECOMPOSE); }
Result<NormalizerPtr> make_nfkc(const Json&) { return make_form("nfkc", UNORM2_COMPOSE); }
Result<NormalizerPtr> make_nfkd(const Json&) { return make_form("nfkc", UNORM2_DECOMPOSE); }
Result<NormalizerPtr> make_lowercase(const Json&) { return std::make_unique<Lowercase>(); }
Result<NormalizerPtr> make_strip_accents(const Json&) { return std::make_unique<StripAccents>(U_GC_M_MASK); }

/// Source: BERT's tokenization.py, class BasicTokenizer; the order of its steps is that of the tokenizers library.
Result<NormalizerPtr> make_bert_normalizer(const Json& description) {
  std::vector<NormalizerPtr> parts;
  const bool lowercase = flag_field(description, "lowercase", true);
  if (flag_field(description, "clean_text", true)) parts.push_back(std::make_unique<CleanText>());
  if (flag_field(description, "handle_chinese_chars", true)) parts.push_back(std::make_unique<SpaceIdeographs>());
  if (flag_field(description, "strip_accents", lowercase)) {
    LATHE_TRY(parts.emplace_back(), make_form("nfc", UNORM2_DECOMPOSE));
    parts.push_back(std::make_unique<StripAccents>(U_GC_MN_MASK));
  }
  if (lowercase) parts.push_back(std::make_unique<Lowercase>());
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

Result<NormalizerPtr> make_precompiled(const Json& description) {
  constexpr std::string_view kWhere = "normalizer.Precompiled";
  LATHE_TRY(const std::string text, text_field(description, "precompiled_charsmap", kWhere));
  const auto bytes = decode_base64(text);
  if (!bytes) {
    return fail(ErrorCode::model_refused, "\"precompiled_charsmap\" is not base64",
                fmt::format("tokenizer.json: {}", kWhere));
  }
  auto map = Charsmap::open(*bytes);
  if (!map) return fail(ErrorCode::model_refused, map.error().message, fmt::format("tokenizer.json: {}", kWhere));
  LATHE_TRY(Regex clusters, Regex::compile("\\X"));
  return std::make_unique<Precompiled>(std::move(*map), std::move(clusters));
}

Result<NormalizerPtr> make_prepend(const Json& description) {
  LATHE_TRY(std::string prefix, rule_field(description, "prepend", "normalizer.Prepend"));
  return std::make_unique<Prepend>(std::move(prefix));
}

Result<NormalizerPtr> make_replace(const Json& description) {
  LATHE_TRY(PatternField pattern, pattern_field(description, "normalizer.Replace"));
  LATHE_TRY(std::string content, rule_field(description, "content", "normalizer.Replace"));
  if (pattern.text.empty())
    return fail(ErrorCode::model_refused, "\"pattern\" is empty", "tokenizer.json: normalizer.Replace");
  if (!pattern.is_regex) return std::make_unique<Replace>(std::move(pattern.text), std::move(content));
  auto regex = Regex::compile(pattern.text);
  if (!regex)
    return fail(regex.error().code, std::move(regex.error().message), "tokenizer.json: normalizer.Replace.pattern");
  return std::make_unique<ReplaceRegex>(std::move(*regex), std::move(content));
}

Result<NormalizerPtr> make_strip(const Json& description) {
  return std::make_unique<Strip>(flag_field(description, "strip_left", true), flag_field(description, "strip_right", true));
}

Result<NormalizerPtr> make_normalizer_sequence(const Json& description) {
  const auto list = description.find("normalizers");
  if (list == description.end() || !list->is_array()) {
    return fail(ErrorCode::model_refused, "\"normalizers\" must be a list", "tokenizer.json: normalizer.Sequence");
  }
  LATHE_TRY_VOID(check_parts(*list, "normalizer.Sequence"));
  std::vector<NormalizerPtr> parts;
  for (const Json& item : *list) {
    LATHE_TRY(parts.emplace_back(), make_normalizer(item));
  }
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

struct NormalizerKind {
  std::string_view type;
  Result<NormalizerPtr> (*make)(const Json& description);
};

// THE TABLE of normalizers, under tokenizer.json's names.
constexpr std::array kNormalizerKinds = {
    NormalizerKind{"NFC", make_nfc},
    NormalizerKind{"NFD", make_nfd},
    NormalizerKind{"NFKC", make_nfkc},
    NormalizerKind{"NFKD", make_nfkd},
    NormalizerKind{"Lowercase", make_lowercase},
    NormalizerKind{"StripAccents", make_strip_accents},
    NormalizerKind{"BertNormalizer", make_bert_normalizer},
    NormalizerKind{"Precompiled", make_precompiled},
    NormalizerKind{"Prepend", make_prepend},
    NormalizerKind{"Replace", make_replace},
    NormalizerKind{"Strip", make_strip},
    NormalizerKind{"Sequence", make_normalizer_sequence},
};

}  // namespace

Result<std::unique_ptr<Normalizer>> make_normalizer(const Json& description) {
  if (description.is_null()) return nullptr;
  LATHE_TRY(const std::string type, component_type(description, "normalizer"));
  for (const NormalizerKind& kind : kNormalizerKinds) {
    if (kind.type == type) return kind.make(description);
  }
  return unknown_component(type, "normalizer");
}

}  // namespace lathe::engine
