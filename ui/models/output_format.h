// SPDX-License-Identifier: GPL-3.0-or-later
// OutputFormat: what the next replies must be, as the Sampling dock edits it: a kind and a text. SamplingParams holds it as
// the JSON of structured_outputs.
#pragma once

#include <QString>
#include <optional>
#include <span>
#include <string>

#include "engine/api/result.h"

namespace lathe::ui {

enum class OutputKind : std::uint8_t { free, json_object, json, regex, choice, grammar, other };

/// A kind as the dock offers it.
struct OutputKindRow {
  OutputKind kind;
  const char* member;  ///< member of structured_outputs; empty: none
  const char* title;
  const char* hint;  ///< example for an empty editor; empty: the kind has no text
};
/// All kinds, in the order of the enumeration.
std::span<const OutputKindRow> output_kinds();

struct OutputFormat {
  OutputKind kind = OutputKind::free;
  /// Schema, expression, alternatives (one a line) or grammar; for OutputKind::other the whole JSON.
  QString text;

  bool operator==(const OutputFormat&) const = default;
};

/// Reads structured_outputs. JSON that another kind cannot show without loss is of kind `other`.
OutputFormat output_format_of(const std::string& structured_outputs);
/// Writes structured_outputs. Empty, so that replies are free: the kind needs a text, and the text is blank.
std::string structured_outputs_of(const OutputFormat& format);

/// A part of an editor's text, in QChars.
struct TextSpan {
  int begin = 0;
  int length = 0;
};
/// Part of `format.text` that an error of engine::check_structured_outputs() is about; none: unknown.
std::optional<TextSpan> error_span(const engine::Error& error, const OutputFormat& format);
/// "Line 2, column 5: this ( has no )", or the path in a schema and what is wrong there.
QString error_text(const engine::Error& error, const OutputFormat& format);

}  // namespace lathe::ui
