// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/runtime/to_text.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include "engine/base/utf8.h"

namespace lathe::engine::jinja {
namespace {

class ReprWriter {
 public:
  explicit ReprWriter(Runtime& runtime) : runtime_(runtime) {}

  MarkedText write(const Value& value) {
    add(value);
    return std::move(out_);
  }

 private:
  void append(std::string_view text, Source source) {
    runtime_.charge_growth(out_.size(), text.size());
    out_.append(text, source);
  }
  void plain(std::string_view text) { append(text, Source::model); }

  void add(const Value& value) {
    if (const MarkedText* text = value.as_text()) return add_text(*text);
    if (const ListObject* list = value.as_list()) return add_list(*list);
    if (const DictObject* dict = value.as_dict()) return add_dict(*dict);
    if (value.is_undefined()) return plain("Undefined");
    if (value.is_none()) return plain("None");
    if (const auto* boolean = value.as<bool>()) return plain(*boolean ? "True" : "False");
    if (const auto* integer = value.as<std::int64_t>()) return plain(fmt::format("{}", *integer));
    if (const std::string* digits = value.as_long()) return plain(*digits);
    if (const auto* number = value.as<double>()) return plain(float_text(*number));
    plain(fmt::format("<function {}>", (*value.as<FunctionPtr>())->name));
  }

  /// Writes a text with Python's choice of quotes and escapes.
  void add_text(const MarkedText& value) {
    const std::string& text = value.text();
    runtime_.charge_growth(out_.size(), text.size());
    const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
    plain(std::string_view(&quote, 1));
    std::size_t done = 0;  // characters without escapes are copied in runs
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Step step = read_utf8(text, at);
      const std::string escape = escape_of(step.code, quote);
      if (!escape.empty()) {
        out_.append_part(value, done, at);
        append(escape, value.source_at(at));
        done = at + step.size;
      }
      at += step.size;
    }
    out_.append_part(value, done, text.size());
    plain(std::string_view(&quote, 1));
  }

  static std::string escape_of(char32_t code, char quote) {
    if (code == static_cast<unsigned char>(quote) || code == '\\') return {'\\', static_cast<char>(code)};
    if (code == '\n') return "\\n";
    if (code == '\t') return "\\t";
    if (code == '\r') return "\\r";
    if (is_printable(code)) return {};
    const auto number = static_cast<std::uint32_t>(code);
    if (code < 0x100) return fmt::format("\\x{:02x}", number);
    return code < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
  }

  /// Implements Python's str.isprintable. ICU 72 of Debian 12 has Unicode 15.0, as Python 3.12 has.
  static bool is_printable(char32_t code) {
    if (code < 0x7F) return code >= 0x20;
    constexpr std::uint32_t kDenied = U_GC_C_MASK | U_GC_Z_MASK;
    return (U_GET_GC_MASK(static_cast<UChar32>(code)) & kDenied) == 0;
  }

  void add_list(const ListObject& list) {
    plain(list.is_tuple ? "(" : "[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) plain(", ");
      add(list.items[i]);
    }
    if (list.is_tuple && list.items.size() == 1) plain(",");
    plain(list.is_tuple ? ")" : "]");
  }

  void add_dict(const DictObject& dict) {
    if (dict.is_namespace) return plain("<Namespace>");
    if (!dict.is_dict()) return plain(fmt::format("<{}>", dict.kind));
    plain("{");
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      if (i > 0) plain(", ");
      add(dict.items[i].first);
      plain(": ");
      add(dict.items[i].second);
    }
    plain("}");
  }

  Runtime& runtime_;
  MarkedText out_;
};

}  // namespace

MarkedText to_repr(Runtime& runtime, const Value& value) { return ReprWriter(runtime).write(value); }

MarkedText to_text(Runtime& runtime, const Value& value) {
  if (value.is_undefined()) return {};
  const MarkedText* text = value.as_text();
  if (text == nullptr) return to_repr(runtime, value);
  runtime.charge_text(text->size());
  return *text;
}

}  // namespace lathe::engine::jinja
