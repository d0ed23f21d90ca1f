// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/format_fields.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/utf8.h"
#include "engine/text/template/to_text.h"

namespace lathe::engine::jinja {
namespace {

/// What a field names: "" the next argument, a number one of them, a word a named one.
const Value& argument_of(std::string_view field, const Arguments& arguments, std::size_t& next) {
  if (field.find_first_of(".[!:") != field.npos) {
    throw Failure(
        fmt::format("format(): only {{}}, {{0}} and {{name}} are supported, not \"{}\"", printable_excerpt(field)));
  }
  std::size_t index = field.empty() ? next++ : 0;
  if (!field.empty()) {
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), index);
    if (error != std::errc() || end != field.data() + field.size()) {
      for (const auto& [name, value] : arguments.named) {
        if (name == field) return value;
      }
      throw Failure(fmt::format("format(): there is no argument \"{}\"", printable_excerpt(field)));
    }
  }
  if (index < arguments.positional.size()) return arguments.positional[index];
  throw Failure(fmt::format("format(): argument {} is missing, there are {}", index, arguments.positional.size()));
}

}  // namespace

MarkedText fill_fields(Runtime& runtime, const MarkedText& format, const Arguments& arguments) {
  MarkedText out;
  const std::string& text = format.text();
  std::size_t next = 0, begin = 0;
  const auto append = [&](const MarkedText& part) {
    runtime.charge_growth(out.size(), part.size());
    out.append(part);
  };
  for (std::size_t at = 0; (at = text.find_first_of("{}", begin)) != text.npos;) {
    append(format.part(begin, at));
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      append(format.part(at, at + 1));
      begin = at + 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == text.npos) throw Failure("format(): a single brace stands in the text");
    append(to_text(runtime, argument_of(std::string_view(text).substr(at + 1, end - at - 1), arguments, next)));
    begin = end + 1;
  }
  append(format.part(begin, text.size()));
  return out;
}

}  // namespace lathe::engine::jinja
