// SPDX-License-Identifier: Apache-2.0
// PythonLiterals: reads literals of Python and writes them as JSON.
// Source: The Python Language Reference, 2.4; keys of dicts become texts as in Python's json.dumps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {

/// Every function returns false if the text is something else; then `out` and the place in the text mean nothing.
class PythonLiterals {
 public:
  /// Requires: `rest` outlives this object.
  explicit PythonLiterals(Markup& rest) : rest_(rest) {}

  /// Reads True, False, None, a number, a text in either kind of quotes, a list, a tuple or a dict, and appends its JSON.
  bool value(std::string& out, int depth = 0);
  /// Skips blanks, and the token if the text continues with it; returns whether it does.
  bool next(std::string_view token);
  /// Skips blanks, and returns whether the text continues with the token.
  bool is_next(std::string_view token);

 private:
  bool list(std::string& out, std::string_view end, int depth);
  bool dict(std::string& out, int depth);
  bool key(std::string& out);
  bool text(std::string& out);
  bool escape(std::string& out);
  bool hexadecimal(std::string& out, std::size_t n_digits);
  bool scalar(std::string& out);

  Markup& rest_;
};

/// Returns the JSON of a list, tuple or dict; nothing if `text` is something else.
std::optional<std::string> json_of_python_container(std::string_view text);

}  // namespace lathe::engine
