// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/to_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/api/exact_json.h"
#include "engine/base/utf8.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/runtime/whole_number.h"

namespace lathe::engine::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  MarkedText write(const Value& value) {
    write_value(value, 0);
    return std::move(out_);
  }

 private:
  void plain(std::string_view text) { out_.append(text, Source::model); }

  void write_value(const Value& value, int level) {
    runtime_.charge();
    runtime_.charge_growth(out_.size(), 0);
    require_defined(value);
    if (const MarkedText* text = value.as_text()) {
      write_text(*text);
    } else if (const ListObject* list = value.as_list()) {
      write_list(*list, level);
    } else if (const DictObject* dict = value.as_dict(); dict != nullptr && dict->is_dict()) {
      write_dict(*dict, level);
    } else {
      write_scalar(value);
    }
  }

  void write_scalar(const Value& value) {
    if (value.is_none()) return plain("null");
    if (const auto* boolean = value.as<bool>()) return plain(*boolean ? "true" : "false");
    if (const auto* integer = value.as<std::int64_t>()) return plain(fmt::format("{}", *integer));
    if (const std::string* digits = value.as_long()) {
      runtime_.charge_growth(out_.size(), digits->size());
      return plain(*digits);
    }
    if (const auto* number = value.as<double>()) return plain(number_text(*number));
    throw Failure(fmt::format("{} cannot be written as JSON", type_name(value)));
  }

  /// Writes numbers as Python's json does, including those that JSON does not have.
  static std::string number_text(double number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
    return float_text(number);
  }

  void write_text(const MarkedText& value) {
    const std::string& text = value.text();
    runtime_.charge_growth(out_.size(), text.size());
    plain("\"");
    std::size_t done = 0;  // characters without escapes are copied in runs
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Step step = read_utf8(text, at);
      const std::string escape = escape_of(step.code);
      if (!escape.empty()) {
        out_.append_part(value, done, at);
        runtime_.charge_growth(out_.size(), escape.size());
        out_.append(escape, value.source_at(at));
        done = at + step.size;
      }
      at += step.size;
    }
    out_.append_part(value, done, text.size());
    plain("\"");
  }

  std::string escape_of(char32_t code) const {
    constexpr std::string_view kPlain = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    if (code < 0x80) {
      const std::size_t known = kPlain.find(static_cast<char>(code));
      if (known != kPlain.npos) return {'\\', kLetters[known]};
    }
    if (code >= 0x20 && (code < 0x7F || !style_.ascii)) return {};
    if (code < 0x10000) return fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    const unsigned rest = static_cast<unsigned>(code) - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  }

  void new_line(int level) {
    if (style_.indent >= 0)
      plain("\n" + std::string(static_cast<std::size_t>(style_.indent) * static_cast<std::size_t>(level), ' '));
  }

  void separate(bool first, int level) {
    if (!first) plain(style_.item_separator);
    new_line(level);
  }

  void write_list(const ListObject& list, int level) {
    if (list.items.empty()) return plain("[]");
    plain("[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      separate(i == 0, level + 1);
      write_value(list.items[i], level + 1);
    }
    new_line(level);
    plain("]");
  }

  void write_dict(const DictObject& dict, int level) {
    if (dict.items.empty()) return plain("{}");
    runtime_.charge(dict.items.size());
    auto items = dict.items;
    if (style_.sort_keys)
      std::stable_sort(items.begin(), items.end(),
                       [&](const auto& a, const auto& b) { return compare(runtime_, a.first, b.first) < 0; });
    plain("{");
    bool first = true;
    for (const auto& [key, value] : items) {
      separate(first, level + 1);
      first = false;
      write_key(key);
      plain(style_.key_separator);
      write_value(value, level + 1);
    }
    new_line(level);
    plain("}");
  }

  /// Writes a key. JSON's keys are texts; other scalars are written as their JSON in quotes.
  void write_key(const Value& key) {
    if (const MarkedText* text = key.as_text()) return write_text(*text);
    plain("\"");
    write_scalar(key);
    plain("\"");
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  MarkedText out_;
};

template <class AnyJson>
Value value_of(const AnyJson& json, Source source) {
  switch (json.type()) {
    case Json::value_t::boolean: return Value(json.template get<bool>());
    case Json::value_t::number_integer: return Value(json.template get<std::int64_t>());
    case Json::value_t::number_unsigned: return Value::whole(fmt::format("{}", json.template get<std::uint64_t>()));
    case Json::value_t::binary: return Value::whole(whole_digits(digits_of(json).value_or("0")).value_or("0"));
    case Json::value_t::number_float: return Value(json.template get<double>());
    case Json::value_t::string: return Value::text(json.template get_ref<const std::string&>(), source);
    case Json::value_t::array: {
      Items items;
      for (const AnyJson& item : json) items.push_back(value_of(item, source));
      return Value::list(std::move(items));
    }
    case Json::value_t::object: {
      auto dict = std::make_shared<DictObject>();
      for (const auto& [key, value] : json.items()) dict->append(Value::text(key, source), value_of(value, source));
      return Value(std::move(dict));
    }
    default: return Value::none();
  }
}

}  // namespace

MarkedText to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  return JsonWriter(runtime, style).write(value);
}

Value from_json(const Json& json, Source source) { return value_of(json, source); }
Value from_json(const OrderedJson& json, Source source) { return value_of(json, source); }

}  // namespace lathe::engine::jinja
