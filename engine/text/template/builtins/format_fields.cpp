// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/format_fields.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/format_spec.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

bool read_index(std::string_view text, std::size_t& index) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size();
}

class FieldFormat {
 public:
  FieldFormat(Runtime& runtime, const Arguments& arguments) : runtime_(runtime), arguments_(arguments) {}

  /// Fills the fields of a format. A field's specification may contain fields too (`is_spec`).
  MarkedText fill(const MarkedText& format, bool is_spec) {
    MarkedText out;
    const std::string& text = format.text();
    std::size_t begin = 0;
    const auto append = [&](const MarkedText& part) {
      runtime_.charge_growth(out.size(), part.size());
      out.append(part);
    };
    for (std::size_t at = 0; (at = text.find_first_of("{}", begin)) != text.npos;) {
      append(format.part(begin, at));
      if (!is_spec && at + 1 < text.size() && text[at + 1] == text[at]) {
        append(format.part(at, at + 1));
        begin = at + 2;
        continue;
      }
      const std::size_t end = text[at] == '}' ? text.npos : end_of_field(text, at);
      if (end == text.npos) throw Failure("format(): a single brace stands in the text");
      append(field(format.part(at + 1, end), is_spec));
      begin = end + 1;
    }
    append(format.part(begin, text.size()));
    return out;
  }

 private:
  static std::size_t end_of_field(std::string_view text, std::size_t open) {
    int depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
      if (text[at] == '{') ++depth;
      if (text[at] == '}' && --depth == 0) return at;
    }
    return text.npos;
  }

  /// Formats one field, name!conversion:specification.
  MarkedText field(const MarkedText& field, bool is_spec) {
    const std::string_view text = field.text();
    std::size_t end = 0;
    for (bool in_brackets = false; end < text.size(); ++end) {
      if (text[end] == '[' || text[end] == ']') in_brackets = text[end] == '[';
      if (!in_brackets && (text[end] == '!' || text[end] == ':')) break;
    }
    Value value = value_of(text.substr(0, end));
    if (end < text.size() && text[end] == '!') {
      const char kind = end + 1 < text.size() ? text[end + 1] : '\0';
      if (kind != 'r' && kind != 's') throw Failure("format(): only !r and !s are supported after a field");
      value = Value(kind == 'r' ? to_repr(runtime_, value) : to_text(runtime_, value));
      end += 2;
      if (end < text.size() && text[end] != ':') throw Failure("format(): a colon is expected after !r or !s");
    }
    if (end + 1 >= text.size()) return to_text(runtime_, value);
    if (is_spec) throw Failure("format(): fields are nested too deeply");
    const MarkedText spec = fill(field.part(end + 1, field.size()), true);
    return spec.empty() ? to_text(runtime_, value) : formatted(runtime_, value, parse_format_spec(spec.text()));
  }

  /// Returns the value of a path such as "0.name[key]": an argument, then attributes and subscripts.
  Value value_of(std::string_view path) {
    std::size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, at));
    while (at < path.size()) {
      const bool by_key = path[at] == '[';
      if (!by_key && path[at] != '.') throw Failure("format(): only . and [ may follow a ]");
      const std::size_t end = std::min(by_key ? path.find(']', at) : path.find_first_of(".[", at + 1), path.size());
      const std::string_view name = path.substr(at + 1, end - at - 1);
      if (name.empty() || (by_key && end == path.size())) throw Failure("format(): a field has an empty part");
      std::size_t index = 0;
      value = !by_key                   ? attribute(runtime_, value, std::string(name))
              : read_index(name, index) ? subscript(runtime_, value, Value(static_cast<std::int64_t>(index)))
                                        : subscript(runtime_, value, Value::text(name));
      at = by_key ? end + 1 : end;
    }
    return value;
  }

  /// Returns an argument: "" is the next one, a number an index, a word a name.
  const Value& argument(std::string_view name) {
    std::size_t index = 0;
    if (!name.empty() && !read_index(name, index)) {
      for (const auto& [known, value] : arguments_.named) {
        if (known == name) return value;
      }
      throw Failure(fmt::format("format(): there is no argument \"{}\"", printable_excerpt(name)));
    }
    bool& other = name.empty() ? by_number_ : in_order_;
    if (other) throw Failure("format(): {} and {0} cannot be combined");
    (name.empty() ? in_order_ : by_number_) = true;
    if (name.empty()) index = next_++;
    if (index < arguments_.positional.size()) return arguments_.positional[index];
    throw Failure(fmt::format("format(): argument {} is missing, there are {}", index, arguments_.positional.size()));
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
  bool in_order_ = false, by_number_ = false;
};

}  // namespace

MarkedText fill_fields(Runtime& runtime, const MarkedText& format, const Arguments& arguments) {
  return FieldFormat(runtime, arguments).fill(format, false);
}

}  // namespace lathe::engine::jinja
