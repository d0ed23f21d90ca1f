// SPDX-License-Identifier: Apache-2.0
// KnownField: a request field that this server or another one knows, and what becomes of it here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::app {

enum class FieldFate : std::uint8_t {
  served,    ///< a route reads it under this name
  alias,     ///< served as the field `as`
  options,   ///< an object whose members are fields of the table option_fields()
  refused,   ///< it constrains the answer or changes what it means: an error that names it
  warned,    ///< the answer is as if it had not been sent, and says so
  harmless,  ///< no answer could show whether it was obeyed
};

struct KnownField {
  std::string_view name;
  FieldFate fate;
  std::string_view as = {};       ///< of an alias, and of an option under another name: the field that serves it
  std::string_view as_null = {};  ///< of an alias: JSON values, with blanks between, that the serving field writes as null
  std::string_view neutral =
      {};  ///< JSON values, with blanks between, that ask for nothing; null, false, "", [] and {} never do
  std::string_view with = {};  ///< names, with blanks between: it asks for something only where one of them does
  bool empty_asks = false;     ///< {} does ask for something: an empty schema still wants JSON
};

/// THE TABLE of the fields of requests that generate: those of OpenAI, vLLM, llama.cpp's server, ollama, TGI, SGLang and of
/// clients that speak to several of them.
std::span<const KnownField> known_fields();
/// The same for the members of ollama's `options`; `served` ones are fields of the body of that name.
std::span<const KnownField> option_fields();
/// THE TABLE of the members of a message of a chat.
std::span<const KnownField> message_fields();
/// Null: nobody knows it.
const KnownField* find_field(std::span<const KnownField> table, std::string_view name);

/// Whether the member `name` of `object` is there and asks for something.
bool asks(std::span<const KnownField> table, const engine::Json& object, std::string_view name);
/// Whether one of the JSON values of a list, with blanks between, is that one.
bool is_among(std::string_view values, const engine::Json& value);

}  // namespace lathe::app
