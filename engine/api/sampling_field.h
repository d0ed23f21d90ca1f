// SPDX-License-Identifier: Apache-2.0
// SamplingField: one sampling parameter: its option, its member of SamplingParams, its JSON, and its row in the window.
// Command line, server, sweep and window loop over the table of these rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/sampling_params.h"

namespace lathe::engine {

using NumberMember = double SamplingParams::*;
using IntegerMember = std::int64_t SamplingParams::*;
using MaybeIntegerMember = std::optional<std::int64_t> SamplingParams::*;
using BooleanMember = bool SamplingParams::*;
using SeedMember = std::optional<std::uint64_t> SamplingParams::*;
using TextsMember = std::vector<std::string> SamplingParams::*;
using IdsMember = std::vector<std::int32_t> SamplingParams::*;
using TextMember = std::string SamplingParams::*;
using BiasMember = std::vector<std::pair<std::int32_t, float>> SamplingParams::*;

/// Section of the window's Sampling dock. Presets set the parameters of randomness and repetition, which say how tokens are
/// drawn.
enum class SamplingSection : std::uint8_t { none, randomness, repetition, length };

/// Row of the Sampling dock. The tooltip of a number is the option's help.
struct SamplingControl {
  /// none: the dock has no row for the parameter. Members that are booleans, ids or biases have none.
  SamplingSection section = SamplingSection::none;
  int order = 0;  ///< within the section; rows of equal order follow the table
  std::string_view label{};
  double min = 0, max = 0, step = 1;  ///< range and step of the slider, within the option's range
  int decimals = 0;                   ///< of the number; 0: whole numbers
  bool is_logarithmic = false;        ///< scale of the slider
  double initial = 0;                 ///< value of a new profile, also while the row is off
  bool can_be_off = false;            ///< a row that is off sends the default of SamplingParams
  bool starts_off = false;
  bool greedy_ignores = false;  ///< the parameter has no effect at temperature 0
};

struct SamplingField {
  OptionDescriptor option;
  std::variant<NumberMember, IntegerMember, MaybeIntegerMember, BooleanMember, SeedMember, TextsMember, IdsMember,
               BiasMember, TextMember>
      member;
  std::string_view neutral{};         ///< JSON values, separated by blanks, that request nothing, as the default does
  std::string_view generation_key{};  ///< key of generation_config.json that recommends a value; empty: none
  bool dialect_decodes = false;       ///< each protocol decodes the parameter in a way of its own
  SamplingControl control{};
};

using SamplingTable = std::span<const SamplingField>;

/// THE TABLE of sampling parameters, in the order of SamplingParams.
SamplingTable sampling_fields();
/// Null: the table has no parameter of that name.
const SamplingField* find_sampling_field(SamplingTable table, std::string_view name);

/// As the functions of sampling_params.h, for the parameters of `table`.
Result<void> set_option(SamplingParams& params, std::string_view name, std::string_view value, SamplingTable table);
std::string get_option(const SamplingParams& params, std::string_view name, SamplingTable table);

/// Sets the parameter to a value of a request or of stored settings. The range is checked by validate(). Errors: as in
/// json_value.h; `params` is unchanged.
Result<void> decode_json(const SamplingField& field, const Json& value, SamplingParams& params);
/// The value as decode_json() takes it; null: none. The seed 2^64 - 1 becomes -1, which requests no seed.
OrderedJson encode_json(const SamplingField& field, const SamplingParams& params);

/// True for the default of SamplingParams and for the neutral values.
bool is_neutral(const SamplingField& field, const SamplingParams& params);
/// Sets the parameter of `to` to its value in `from`.
void copy_value(const SamplingField& field, const SamplingParams& from, SamplingParams& to);

/// True if the member is a number, an integer or a seed.
bool has_number(const SamplingField& field);
/// The value as a slider has it; 0: none. Requires: has_number(field), as set_number() does.
double number_value(const SamplingField& field, const SamplingParams& params);
void set_number(const SamplingField& field, double value, SamplingParams& params);

}  // namespace lathe::engine
