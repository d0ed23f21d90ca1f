// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "engine/api/json.h"
#include "engine/api/option_value.h"
#include "engine/api/sampling_field.h"
#include "engine/base/utf8.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

constexpr double kMaxInteger = std::numeric_limits<std::int32_t>::max();
constexpr double kMostTokens = 999'999'999'999'999;  // the context shortens it anyway

using enum OptionKind;
using enum SamplingSection;

constexpr OptionDescriptor describe(std::string_view name, OptionKind kind, std::string_view help, double min = 0,
                                    double max = 0, bool excludes_min = false) {
  return {name, OptionGroup::sampling, kind, help, min, max, {}, excludes_min};
}

// THE TABLE of sampling parameters, in the order of the struct.
constexpr std::array kSamplingFields = {
    SamplingField{
        .option = describe("temperature", number, "Flattens (> 1) or sharpens (< 1) the distribution; 0: greedy.", 0, 100),
        .member = &SamplingParams::temperature,
        .generation_key = "temperature",
        .control = {.section = randomness, .label = "Temperature", .max = 2, .step = 0.05, .decimals = 2, .initial = 0.8}},
    SamplingField{.option = describe("top_k", integer, "Keeps the k most probable tokens; 0 or -1: off.", -1, kMaxInteger),
                  .member = &SamplingParams::top_k,
                  .neutral = "0 -1",
                  .generation_key = "top_k",
                  .control = {.section = randomness,
                              .label = "Top-k",
                              .min = 1,
                              .max = 200,
                              .initial = 40,
                              .can_be_off = true,
                              .greedy_ignores = true}},
    SamplingField{.option = describe("top_p", number, "Keeps the most probable tokens up to this probability mass; 1: off.",
                                     0, 1, true),
                  .member = &SamplingParams::top_p,
                  .neutral = "1",
                  .generation_key = "top_p",
                  .control = {.section = randomness,
                              .label = "Top-p",
                              .min = 0.01,
                              .max = 1,
                              .step = 0.01,
                              .decimals = 2,
                              .initial = 0.95,
                              .can_be_off = true,
                              .greedy_ignores = true}},
    SamplingField{
        .option = describe("min_p", number,
                           "Drops tokens whose probability is below this share of the most probable one's; 0: off.", 0, 1),
        .member = &SamplingParams::min_p,
        .neutral = "0",
        .generation_key = "min_p",
        .control = {.section = randomness,
                    .label = "Min-p",
                    .max = 0.5,
                    .step = 0.01,
                    .decimals = 2,
                    .initial = 0.05,
                    .can_be_off = true,
                    .greedy_ignores = true}},
    SamplingField{.option = describe("presence_penalty", number,
                                     "Subtracted once from the logit of each token that was generated; 0: off.", -2, 2),
                  .member = &SamplingParams::presence_penalty,
                  .neutral = "0",
                  .control = {.section = repetition,
                              .order = 1,
                              .label = "Presence",
                              .min = -2,
                              .max = 2,
                              .step = 0.05,
                              .decimals = 2,
                              .initial = 0.5,
                              .can_be_off = true,
                              .starts_off = true}},
    SamplingField{
        .option = describe("frequency_penalty", number,
                           "Subtracted from the logit of a token once for each time it was generated; 0: off.", -2, 2),
        .member = &SamplingParams::frequency_penalty,
        .neutral = "0",
        .control = {.section = repetition,
                    .order = 2,
                    .label = "Frequency",
                    .min = -2,
                    .max = 2,
                    .step = 0.05,
                    .decimals = 2,
                    .initial = 0.5,
                    .can_be_off = true,
                    .starts_off = true}},
    SamplingField{
        .option = describe("repetition_penalty", number,
                           "Makes tokens of the prompt and the answer less likely by this factor; 1: off.", 0.01, 100),
        .member = &SamplingParams::repetition_penalty,
        .neutral = "1",
        .generation_key = "repetition_penalty",
        .control = {.section = repetition,
                    .label = "Repeat penalty",
                    .min = 0.5,
                    .max = 2,
                    .step = 0.01,
                    .decimals = 2,
                    .initial = 1.1,
                    .can_be_off = true,
                    .starts_off = true}},
    SamplingField{
        .option = describe("seed", text,
                           "Seed of a request, a whole number from -2^63 to 2^64 - 1; empty or -1: drawn once per request."),
        .member = &SamplingParams::seed,
        .control = {.section = length, .order = 1, .label = "Seed", .initial = 1, .can_be_off = true, .starts_off = true}},
    SamplingField{.option = describe("stop", text, "A string that ends the answer, or a JSON list of up to 16 strings."),
                  .member = &SamplingParams::stop,
                  .control = {.section = length, .order = 2, .label = "Stop strings"}},
    SamplingField{.option = describe("stop_token_ids", text, "Comma-separated token IDs that end the answer."),
                  .member = &SamplingParams::stop_token_ids},
    SamplingField{.option = describe("include_stop_str_in_output", boolean, "Keep the stop string in the answer."),
                  .member = &SamplingParams::include_stop_str_in_output},
    SamplingField{.option = describe("ignore_eos", boolean, "Continue after an end-of-sequence token."),
                  .member = &SamplingParams::ignore_eos},
    SamplingField{
        .option = describe("max_tokens", integer, "Maximum number of tokens to generate; 0: until the context is full.", 0,
                           kMostTokens),
        .member = &SamplingParams::max_tokens,
        .generation_key = "max_new_tokens",
        .dialect_decodes = true,
        .control = {.section = length, .label = "Max tokens", .max = 8192, .is_logarithmic = true, .initial = 512}},
    SamplingField{.option = describe("min_tokens", integer, "Tokens to generate before the answer may end.", 0, kMaxInteger),
                  .member = &SamplingParams::min_tokens,
                  .neutral = "0"},
    SamplingField{
        .option = describe("logprobs", integer, "Alternatives to report for each generated token; empty: none.", 0, 20),
        .member = &SamplingParams::logprobs,
        .dialect_decodes = true,
        .control = {.section = length,
                    .order = 3,
                    .label = "Logprobs",
                    .max = 20,
                    .initial = 5,
                    .can_be_off = true,
                    .starts_off = true}},
    SamplingField{
        .option = describe("prompt_logprobs", integer, "Alternatives to report for each prompt token; empty: none.", 0, 20),
        .member = &SamplingParams::prompt_logprobs},
    SamplingField{.option = describe("logit_bias", text,
                                     "Comma-separated id:bias pairs that are added to logits; each bias from -100 to 100."),
                  .member = &SamplingParams::logit_bias},
    SamplingField{.option = describe("skip_special_tokens", boolean, "Leave control tokens out of the text."),
                  .member = &SamplingParams::skip_special_tokens,
                  .neutral = "true"},
    SamplingField{
        .option = describe("structured_outputs", text,
                           "JSON of what the answer must be: {\"json\": SCHEMA}, or json_object, regex, choice, grammar or "
                           "structural_tag; empty: free."),
        .member = &SamplingParams::structured_outputs,
        .dialect_decodes = true,
        .control = {.section = length, .order = 4, .label = "Output format"}},
};

constexpr auto kSamplingDescriptors = [] {
  std::array<OptionDescriptor, kSamplingFields.size()> descriptors{};
  for (std::size_t i = 0; i < kSamplingFields.size(); ++i) descriptors[i] = kSamplingFields[i].option;
  return descriptors;
}();

tl::unexpected<Error> refuse(std::string_view field, std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message), std::string(field));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits a text at commas into pieces without blanks, after removing one pair of brackets around it; none for an empty
/// text.
std::vector<std::string_view> split_list(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '[' || text.front() == '{')) text = trimmed(text.substr(1, text.size() - 2));
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    pieces.push_back(trimmed(text.substr(0, comma)));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  return pieces;
}

template <class Number>
bool read_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Result<std::optional<std::uint64_t>> parse_seed(std::string_view name, std::string_view value) {
  if (value.empty() || value == "none" || value == "-1") return std::nullopt;
  std::uint64_t seed = 0;
  if (read_whole(value, seed)) return seed;
  // Clients send signed numbers; vLLM accepts negative seeds (other than -1) too.
  std::int64_t negative = 0;
  if (read_whole(value, negative)) return static_cast<std::uint64_t>(negative);
  return refuse(name, fmt::format("{} must be a whole number between -2^63 and 2^64 - 1, or -1 for none, got \"{}\"", name,
                                  printable_excerpt(value)));
}

/// Parses a JSON list of strings; any other text is the only stop string, since "[INST]" is a valid one.
Result<std::vector<std::string>> parse_texts(std::string_view name, std::string_view value) {
  std::vector<std::string> texts;
  if (value.empty()) return texts;
  if (value.front() == '[') {
    const auto json = parse_json(value, name);
    const auto is_string = [](const Json& item) { return item.is_string(); };
    if (json && json->is_array() && std::all_of(json->begin(), json->end(), is_string)) {
      return json->get<std::vector<std::string>>();
    }
  }
  texts.emplace_back(value);
  return texts;
}

Result<std::vector<std::int32_t>> parse_ids(std::string_view name, std::string_view value) {
  std::vector<std::int32_t> ids;
  for (const std::string_view piece : split_list(value)) {
    if (!read_whole(piece, ids.emplace_back())) {
      return refuse(name, fmt::format("{} must be comma-separated token IDs, got \"{}\"", name, printable_excerpt(piece)));
    }
  }
  return ids;
}

Result<std::vector<std::pair<std::int32_t, float>>> parse_bias(std::string_view name, std::string_view value) {
  std::vector<std::pair<std::int32_t, float>> biases;
  for (const std::string_view piece : split_list(value)) {
    const std::size_t colon = piece.find(':');
    std::string_view id = trimmed(piece.substr(0, colon));
    if (id.size() >= 2 && id.front() == '"' && id.back() == '"') id = id.substr(1, id.size() - 2);
    auto& [token, bias] = biases.emplace_back();
    if (colon == piece.npos || !read_whole(id, token) || !read_whole(trimmed(piece.substr(colon + 1)), bias)) {
      return refuse(name,
                    fmt::format("{} must be comma-separated id:bias pairs, got \"{}\"", name, printable_excerpt(piece)));
    }
  }
  return biases;
}

/// Parses `value` into the member that the field names; one overload per member type.
struct Assign {
  SamplingParams& params;
  const OptionDescriptor& option;
  std::string_view value;

  Result<void> operator()(NumberMember member) const { return store(member, parse_number(option, value)); }
  Result<void> operator()(IntegerMember member) const { return store(member, parse_integer(option, value)); }
  Result<void> operator()(BooleanMember member) const { return store(member, parse_boolean(option, value)); }
  Result<void> operator()(SeedMember member) const { return store(member, parse_seed(option.name, value)); }
  Result<void> operator()(TextsMember member) const { return store(member, parse_texts(option.name, value)); }
  Result<void> operator()(IdsMember member) const { return store(member, parse_ids(option.name, value)); }
  Result<void> operator()(BiasMember member) const { return store(member, parse_bias(option.name, value)); }
  Result<void> operator()(TextMember member) const { return store(member, Result<std::string>(value)); }
  Result<void> operator()(MaybeIntegerMember member) const {
    if (!value.empty() && value != "none") return store(member, parse_integer(option, value));
    params.*member = std::nullopt;
    return {};
  }

  template <class Member, class Value>
  Result<void> store(Member member, Result<Value> parsed) const {
    if (!parsed) return tl::unexpected(std::move(parsed.error()));
    params.*member = std::move(*parsed);
    return {};
  }
};

/// Formats a member as text that Assign can parse.
struct Print {
  const SamplingParams& params;

  std::string operator()(NumberMember member) const { return number_text(params.*member); }
  std::string operator()(IntegerMember member) const { return fmt::format("{}", params.*member); }
  std::string operator()(BooleanMember member) const { return params.*member ? "true" : "false"; }
  std::string operator()(MaybeIntegerMember member) const { return maybe(params.*member); }
  std::string operator()(SeedMember member) const { return maybe(params.*member); }
  std::string operator()(TextsMember member) const {
    return (params.*member).empty() ? "" : dump_json(Json(params.*member));
  }
  std::string operator()(TextMember member) const { return params.*member; }
  std::string operator()(IdsMember member) const { return fmt::format("{}", fmt::join(params.*member, ",")); }
  std::string operator()(BiasMember member) const {
    std::string out;
    for (const auto& [id, bias] : params.*member) out += fmt::format("{}{}:{}", out.empty() ? "" : ",", id, bias);
    return out;
  }

  template <class Integer>
  static std::string maybe(const std::optional<Integer>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  }
};

/// Checks the range of a member that is a number; one overload per kind of member.
struct CheckNumber {
  const SamplingParams& params;
  const OptionDescriptor& option;

  Result<void> operator()(NumberMember member) const { return check_range(option, params.*member); }
  Result<void> operator()(IntegerMember member) const { return check_range(option, params.*member); }
  Result<void> operator()(MaybeIntegerMember member) const {
    const auto& value = params.*member;
    return value ? check_range(option, *value) : Result<void>();
  }
  template <class Member>
  Result<void> operator()(Member) const {
    return {};
  }
};

/// Checks count and range of the items of a member that is a list.
struct CheckItems {
  const SamplingParams& params;
  std::string_view name;
  std::int64_t vocab_size;

  Result<void> operator()(TextsMember member) const {
    const auto& texts = params.*member;
    if (texts.size() > kMaxStopStrings) {
      return refuse(name, fmt::format("{} may hold at most {} strings, got {}", name, kMaxStopStrings, texts.size()));
    }
    for (const std::string& text : texts) {
      if (text.empty()) return refuse(name, fmt::format("{} cannot contain an empty string", name));
      if (text.size() > kMaxStopBytes) {
        return refuse(name, fmt::format("a {} string may have at most {} bytes, got {}", name, kMaxStopBytes, text.size()));
      }
      if (!is_valid_utf8(text)) return refuse(name, fmt::format("a {} string is not UTF-8", name));
    }
    return {};
  }

  Result<void> operator()(IdsMember member) const {
    const auto& ids = params.*member;
    if (ids.size() > kMaxStopIds) {
      return refuse(name, fmt::format("{} may hold at most {} token IDs, got {}", name, kMaxStopIds, ids.size()));
    }
    for (const std::int32_t id : ids) LATHE_TRY_VOID(check_id(id));
    return {};
  }

  Result<void> operator()(BiasMember member) const {
    const auto& biases = params.*member;
    if (biases.size() > kMaxBiases) {
      return refuse(name, fmt::format("{} may hold at most {} entries, got {}", name, kMaxBiases, biases.size()));
    }
    std::vector<std::int32_t> seen;
    for (const auto& [id, bias] : biases) {
      LATHE_TRY_VOID(check_id(id));
      if (!(bias >= -100 && bias <= 100)) {
        return refuse(name, fmt::format("{} of token {} must be between -100 and 100, got {}", name, id, bias));
      }
      seen.push_back(id);
    }
    std::sort(seen.begin(), seen.end());
    if (const auto twice = std::adjacent_find(seen.begin(), seen.end()); twice != seen.end()) {
      return refuse(name, fmt::format("{} names token {} twice", name, *twice));
    }
    return {};
  }

  template <class Member>
  Result<void> operator()(Member) const {
    return {};
  }

  Result<void> check_id(std::int32_t id) const {
    if (id >= 0 && id < vocab_size) return {};
    return refuse(name, fmt::format("{}: token ID {} is not in the vocabulary (0 to {})", name, id, vocab_size - 1));
  }
};

}  // namespace

SamplingTable sampling_fields() { return kSamplingFields; }

const SamplingField* find_sampling_field(SamplingTable table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const SamplingField& field) { return field.option.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::span<const OptionDescriptor> sampling_option_table() { return kSamplingDescriptors; }

Result<void> set_option(SamplingParams& params, std::string_view name, std::string_view value, SamplingTable table) {
  if (const SamplingField* field = find_sampling_field(table, name)) {
    return std::visit(Assign{params, field->option, value}, field->member);
  }
  std::vector<OptionDescriptor> options;
  for (const SamplingField& field : table) options.push_back(field.option);
  return tl::unexpected(unknown_option(name, options));
}

std::string get_option(const SamplingParams& params, std::string_view name, SamplingTable table) {
  const SamplingField* field = find_sampling_field(table, name);
  LATHE_CHECK(field != nullptr);
  return std::visit(Print{params}, field->member);
}

Result<void> set_option(SamplingParams& params, std::string_view name, std::string_view value) {
  return set_option(params, name, value, kSamplingFields);
}

std::string get_option(const SamplingParams& params, std::string_view name) {
  return get_option(params, name, kSamplingFields);
}

Result<void> validate(const SamplingParams& params, std::int64_t vocab_size) {
  for (const SamplingField& field : kSamplingFields)
    LATHE_TRY_VOID(std::visit(CheckNumber{params, field.option}, field.member));
  if (params.max_tokens > 0 && params.min_tokens > params.max_tokens) {
    return refuse("min_tokens", fmt::format("min_tokens must be less than or equal to max_tokens={}, got {}",
                                            params.max_tokens, params.min_tokens));
  }
  for (const SamplingField& field : kSamplingFields) {
    LATHE_TRY_VOID(std::visit(CheckItems{params, field.option.name, vocab_size}, field.member));
  }
  return {};
}

}  // namespace lathe::engine
