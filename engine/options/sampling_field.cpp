// SPDX-License-Identifier: Apache-2.0
#include "engine/api/sampling_field.h"

#include <fmt/format.h>

#include <charconv>
#include <type_traits>

#include "engine/api/json_value.h"
#include "engine/api/printable.h"
#include "engine/api/word_list.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

template <class Member, class... Kinds>
constexpr bool is_one_of = (std::is_same_v<Member, Kinds> || ...);

Result<std::vector<std::pair<std::int32_t, float>>> json_biases(const Json& value) {
  const auto refuse = [](std::string message, std::string where = {}) {
    return fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
  };
  if (!value.is_object()) return refuse(expected_type("an object", value));
  if (value.size() > kMaxBiases) {
    return refuse(fmt::format("may hold at most {} entries, got {}", kMaxBiases, value.size()));
  }
  std::vector<std::pair<std::int32_t, float>> biases;
  for (const auto& [key, bias] : value.items()) {
    std::int32_t id = 0;
    const auto [end, bad] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (bad != std::errc() || end != key.data() + key.size()) {
      return refuse("\"" + printable(key, 40) + "\" is not a token ID");
    }
    if (!bias.is_number()) return refuse("must be a number between -100 and 100", "." + key);
    biases.emplace_back(id, static_cast<float>(bias.get<double>()));
  }
  return biases;
}

/// Reads a JSON value into the member that the field names; one overload per kind of member.
struct Decode {
  SamplingParams& params;
  const Json& value;

  Result<void> operator()(NumberMember member) const { return store(member, json_number(value)); }
  Result<void> operator()(IntegerMember member) const { return store(member, json_integer(value)); }
  Result<void> operator()(MaybeIntegerMember member) const { return store(member, json_integer(value)); }
  Result<void> operator()(BooleanMember member) const { return store(member, json_boolean(value)); }
  Result<void> operator()(TextsMember member) const { return store(member, json_texts(value, kMaxStopStrings)); }
  Result<void> operator()(TextMember member) const { return store(member, json_text(value)); }
  Result<void> operator()(IdsMember member) const { return store(member, json_ids(value, kMaxStopIds)); }
  Result<void> operator()(BiasMember member) const { return store(member, json_biases(value)); }
  /// Accepts every 64-bit number, negative ones too, as in vLLM: -5 is the seed 2^64 - 5. -1 is no seed.
  Result<void> operator()(SeedMember member) const {
    LATHE_TRY(const std::int64_t seed, json_integer(value));
    params.*member = seed == -1 ? std::nullopt : std::optional(static_cast<std::uint64_t>(seed));
    return {};
  }

  template <class Member, class Value>
  Result<void> store(Member member, Result<Value> read) const {
    if (!read) return tl::unexpected(std::move(read.error()));
    params.*member = std::move(*read);
    return {};
  }
};

/// Writes a member as Decode reads it.
struct Encode {
  const SamplingParams& params;

  OrderedJson operator()(MaybeIntegerMember member) const {
    return params.*member ? OrderedJson(*(params.*member)) : OrderedJson();
  }
  OrderedJson operator()(SeedMember member) const {
    return params.*member ? OrderedJson(static_cast<std::int64_t>(*(params.*member))) : OrderedJson();
  }
  OrderedJson operator()(BiasMember member) const {
    OrderedJson json = OrderedJson::object();
    for (const auto& [id, bias] : params.*member) json[std::to_string(id)] = bias;
    return json;
  }
  template <class Member>
  OrderedJson operator()(Member member) const {
    return params.*member;
  }
};

}  // namespace

Result<void> decode_json(const SamplingField& field, const Json& value, SamplingParams& params) {
  return std::visit(Decode{params, value}, field.member);
}

OrderedJson encode_json(const SamplingField& field, const SamplingParams& params) {
  return std::visit(Encode{params}, field.member);
}

bool is_neutral(const SamplingField& field, const SamplingParams& params) {
  const OrderedJson value = encode_json(field, params);
  return value == encode_json(field, {}) ||
         any_word(field.neutral, [&](std::string_view neutral) { return OrderedJson::parse(neutral) == value; });
}

void copy_value(const SamplingField& field, const SamplingParams& from, SamplingParams& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, field.member);
}

bool has_number(const SamplingField& field) {
  return std::visit(
      [](auto member) { return is_one_of<decltype(member), NumberMember, IntegerMember, MaybeIntegerMember, SeedMember>; },
      field.member);
}

double number_value(const SamplingField& field, const SamplingParams& params) {
  return std::visit(
      [&](auto member) -> double {
        using Member = decltype(member);
        if constexpr (is_one_of<Member, NumberMember, IntegerMember>) {
          return static_cast<double>(params.*member);
        } else if constexpr (is_one_of<Member, MaybeIntegerMember, SeedMember>) {
          return static_cast<double>((params.*member).value_or(0));
        } else {
          LATHE_CHECK(false);  // not a number
          return 0;
        }
      },
      field.member);
}

void set_number(const SamplingField& field, double value, SamplingParams& params) {
  std::visit(
      [&](auto member) {
        using Member = decltype(member);
        if constexpr (is_one_of<Member, NumberMember>) params.*member = value;
        else if constexpr (is_one_of<Member, IntegerMember, MaybeIntegerMember>)
          params.*member = static_cast<std::int64_t>(value);
        else if constexpr (is_one_of<Member, SeedMember>) params.*member = static_cast<std::uint64_t>(value);
        else LATHE_CHECK(false);  // not a number
      },
      field.member);
}

}  // namespace lathe::engine
