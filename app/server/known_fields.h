// SPDX-License-Identifier: Apache-2.0
// KnownField: a request field of this server or of another one, and how this server handles it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/sampling_field.h"

namespace lathe::app {

enum class FieldFate : std::uint8_t {
  served,    ///< a route reads it under this name
  alias,     ///< served as the field `as`
  options,   ///< an object whose members are fields of the table option_fields()
  refused,   ///< it constrains the answer or changes its meaning: the request fails with an error that names it
  warned,    ///< the field is ignored, and the answer says so
  harmless,  ///< ignored without a warning: no answer could show the difference
};

struct KnownField {
  std::string_view name;
  FieldFate fate;
  std::string_view as = {};       ///< alias, or option under another name: field that serves it
  std::string_view as_null = {};  ///< alias: JSON values, separated by blanks, that become null in the serving field
  std::string_view neutral = {};  ///< JSON values, separated by blanks, that request nothing; null, "", [], {}, and false
                                  ///< unless `true` is listed, never do
  std::string_view with = {};     ///< names, separated by blanks: the field requests something only if one of these does
  bool empty_asks = false;        ///< {} does request something: an empty schema still requires JSON
};

/// THE TABLE of the fields of generation requests: those of OpenAI, vLLM, llama.cpp's server, ollama, TGI, SGLang, and of
/// clients that speak to several of these servers. The sampling parameters come first, all of them served.
std::span<const KnownField> known_fields();
/// The same with the sampling parameters of `sampling`; a field that is neither one of them nor in the table is unknown.
std::vector<KnownField> known_fields(engine::SamplingTable sampling);
/// The fields of a dialect: its own rows, then those of known_fields() with other names.
std::vector<KnownField> dialect_fields(std::span<const KnownField> own);
/// THE TABLE of the members of ollama's `options`; the `served` ones become fields of the body. A member with the name of a
/// sampling parameter is served.
std::span<const KnownField> option_fields();
/// THE TABLE of the members of a message of a chat.
std::span<const KnownField> message_fields();
/// Null: nobody knows it.
const KnownField* find_field(std::span<const KnownField> table, std::string_view name);

/// True if `object` has the member `name` and that value requests something.
bool asks(std::span<const KnownField> table, const engine::Json& object, std::string_view name);
/// True if `value` is one of the JSON values in a list separated by blanks.
bool is_among(std::string_view values, const engine::Json& value);

}  // namespace lathe::app
