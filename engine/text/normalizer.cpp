// SPDX-License-Identifier: Apache-2.0
#include "engine/text/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/text/json_field.h"
#include "engine/text/regex.h"

namespace lathe::engine {
namespace {

using NormalizerPtr = std::unique_ptr<Normalizer>;

class UnicodeForm final : public Normalizer {
 public:
  UnicodeForm(const char* data, UNormalization2Mode mode) {
    UErrorCode error = U_ZERO_ERROR;
    form_ = icu::Normalizer2::getInstance(nullptr, data, mode, error);
  }
  bool available() const { return form_ != nullptr; }
  Result<void> apply(std::string& text, EncodeBudget& budget) const override {
    UErrorCode error = U_ZERO_ERROR;
    if (form_->isNormalizedUTF8(text, error)) return {};
    std::string out;
    icu::StringByteSink<std::string> sink(&out);
    error = U_ZERO_ERROR;
    form_->normalizeUTF8(0, text, sink, nullptr, error);
    if (U_FAILURE(error)) {
      return fail(ErrorCode::internal, fmt::format("ICU: {}", u_errorName(error)), "tokenizer.json: normalizer");
    }
    text = std::move(out);
    return budget.check_bytes(text.size());
  }

 private:
  const icu::Normalizer2* form_ = nullptr;  // owned by ICU for the life of the process
};

class Lowercase final : public Normalizer {
 public:
  Result<void> apply(std::string& text, EncodeBudget& budget) const override {
    std::string out;
    icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(out);
    text = std::move(out);
    return budget.check_bytes(text.size());
  }
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Result<void> apply(std::string& text, EncodeBudget& budget) const override {
    if (!text.empty()) text.insert(0, prefix_);
    return budget.check_bytes(text.size());
  }
  bool keeps_size() const override { return true; }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  Result<void> apply(std::string& text, EncodeBudget& budget) const override {
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = text.find(from_, at)) != text.npos; from = at) {
      out.append(text, from, at - from).append(to_);
      at += from_.size();
      LATHE_TRY_VOID(budget.check_bytes(out.size()));
    }
    text = out.append(text, from);
    return budget.check_bytes(text.size());
  }
  bool keeps_size() const override { return to_.size() >= from_.size(); }

 private:
  std::string from_, to_;
};

class ReplaceRegex final : public Normalizer {
 public:
  ReplaceRegex(Regex pattern, std::string to) : pattern_(std::move(pattern)), to_(std::move(to)) {}
  Result<void> apply(std::string& text, EncodeBudget& budget) const override {
    std::vector<TextRange> matches;
    LATHE_TRY_VOID(RegexSearch(pattern_, budget).find_all(text, matches));
    std::string out;
    std::size_t from = 0;
    for (const TextRange match : matches) {
      out.append(text, from, match.begin - from).append(to_);
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
  Result<void> apply(std::string& text, EncodeBudget&) const override {
    std::size_t begin = 0, end = 0;  // end: behind the last character that is no space
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Step step = read_utf8(text, at);
      if (u_isUWhiteSpace(static_cast<UChar32>(step.code)) == 0) {
        if (end == 0) begin = at;
        end = at + step.size;
      }
      at += step.size;
    }
    if (end == 0) begin = text.size();
    if (right_) text.resize(std::max(begin, end));
    if (left_) text.erase(0, begin);
    return {};
  }

 private:
  bool left_, right_;
};

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<NormalizerPtr> parts) : parts_(std::move(parts)) {}
  Result<void> apply(std::string& text, EncodeBudget& budget) const override {
    for (const NormalizerPtr& part : parts_) {
      LATHE_TRY_VOID(budget.check_time());
      LATHE_TRY_VOID(part->apply(text, budget));
    }
    return {};
  }
  bool keeps_size() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->keeps_size(); });
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
  LATHE_TRY(Regex regex, Regex::compile(pattern.text));
  return std::make_unique<ReplaceRegex>(std::move(regex), std::move(content));
}

Result<NormalizerPtr> make_strip(const Json& description) {
  return std::make_unique<Strip>(flag_field(description, "strip_left", true), flag_field(description, "strip_right", true));
}

Result<NormalizerPtr> make_sequence(const Json& description) {
  const auto list = description.find("normalizers");
  if (list == description.end() || !list->is_array()) {
    return fail(ErrorCode::model_refused, "\"normalizers\" must be a list", "tokenizer.json: normalizer.Sequence");
  }
  LATHE_TRY_VOID(check_parts(*list, "normalizer.Sequence"));
  std::vector<NormalizerPtr> parts;
  for (const Json& item : *list) {
    LATHE_TRY(parts.emplace_back(), make_normalizer(item));
  }
  return std::make_unique<Sequence>(std::move(parts));
}

struct NormalizerKind {
  std::string_view type;
  Result<NormalizerPtr> (*make)(const Json& description);
};

// THE TABLE of normalizers, under tokenizer.json's names.
constexpr std::array kKinds = {
    NormalizerKind{"NFC", make_nfc},
    NormalizerKind{"NFD", make_nfd},
    NormalizerKind{"NFKC", make_nfkc},
    NormalizerKind{"NFKD", make_nfkd},
    NormalizerKind{"Lowercase", make_lowercase},
    NormalizerKind{"Prepend", make_prepend},
    NormalizerKind{"Replace", make_replace},
    NormalizerKind{"Strip", make_strip},
    NormalizerKind{"Sequence", make_sequence},
};

}  // namespace

Result<std::unique_ptr<Normalizer>> make_normalizer(const Json& description) {
  if (description.is_null()) return nullptr;
  LATHE_TRY(const std::string type, component_type(description, "normalizer"));
  for (const NormalizerKind& kind : kKinds) {
    if (kind.type == type) return kind.make(description);
  }
  return unknown_component(type, "normalizer");
}

}  // namespace lathe::engine
