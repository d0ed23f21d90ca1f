// SPDX-License-Identifier: Apache-2.0
#include "engine/api/sampling_params.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <variant>

#include "engine/api/json.h"
#include "engine/api/option_value.h"
#include "engine/base/utf8.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

using NumberMember = double SamplingParams::*;
using IntegerMember = std::int64_t SamplingParams::*;
using MaybeIntegerMember = std::optional<std::int64_t> SamplingParams::*;
using BooleanMember = bool SamplingParams::*;
using SeedMember = std::optional<std::uint64_t> SamplingParams::*;
using TextsMember = std::vector<std::string> SamplingParams::*;
using IdsMember = std::vector<std::int32_t> SamplingParams::*;
using BiasMember = std::vector<std::pair<std::int32_t, float>> SamplingParams::*;

struct SamplingField {
  OptionDescriptor option;
  std::variant<NumberMember, IntegerMember, MaybeIntegerMember, BooleanMember, SeedMember, TextsMember, IdsMember,
               BiasMember>
      member;
};

constexpr double kMaxInteger = std::numeric_limits<std::int32_t>::max();

using enum OptionKind;

constexpr OptionDescriptor describe(std::string_view name, OptionKind kind, std::string_view help, double min = 0,
                                    double max = 0) {
  return {name, OptionGroup::sampling, kind, help, min, max, {}};
}

// THE TABLE of sampling parameters, in the order of the struct. The lower bounds of top_p and repetition_penalty mean "> 0".
constexpr std::array kFields = {
    SamplingField{describe("temperature", number, "Flattens (> 1) or sharpens (< 1) the distribution; 0: greedy.", 0, 100),
                  &SamplingParams::temperature},
    SamplingField{describe("top_k", integer, "Keeps the k most probable tokens; 0 or -1: off.", -1, kMaxInteger),
                  &SamplingParams::top_k},
    SamplingField{describe("top_p", number, "Keeps the most probable tokens up to this probability mass; 1: off.", 1e-6, 1),
                  &SamplingParams::top_p},
    SamplingField{describe("min_p", number,
                           "Drops tokens whose probability is below this share of the most probable one's; 0: off.", 0, 1),
                  &SamplingParams::min_p},
    SamplingField{describe("presence_penalty", number,
                           "Subtracted once from the logit of each token that was generated; 0: off.", -2, 2),
                  &SamplingParams::presence_penalty},
    SamplingField{describe("frequency_penalty", number,
                           "Subtracted from the logit of a token once for each time it was generated; 0: off.", -2, 2),
                  &SamplingParams::frequency_penalty},
    SamplingField{describe("repetition_penalty", number,
                           "Makes tokens of the prompt and the answer less likely by this factor; 1: off.", 0.01, 100),
                  &SamplingParams::repetition_penalty},
    SamplingField{describe("seed", text,
                           "Seed of a request, a whole number from -2^63 to 2^64 - 1; empty or -1: drawn once per request."),
                  &SamplingParams::seed},
    SamplingField{describe("stop", text, "A string that ends the answer, or a JSON list of up to 16 strings."),
                  &SamplingParams::stop},
    SamplingField{describe("stop_token_ids", text, "Comma-separated token IDs that end the answer."),
                  &SamplingParams::stop_token_ids},
    SamplingField{describe("include_stop_str_in_output", boolean, "Keep the stop string in the answer."),
                  &SamplingParams::include_stop_str_in_output},
    SamplingField{describe("ignore_eos", boolean, "Continue after an end-of-sequence token."), &SamplingParams::ignore_eos},
    SamplingField{describe("max_tokens", integer, "Maximum number of tokens to generate; 0: until the context is full.", 0,
                           kMaxInteger),
                  &SamplingParams::max_tokens},
    SamplingField{describe("min_tokens", integer, "Tokens to generate before the answer may end.", 0, kMaxInteger),
                  &SamplingParams::min_tokens},
    SamplingField{describe("logprobs", integer, "Alternatives to report for each generated token; empty: none.", 0, 20),
                  &SamplingParams::logprobs},
    SamplingField{describe("prompt_logprobs", integer, "Alternatives to report for each prompt token; empty: none.", 0, 20),
                  &SamplingParams::prompt_logprobs},
    SamplingField{
        describe("logit_bias", text, "Comma-separated id:bias pairs that are added to logits; each bias from -100 to 100."),
        &SamplingParams::logit_bias},
    SamplingField{describe("skip_special_tokens", boolean, "Leave control tokens out of the text."),
                  &SamplingParams::skip_special_tokens},
};

constexpr auto kDescriptors = [] {
  std::array<OptionDescriptor, kFields.size()> descriptors{};
  for (std::size_t i = 0; i < kFields.size(); ++i) descriptors[i] = kFields[i].option;
  return descriptors;
}();

const SamplingField* find_field(std::string_view name) {
  for (const SamplingField& field : kFields) {
    if (field.option.name == name) return &field;
  }
  return nullptr;
}

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

Result<std::optional<std::uint64_t>> parse_seed(std::string_view value) {
  if (value.empty() || value == "none" || value == "-1") return std::nullopt;
  std::uint64_t seed = 0;
  if (read_whole(value, seed)) return seed;
  // Clients send signed numbers; vLLM accepts negative seeds (other than -1) too.
  std::int64_t negative = 0;
  if (read_whole(value, negative)) return static_cast<std::uint64_t>(negative);
  return refuse("seed", fmt::format("seed must be a whole number between -2^63 and 2^64 - 1, or -1 for none, got \"{}\"",
                                    printable_excerpt(value)));
}

/// Parses a JSON list of strings; any other text is the only stop string, since "[INST]" is a valid one.
Result<std::vector<std::string>> parse_stop(std::string_view value) {
  std::vector<std::string> stop;
  if (value.empty()) return stop;
  if (value.front() == '[') {
    const auto json = parse_json(value, "stop");
    const auto is_string = [](const Json& item) { return item.is_string(); };
    if (json && json->is_array() && std::all_of(json->begin(), json->end(), is_string)) {
      return json->get<std::vector<std::string>>();
    }
  }
  stop.emplace_back(value);
  return stop;
}

Result<std::vector<std::int32_t>> parse_ids(std::string_view value) {
  std::vector<std::int32_t> ids;
  for (const std::string_view piece : split_list(value)) {
    if (!read_whole(piece, ids.emplace_back())) {
      return refuse("stop_token_ids",
                    fmt::format("stop_token_ids must be comma-separated token IDs, got \"{}\"", printable_excerpt(piece)));
    }
  }
  return ids;
}

Result<std::vector<std::pair<std::int32_t, float>>> parse_bias(std::string_view value) {
  std::vector<std::pair<std::int32_t, float>> biases;
  for (const std::string_view piece : split_list(value)) {
    const std::size_t colon = piece.find(':');
    std::string_view id = trimmed(piece.substr(0, colon));
    if (id.size() >= 2 && id.front() == '"' && id.back() == '"') id = id.substr(1, id.size() - 2);
    auto& [token, bias] = biases.emplace_back();
    if (colon == piece.npos || !read_whole(id, token) || !read_whole(trimmed(piece.substr(colon + 1)), bias)) {
      return refuse("logit_bias",
                    fmt::format("logit_bias must be comma-separated id:bias pairs, got \"{}\"", printable_excerpt(piece)));
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
  Result<void> operator()(SeedMember member) const { return store(member, parse_seed(value)); }
  Result<void> operator()(TextsMember member) const { return store(member, parse_stop(value)); }
  Result<void> operator()(IdsMember member) const { return store(member, parse_ids(value)); }
  Result<void> operator()(BiasMember member) const { return store(member, parse_bias(value)); }
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

Result<void> check_stop(const SamplingParams& params) {
  if (params.stop.size() > kMaxStopStrings) {
    return refuse("stop", fmt::format("stop may hold at most {} strings, got {}", kMaxStopStrings, params.stop.size()));
  }
  for (const std::string& stop : params.stop) {
    if (stop.empty()) return refuse("stop", "stop cannot contain an empty string");
    if (stop.size() > kMaxStopBytes) {
      return refuse("stop", fmt::format("a stop string may have at most {} bytes, got {}", kMaxStopBytes, stop.size()));
    }
    if (!is_valid_utf8(stop)) return refuse("stop", "a stop string is not UTF-8");
  }
  return {};
}

Result<void> check_id(std::string_view field, std::int32_t id, std::int64_t vocab_size) {
  if (id >= 0 && id < vocab_size) return {};
  return refuse(field, fmt::format("{}: token ID {} is not in the vocabulary (0 to {})", field, id, vocab_size - 1));
}

Result<void> check_ids(const SamplingParams& params, std::int64_t vocab_size) {
  if (params.stop_token_ids.size() > kMaxStopIds) {
    return refuse("stop_token_ids", fmt::format("stop_token_ids may hold at most {} token IDs, got {}", kMaxStopIds,
                                                params.stop_token_ids.size()));
  }
  for (const std::int32_t id : params.stop_token_ids) LATHE_TRY_VOID(check_id("stop_token_ids", id, vocab_size));
  if (params.logit_bias.size() > kMaxBiases) {
    return refuse("logit_bias",
                  fmt::format("logit_bias may hold at most {} entries, got {}", kMaxBiases, params.logit_bias.size()));
  }
  std::vector<std::int32_t> seen;
  for (const auto& [id, bias] : params.logit_bias) {
    LATHE_TRY_VOID(check_id("logit_bias", id, vocab_size));
    if (!(bias >= -100 && bias <= 100)) {
      return refuse("logit_bias", fmt::format("logit_bias of token {} must be between -100 and 100, got {}", id, bias));
    }
    seen.push_back(id);
  }
  std::sort(seen.begin(), seen.end());
  if (const auto twice = std::adjacent_find(seen.begin(), seen.end()); twice != seen.end()) {
    return refuse("logit_bias", fmt::format("logit_bias names token {} twice", *twice));
  }
  return {};
}

}  // namespace

std::span<const OptionDescriptor> sampling_option_table() { return kDescriptors; }

Result<void> set_option(SamplingParams& params, std::string_view name, std::string_view value) {
  const SamplingField* field = find_field(name);
  if (field == nullptr) return tl::unexpected(unknown_option(name, kDescriptors));
  return std::visit(Assign{params, field->option, value}, field->member);
}

std::string get_option(const SamplingParams& params, std::string_view name) {
  const SamplingField* field = find_field(name);
  LATHE_CHECK(field != nullptr);
  return std::visit(Print{params}, field->member);
}

Result<void> validate(const SamplingParams& params, std::int64_t vocab_size) {
  for (const SamplingField& field : kFields) {
    if (const auto* number_member = std::get_if<NumberMember>(&field.member)) {
      LATHE_TRY_VOID(check_range(field.option, params.**number_member));
    } else if (const auto* integer_member = std::get_if<IntegerMember>(&field.member)) {
      LATHE_TRY_VOID(check_range(field.option, params.**integer_member));
    } else if (const auto* maybe_member = std::get_if<MaybeIntegerMember>(&field.member)) {
      if (const auto& value = params.**maybe_member) LATHE_TRY_VOID(check_range(field.option, *value));
    }
  }
  if (params.max_tokens > 0 && params.min_tokens > params.max_tokens) {
    return refuse("min_tokens", fmt::format("min_tokens must be less than or equal to max_tokens={}, got {}",
                                            params.max_tokens, params.min_tokens));
  }
  LATHE_TRY_VOID(check_stop(params));
  return check_ids(params, vocab_size);
}

}  // namespace lathe::engine
