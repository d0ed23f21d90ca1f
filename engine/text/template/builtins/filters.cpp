// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/filters.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/padded_text.h"
#include "engine/text/template/builtins/percent_format.h"
#include "engine/text/template/builtins/stripped_tags.h"
#include "engine/text/template/builtins/text_changes.h"
#include "engine/text/template/builtins/text_kinds.h"
#include "engine/text/template/builtins/to_json.h"
#include "engine/text/template/builtins/wrapped_text.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

Value filter_default(Runtime&, const Value& v, const Arguments& a) {
  const bool missing = v.is_undefined() || (flag_argument(a, 1, "boolean", false) && !is_true(v));
  if (!missing) return v;
  const Value* fallback = a.find(0, "default_value");
  return fallback != nullptr ? *fallback : Value::text("");
}

Value filter_trim(Runtime& r, const Value& v, const Arguments& a) {
  return stripped(r, to_text(r, v), a.find(0, "chars"), Side::both);
}
Value filter_upper(Runtime& r, const Value& v, const Arguments&) { return with_case(r, to_text(r, v), LetterCase::upper); }
Value filter_lower(Runtime& r, const Value& v, const Arguments&) { return with_case(r, to_text(r, v), LetterCase::lower); }
Value filter_title(Runtime& r, const Value& v, const Arguments&) { return with_case(r, to_text(r, v), LetterCase::words); }
Value filter_capitalize(Runtime& r, const Value& v, const Arguments&) {
  return with_case(r, to_text(r, v), LetterCase::capitalized);
}
Value filter_string(Runtime& r, const Value& v, const Arguments&) {
  return v.as_text() != nullptr ? v : Value(to_text(r, v));
}
Value filter_striptags(Runtime& r, const Value& v, const Arguments&) { return without_tags(r, to_text(r, v)); }
/// Autoescape is off, so a safe text is a plain text.
Value filter_safe(Runtime& r, const Value& v, const Arguments& a) { return filter_string(r, v, a); }

Value filter_replace(Runtime& r, const Value& v, const Arguments& a) {
  const std::int64_t count = integer_argument(a, 2, "count", -1);
  const Value *from = a.find(0, "old"), *to = a.find(1, "new");
  if (from == nullptr || to == nullptr) throw Failure("replace needs what to replace and by what");
  return replaced(r, to_text(r, v), to_text(r, *from), to_text(r, *to),
                  count < 0 ? std::numeric_limits<std::int64_t>::max() : count);
}

Value filter_escape(Runtime& r, const Value& v, const Arguments&) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEscapes = {
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}}};
  MarkedText text = to_text(r, v);
  for (const auto& [from, to] : kEscapes) {
    text = replaced(r, text, MarkedText(from, Source::model), MarkedText(to, Source::model),
                    std::numeric_limits<std::int64_t>::max());
  }
  return text;
}

Value filter_format(Runtime& r, const Value& v, const Arguments& a) {
  if (!a.positional.empty() && !a.named.empty()) throw Failure("format takes values or named values, not both");
  if (a.named.empty()) return percent_formatted(r, to_text(r, v), Value::tuple(a.positional));
  auto names = std::make_shared<DictObject>();
  for (const auto& [name, value] : a.named) names->put(r, name, value);
  return percent_formatted(r, to_text(r, v), Value(std::move(names)));
}

/// Implements indent(width, first, blank): lines after the first are indented.
Value filter_indent(Runtime& r, const Value& v, const Arguments& a) {
  const Value* width = a.find(0, "width");
  if (v.as_text() == nullptr) throw Failure(fmt::format("indent needs a text, got {}", type_name(v)));
  MarkedText lead;
  if (width != nullptr && width->as_text() != nullptr) {
    lead = *width->as_text();
  } else {
    const std::int64_t n = std::clamp<std::int64_t>(integer_argument(a, 0, "width", 4), 0, 1000);
    lead = MarkedText(std::string(static_cast<std::size_t>(n), ' '), Source::model);
  }
  const bool indent_first = flag_argument(a, 1, "first", false), indent_blank = flag_argument(a, 2, "blank", false);
  const MarkedText text = to_text(r, v);
  MarkedText out;
  for (std::size_t begin = 0, line = 0; begin <= text.size(); ++line) {
    const std::size_t end = std::min(text.text().find('\n', begin), text.size());
    const bool indents = line == 0 ? indent_first : indent_blank || end > begin;
    r.charge_growth(out.size(), end + 1 - begin + (indents ? lead.size() : 0));
    if (indents) out.append(lead);
    out.append_part(text, begin, std::min(end + 1, text.size()));
    begin = end + 1;
  }
  return out;
}

Value filter_center(Runtime& r, const Value& v, const Arguments& a) {
  return padded(r, to_text(r, v), integer_argument(a, 0, "width", 80), MarkedText(" ", Source::model), Align::center);
}

Value filter_truncate(Runtime& r, const Value& v, const Arguments& a) {
  const bool has_end = a.find(2, "end") != nullptr;
  return truncated(r, to_text(r, v), integer_argument(a, 0, "length", 255), flag_argument(a, 1, "killwords", false),
                   has_end ? text_argument(a, 2, "end") : MarkedText("...", Source::model),
                   integer_argument(a, 3, "leeway", 5));
}

/// Percent-encodes the characters that a URL may not contain.
MarkedText url_quoted(Runtime& r, const MarkedText& text, std::string_view safe) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~";
  MarkedText out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.text()[at];
    const bool stays = kPlain.find(c) != kPlain.npos || safe.find(c) != safe.npos;
    const std::string quoted = stays ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    r.charge_growth(out.size(), quoted.size());
    out.append(quoted, text.source_at(at));
  }
  return out;
}

/// Implements urlencode: a text keeps its slashes; a dict, or a list of pairs, becomes a query.
Value filter_urlencode(Runtime& r, const Value& v, const Arguments&) {
  const Method dict_pairs = v.as_dict() != nullptr ? find_method(v, "items") : nullptr;
  if (dict_pairs == nullptr && v.as_list() == nullptr) return url_quoted(r, to_text(r, v), "/");
  Items parts;
  for (const Value& pair : dict_pairs != nullptr ? items_of(r, dict_pairs(r, v, {})) : items_of(r, v)) {
    const Items sides = items_of(r, pair);
    if (sides.size() != 2) throw Failure("urlencode needs pairs of a name and a value");
    MarkedText part;
    for (const Value& side : sides) {
      if (&side != &sides.front()) part.append("=", Source::model);
      part.append(replaced(r, url_quoted(r, to_text(r, side), ""), MarkedText("%20", Source::model),
                           MarkedText("+", Source::model), std::numeric_limits<std::int64_t>::max()));
    }
    parts.emplace_back(std::move(part));
  }
  return joined_items(r, MarkedText("&", Source::model), parts);
}

/// Counts words, which are runs of letters, digits and _.
Value filter_wordcount(Runtime& r, const Value& v, const Arguments&) {
  const MarkedText text = to_text(r, v);
  r.charge_text(text.size());
  std::int64_t n = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text.text(), at);
    const bool was_in_word = std::exchange(in_word, is_word_character(step.code));
    n += in_word && !was_in_word ? 1 : 0;
    at += step.size;
  }
  return Value(n);
}

Value filter_wordwrap(Runtime& r, const Value& v, const Arguments& a) {
  WrapStyle style;
  style.width = integer_argument(a, 0, "width", 79);
  style.break_long_words = flag_argument(a, 1, "break_long_words", true);
  const Value* line_end = a.find(2, "wrapstring");
  if (line_end != nullptr && !line_end->is_none()) style.line_end = text_argument(a, 2, "wrapstring");
  style.break_on_hyphens = flag_argument(a, 3, "break_on_hyphens", true);
  return wrapped(r, to_text(r, v), style);
}

/// Works like escape, because escaped texts are not a separate type here.
Value filter_forceescape(Runtime& r, const Value& v, const Arguments& a) { return filter_escape(r, v, a); }

/// Implements xmlattr: writes a dict as the attributes of an element, each after a blank; entries without a value are
/// skipped.
Value filter_xmlattr(Runtime& r, const Value& v, const Arguments& a) {
  const bool leads = flag_argument(a, 0, "autospace", true);
  const Method pairs = v.as_dict() != nullptr ? find_method(v, "items") : nullptr;
  if (pairs == nullptr) throw Failure(fmt::format("xmlattr needs a dict, got {}", type_name(v)));
  MarkedText out;
  for (const Value& pair : items_of(r, pairs(r, v, {}))) {
    const Value &key = pair.as_list()->items[0], &value = pair.as_list()->items[1];
    if (value.is_none() || value.is_undefined()) continue;
    if (to_text(r, key).text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      throw Failure(fmt::format("xmlattr: \"{}\" is not a name", printable_excerpt(to_text(r, key).text())));
    const Value name = filter_escape(r, key, {}), escaped = filter_escape(r, value, {});
    r.charge_growth(out.size(), name.as_text()->size() + escaped.as_text()->size() + 4);
    if (leads || !out.empty()) out.append(" ", Source::model);
    out.append(*name.as_text());
    out.append("=\"", Source::model);
    out.append(*escaped.as_text());
    out.append("\"", Source::model);
  }
  return out;
}

/// Implements attr: a field or method with this name; unlike x.name, never an entry of a dict.
Value filter_attr(Runtime& r, const Value& v, const Arguments& a) {
  const std::string& name = text_argument(a, 0, "name").text();
  if (name.starts_with('_')) throw Failure(fmt::format("attr: \"{}\" cannot be reached", printable_excerpt(name)));
  require_defined(v);
  if (v.as_dict() == nullptr || !v.as_dict()->is_dict()) return attribute(r, v, name);
  auto method = bound_method(v, name);
  return method ? std::move(*method) : Value::undefined(name);
}

/// Implements tojson with the arguments of transformers, not of Jinja: ensure_ascii, indent, separators, sort_keys.
Value filter_tojson(Runtime& r, const Value& v, const Arguments& a) {
  JsonStyle style;
  style.ascii = flag_argument(a, 0, "ensure_ascii", false);
  style.indent = integer_argument(a, 1, "indent", -1);
  style.sort_keys = flag_argument(a, 3, "sort_keys", false);
  if (style.indent > 64) throw Failure("tojson cannot indent by more than 64");
  if (style.indent >= 0) style.item_separator = ",";
  if (const Value* separators = a.find(2, "separators"); separators != nullptr && !separators->is_none()) {
    const Items parts = items_of(r, *separators);
    if (parts.size() != 2) throw Failure("separators must be two texts");
    style.item_separator = to_text(r, parts[0]).text();
    style.key_separator = to_text(r, parts[1]).text();
  }
  return to_json(r, v, style);
}

// THE TABLE of filters on single values; those on numbers and lists are in number_filters.cpp and list_filters.cpp.
constexpr std::array kTextFilters = {
    NamedFilter{"default", filter_default, "default_value boolean"},
    NamedFilter{"d", filter_default, "default_value boolean"},
    NamedFilter{"trim", filter_trim, "chars"},
    NamedFilter{"upper", filter_upper, ""},
    NamedFilter{"lower", filter_lower, ""},
    NamedFilter{"title", filter_title, ""},
    NamedFilter{"capitalize", filter_capitalize, ""},
    NamedFilter{"string", filter_string, ""},
    NamedFilter{"safe", filter_safe, ""},
    NamedFilter{"replace", filter_replace, "old new count"},
    NamedFilter{"escape", filter_escape, ""},
    NamedFilter{"e", filter_escape, ""},
    NamedFilter{"format", filter_format, "*"},
    NamedFilter{"indent", filter_indent, "width first blank"},
    NamedFilter{"center", filter_center, "width"},
    NamedFilter{"truncate", filter_truncate, "length killwords end leeway"},
    NamedFilter{"urlencode", filter_urlencode, ""},
    NamedFilter{"wordcount", filter_wordcount, ""},
    NamedFilter{"wordwrap", filter_wordwrap, "width break_long_words wrapstring break_on_hyphens"},
    NamedFilter{"forceescape", filter_forceescape, ""},
    NamedFilter{"striptags", filter_striptags, ""},
    NamedFilter{"xmlattr", filter_xmlattr, "autospace"},
    NamedFilter{"attr", filter_attr, "name"},
    NamedFilter{"tojson", filter_tojson, "ensure_ascii indent separators sort_keys"},
};

/// Removes the first parameter of a list and returns it.
std::string_view take_parameter(std::string_view& parameters) {
  const std::string_view first = parameters.substr(0, parameters.find(' '));
  parameters.remove_prefix(std::min(parameters.size(), first.size() + 1));
  return first;
}

void check_arguments(const NamedFilter& filter, const Arguments& arguments) {
  if (filter.parameters == "*") return;
  std::size_t n = 0, n_named = 0;
  for (std::string_view rest = filter.parameters; !rest.empty(); ++n) {
    const std::string_view parameter = take_parameter(rest);
    for (const auto& [name, value] : arguments.named)
      n_named += n >= arguments.positional.size() && name == parameter ? 1 : 0;
  }
  if (arguments.positional.size() > n)
    throw Failure(fmt::format("the filter \"{}\" takes {}", filter.name, at_most_arguments(n)));
  if (n_named == arguments.named.size()) return;
  if (n == 0) throw Failure(fmt::format("the filter \"{}\" takes no named arguments", filter.name));
  throw Failure(
      fmt::format("the filter \"{}\" takes no other names than \"{}\", each once", filter.name, filter.parameters));
}

}  // namespace

const NamedFilter* find_filter(std::string_view name) {
  for (const NamedFilter& filter : kTextFilters) {
    if (filter.name == name) return &filter;
  }
  if (const NamedFilter* filter = find_number_filter(name)) return filter;
  return find_list_filter(name);
}

Value run_filter(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  runtime.check_stack();  // map runs a filter, which may be map itself
  runtime.charge();
  const NamedFilter* filter = find_filter(name);
  if (filter == nullptr) throw Failure(fmt::format("there is no filter \"{}\"", printable_excerpt(name)));
  check_arguments(*filter, arguments);
  return filter->filter(runtime, value, arguments);
}

}  // namespace lathe::engine::jinja
