// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/percent_format.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/format_spec.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

class PercentFormat {
 public:
  PercentFormat(Runtime& runtime, const MarkedText& format, const Value& values)
      : runtime_(runtime), format_(format), text_(format.text()), values_(values) {
    const ListObject* list = values.as_list();
    if (list != nullptr && list->is_tuple) tuple_ = &list->items;
  }

  MarkedText run() {
    while (at_ < text_.size()) {
      const std::size_t percent = std::min(text_.find('%', at_), text_.size());
      append(format_.part(at_, percent));
      at_ = percent;
      if (at_ < text_.size()) append(read_item());
    }
    // Lists and dicts count as mappings, whose entries need not all be used.
    const bool all_used = tuple_ != nullptr ? next_ == tuple_->size() : next_ > 0 || by_name_;
    const bool may_be_left = tuple_ == nullptr && (values_.as_dict() != nullptr || values_.as_list() != nullptr);
    if (!all_used && !may_be_left) throw Failure("the format does not use all values");
    return std::move(out_);
  }

 private:
  /// Larger than any allowed width, and small enough that arithmetic with widths cannot overflow.
  static constexpr std::int64_t kMaxNumber = 1 << 26;

  void append(const MarkedText& part) {
    runtime_.charge_growth(out_.size(), part.size());
    out_.append(part);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  const Value& next_value() {
    const std::size_t n = tuple_ != nullptr ? tuple_->size() : 1;
    if (next_ >= n) throw Failure("the format needs more values");
    return tuple_ != nullptr ? (*tuple_)[next_++] : (++next_, values_);
  }

  /// Returns the entry with the name in brackets.
  Value named_value() {
    const std::size_t end = text_.find(')', at_);
    if (end == text_.npos) throw Failure("the format has a name that is not closed");
    const DictObject* dict = values_.as_dict();
    if (dict == nullptr || !dict->is_dict()) throw Failure("the format needs a dict for its names");
    const std::string_view name = std::string_view(text_).substr(at_ + 1, end - at_ - 1);
    const Value* found = dict->find(runtime_, name);
    if (found == nullptr) throw Failure(fmt::format("the format finds no \"{}\"", printable_excerpt(name)));
    at_ = end + 1;
    by_name_ = true;
    return *found;
  }

  /// Reads a number, or a star, which takes the number from the values.
  std::int64_t read_number() {
    if (peek() == '*') {
      ++at_;
      const auto number = next_value().as_integer();
      if (!number) throw Failure("the format needs a whole number for *");
      if (*number < -kMaxNumber || *number > kMaxNumber) throw Failure("the format has a number that is too large");
      return *number;
    }
    std::int64_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
      if (number > kMaxNumber) throw Failure("the format has a number that is too large");
      number = number * 10 + (text_[at_++] - '0');
    }
    return number;
  }

  /// Formats one item, from its % on.
  MarkedText read_item() {
    const std::size_t percent = at_++;
    std::optional<Value> named;
    if (peek() == '(') named = named_value();
    FormatSpec spec;
    spec.align = '>';
    for (; peek() != '\0' && std::string_view("-+ #0").find(peek()) != std::string_view::npos; ++at_) set_flag(spec, peek());
    spec.width = read_number();
    if (spec.width < 0) {
      spec.width = -spec.width;
      set_flag(spec, '-');
    }
    if (peek() == '.') {
      ++at_;
      const std::int64_t precision = std::max<std::int64_t>(0, read_number());
      if (precision > kMaxPrecision) throw Failure(fmt::format("format: the precision is more than {}", kMaxPrecision));
      spec.precision = static_cast<int>(precision);
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    spec.type = peek();
    if (spec.type == '\0') throw Failure("the format ends within a %");
    ++at_;
    if (spec.type == '%') return MarkedText("%", format_.source_at(percent));
    return item(named ? *named : next_value(), spec);
  }

  static void set_flag(FormatSpec& spec, char flag) {
    if (flag == '-') {
      spec.align = '<';
      spec.fill = " ";
    } else if (flag == '0' && spec.align != '<') {
      spec.align = '=';
      spec.fill = "0";
    } else if (flag == '+' || (flag == ' ' && spec.sign != '+')) {
      spec.sign = flag;
    } else if (flag == '#') {
      spec.alternate = true;
    }
  }

  MarkedText item(const Value& value, FormatSpec spec) {
    switch (spec.type) {
      case 's':
      case 'r':
        if (spec.align == '=') spec.align = '>';
        if (spec.fill == "0") spec.fill = " ";
        return formatted_text(runtime_, spec.type == 's' ? to_text(runtime_, value) : to_repr(runtime_, value), spec);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': return integer_item(value, spec);
      case 'c': return character_item(value, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': require_number(value); return formatted_number(runtime_, Value(*value.as_number()), spec);
      default:
        throw Failure(
            fmt::format("the format has an unknown kind \"%{}\"", printable_excerpt(std::string_view(&spec.type, 1))));
    }
  }

  static void require_number(const Value& value) {
    require_defined(value);
    if (!value.as_number()) throw Failure(fmt::format("the format needs a number, got {}", type_name(value)));
  }

  MarkedText long_item(const Value& value, FormatSpec spec) {
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    return formatted_number(runtime_, value, spec);
  }

  MarkedText integer_item(const Value& value, FormatSpec spec) {
    require_number(value);
    if (value.as_long() != nullptr) return long_item(value, spec);
    auto integer = value.as_integer();
    if (!integer) {
      const double number = *value.as_number();
      const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
      if (!decimal) throw Failure(fmt::format("%{} needs a whole number, got float", spec.type));
      if (!(std::abs(number) < 9.2e18)) throw Failure("a whole number does not fit into 64 bits");
      integer = static_cast<std::int64_t>(number);
    }
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    const int n_digits = spec.precision;  // minimum number of digits
    spec.precision = -1;
    if (n_digits < 0) return formatted_number(runtime_, Value(*integer), spec);
    FormatSpec digits = spec;
    digits.align = '=';
    digits.fill = "0";
    // The sign and 0x do not count as digits; zeros up to the width do.
    const bool has_prefix = spec.alternate && spec.type != 'd';
    digits.width = n_digits + (*integer < 0 || spec.sign != '-' ? 1 : 0) + (has_prefix ? 2 : 0);
    if (spec.align == '=') digits.width = std::max(digits.width, spec.width);
    const MarkedText number = formatted_number(runtime_, Value(*integer), digits);
    if (spec.align == '=') spec.align = '>';
    return formatted_text(runtime_, number, spec);
  }

  MarkedText character_item(const Value& value, FormatSpec spec) {
    spec.precision = -1;
    if (spec.align == '=') spec.align = '>';
    spec.fill = " ";
    if (value.as_text() == nullptr && value.as_integer()) return formatted_number(runtime_, value, spec);
    if (value.as_text() == nullptr || n_characters(value.as_text()->text()) != 1) throw Failure("%c needs one character");
    return formatted_text(runtime_, *value.as_text(), spec);
  }

  Runtime& runtime_;
  const MarkedText& format_;
  const std::string& text_;
  const Value& values_;
  const Items* tuple_ = nullptr;
  std::size_t next_ = 0, at_ = 0;
  bool by_name_ = false;
  MarkedText out_;
};

}  // namespace

MarkedText percent_formatted(Runtime& runtime, const MarkedText& format, const Value& values) {
  return PercentFormat(runtime, format, values).run();
}

}  // namespace lathe::engine::jinja
