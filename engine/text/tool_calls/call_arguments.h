// SPDX-License-Identifier: Apache-2.0
// CallArguments: the arguments of a tool as formats of structural tags, in the style of a call format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/text/tool_calls/argument_types.h"
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/call_text.h"

namespace lathe::engine {

/// Whether a name can be written without quotes: letters, digits, "_", "-" and "."; of Python not a digit, "-" or "." first.
bool is_plain_call_name(std::string_view name, bool is_python);
/// The schema of a tool's arguments as one object; `follows_schema` off: any object.
OrderedJson call_schema(const OrderedJson& function, bool follows_schema);
/// Why a schema cannot be compiled; `where` = the path below it.
std::optional<Error> schema_error_of(const OrderedJson& schema);

class CallArguments {
 public:
  /// Requires: the arguments outlive this object.
  CallArguments(const CallFormat& format, const CallText& text, const CallTextWriter& writer, const ArgumentTypes& types)
      : format_(format), text_(text), writer_(writer), types_(types) {}

  /// The name and the arguments of a call, for CallTextWriter::expand(). `path`: of the function, for errors.
  Result<CallTextWriter::Parts> parts_of(const OrderedJson& function, bool follows_schema, const std::string& path) const;

 private:
  /// An argument: its key, or an expression of keys, and its value.
  struct Value {
    OrderedJson format;
    bool is_required = false;
  };
  Result<void> check_keywords(const OrderedJson& schema, const std::string& path) const;
  Result<OrderedJson> values_of(const OrderedJson& schema, const std::string& tool, const std::string& path) const;
  OrderedJson value_of(const OrderedJson& key, OrderedJson schema, const OrderedJson& root, const std::string& tool,
                       const std::string& name) const;
  OrderedJson with_commas(const std::vector<Value>& values) const;
  OrderedJson schema_format(OrderedJson schema) const;

  const CallFormat& format_;
  const CallText& text_;
  const CallTextWriter& writer_;
  const ArgumentTypes& types_;
};

}  // namespace lathe::engine
