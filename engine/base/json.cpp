// SPDX-License-Identifier: Apache-2.0
#include "engine/api/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "engine/api/exact_json.h"
#include "engine/api/python_json.h"
#include "engine/base/non_finite.h"
#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Iterates over the text and records how far the parser has read, since the events of nlohmann's parser do not say.
class CountingCursor {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingCursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingCursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingCursor operator++(int) {
    const CountingCursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingCursor& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// Departures from JSON that a parser allows.
struct JsonLeniency {
  bool takes_non_finite = false;  ///< the text went through with_finite_spellings()
  bool takes_tags = false;        ///< an object with the one key "__float__" is a number
  bool last_key_wins = false;     ///< for ordered JSON: a repeated key is no error
  bool keeps_digits = false;      ///< whole numbers of more than 64 bits are binary values
};

/// Builds the value from parser events; stops at the first broken limit or repeated key.
template <class AnyJson>
class LimitedBuilder {
 public:
  LimitedBuilder(const JsonLimits& limits, const JsonLeniency& leniency) : limits_(limits), leniency_(leniency) {}

  // SAX interface of nlohmann, which defines these names and signatures.
  bool null() { return add(AnyJson()) != nullptr; }
  bool boolean(bool value) { return add(AnyJson(value)) != nullptr; }
  bool number_integer(typename AnyJson::number_integer_t value) { return add(AnyJson(value)) != nullptr; }
  bool number_unsigned(typename AnyJson::number_unsigned_t value) { return add(AnyJson(value)) != nullptr; }
  bool number_float(typename AnyJson::number_float_t value, const std::string& token) {
    if (leniency_.takes_non_finite) value = non_finite_of(token).value_or(value);
    const bool is_whole = token.find_first_of(".eE") == token.npos;
    if (!leniency_.keeps_digits || !is_whole) return add(AnyJson(value)) != nullptr;
    return add(AnyJson::binary(typename AnyJson::binary_t::container_type(token.begin(), token.end()))) != nullptr;
  }
  bool string(std::string& value) { return add(AnyJson(std::move(value))) != nullptr; }
  bool binary(typename AnyJson::binary_t&) { return refuse("binary data is not JSON"); }
  bool start_object(std::size_t) { return open(AnyJson::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(AnyJson::array()); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    slot_ = add_key(open_.back()->template get_ref<typename AnyJson::object_t&>(), name);
    if (slot_ == nullptr) {
      return refuse(fmt::format("the key \"{}\" appears twice in one object", printable_excerpt(name)));
    }
    return count();
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    error_at_ = position == 0 ? 0 : position - 1;
    // "[json.exception...] parse error at line 1, column 2: syntax error while parsing value - invalid literal; last read:
    // 'x'": the reason is kept, the bytes that were read are not echoed.
    std::string_view text = error.what();
    if (const auto dash = text.find(" - "); dash != text.npos) {
      text.remove_prefix(dash + 3);
    } else if (const auto bracket = text.find("] "); bracket != text.npos) {
      text.remove_prefix(bracket + 2);
    }
    error_ = printable_excerpt(text.substr(0, text.find("; last read")), 160);
    if (error.id == 406) error_ = "a number is too large for a double";
    has_position_ = position != 0;
    return false;
  }

  AnyJson take() { return std::move(root_); }
  const std::string& error() const { return error_; }
  bool has_position() const { return has_position_; }
  std::size_t error_at() const { return error_at_; }

 private:
  bool refuse(std::string reason) {
    error_ = std::move(reason);
    return false;
  }
  /// The slot for the key's value; null when the key exists already.
  static Json* add_key(Json::object_t& object, const std::string& name) {
    const auto [slot, inserted] = object.emplace(name, Json());
    return inserted ? &slot->second : nullptr;
  }
  /// OrderedJson itself searches a key linearly and copies its values when it grows: both are quadratic for a hostile text.
  OrderedJson* add_key(OrderedJson::object_t& object, const std::string& name) {
    std::vector<OrderedJson::object_t::value_type>& entries = object;
    const auto [known, inserted] = names_.back().emplace(name, entries.size());
    if (!inserted) return leniency_.last_key_wins ? &entries[known->second].second : nullptr;
    if (entries.size() == entries.capacity()) {
      std::vector<OrderedJson::object_t::value_type> more;
      more.reserve(2 * entries.size() + 1);
      for (auto& [key, value] : entries) more.emplace_back(key, std::move(value));
      entries.swap(more);
    }
    return &entries.emplace_back(name, OrderedJson()).second;
  }
  bool count() {
    if (++n_nodes_ <= limits_.max_nodes) return true;
    return refuse(fmt::format("more than {} values and keys", limits_.max_nodes));
  }
  AnyJson* add(AnyJson value) {
    if (!count()) return nullptr;
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) {
      auto& array = open_.back()->template get_ref<typename AnyJson::array_t&>();
      return &array.emplace_back(std::move(value));
    }
    return &(*slot_ = std::move(value));
  }
  bool open(AnyJson container) {
    if (open_.size() >= static_cast<std::size_t>(limits_.max_depth)) {
      return refuse(fmt::format("nested deeper than {} levels", limits_.max_depth));
    }
    AnyJson* added = add(std::move(container));
    if (added == nullptr) return false;
    open_.push_back(added);
    if constexpr (kIsOrdered) names_.emplace_back();
    return true;
  }
  bool close() {
    if (leniency_.takes_tags) take_tagged_number(*open_.back());
    open_.pop_back();
    if constexpr (kIsOrdered) names_.pop_back();
    return true;
  }

  /// transformers 5 writes a number that JSON does not have as {"__float__": "Infinity"}.
  static void take_tagged_number(AnyJson& json) {
    if (!json.is_object() || json.size() != 1) return;
    const auto tagged = json.find("__float__");
    if (tagged == json.end() || !tagged->is_string()) return;
    const auto number = non_finite_of(with_finite_spellings(tagged->template get_ref<const std::string&>()));
    if (number) json = *number;
  }

  static constexpr bool kIsOrdered = std::is_same_v<AnyJson, OrderedJson>;

  JsonLimits limits_;
  JsonLeniency leniency_;
  AnyJson root_;
  std::vector<AnyJson*> open_;                                       // containers around the next value, outermost first
  std::vector<std::unordered_map<std::string, std::size_t>> names_;  // keys of each open container, with their indices
  AnyJson* slot_ = nullptr;                                          // slot for the value of the last key
  std::size_t n_nodes_ = 0;
  std::string error_;
  std::size_t error_at_ = 0;
  bool has_position_ = false;
};

template <class AnyJson>
std::string dump_any(const AnyJson& json, int indent) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

template <class AnyJson>
std::optional<std::string> digits_in(const AnyJson& value) {
  if (!value.is_binary()) return std::nullopt;
  const auto& bytes = value.get_binary();
  return std::string(bytes.begin(), bytes.end());
}

bool has_digits(const OrderedJson& json) {
  return json.is_binary() || (json.is_structured() && std::any_of(json.begin(), json.end(), has_digits));
}

void dump_exactly(const OrderedJson& json, std::string& out) {
  if (!json.is_structured() || json.empty()) {
    out += digits_in(json).value_or(std::string());
    if (!json.is_binary()) out += dump_any(json, -1);
    return;
  }
  out += json.is_array() ? '[' : '{';
  for (auto item = json.begin(); item != json.end(); ++item) {
    if (item != json.begin()) out += ',';
    if (json.is_object()) out.append(dump_any(OrderedJson(item.key()), -1)).append(":");
    dump_exactly(*item, out);
  }
  out += json.is_array() ? ']' : '}';
}

template <class AnyJson>
Result<AnyJson> parse_any(std::string_view text, std::string_view name, const JsonLimits& limits,
                          const JsonLeniency& leniency = {}) {
  const auto refuse = [&](std::size_t at, std::string_view reason) {
    return fail(ErrorCode::invalid_argument, fmt::format("not valid JSON at byte {}: {}", at, reason), std::string(name));
  };
  if (text.empty()) return refuse(0, "the text is empty");
  if (text.starts_with(kByteOrderMark)) return refuse(0, "it begins with a byte order mark; send UTF-8 without one");
  // The parser takes a NUL byte for the end of the text, and would not read what follows it.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) return refuse(nul, "a NUL byte is no part of JSON");
  if (const std::size_t bad = first_invalid_utf8(text); bad != text.size()) return refuse(bad, "this byte is not UTF-8");

  const char* reached = text.data();
  LimitedBuilder<AnyJson> builder(limits, leniency);
  try {
    const bool parsed = AnyJson::sax_parse(CountingCursor(text.data(), &reached),
                                           CountingCursor(text.data() + text.size(), &reached), &builder);
    if (parsed) return builder.take();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::resource_exhausted, "not enough memory to read it", std::string(name));
  } catch (const std::exception& error) {
    return refuse(static_cast<std::size_t>(reached - text.data()), error.what());
  }
  return refuse(builder.has_position() ? builder.error_at() : static_cast<std::size_t>(reached - text.data()),
                builder.error());
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  return parse_any<Json>(text, name, limits);
}
Result<OrderedJson> parse_ordered_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  return parse_any<OrderedJson>(text, name, limits);
}
Result<OrderedJson> parse_exact_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  return parse_any<OrderedJson>(text, name, limits, {.keeps_digits = true});
}
Result<Json> parse_python_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return parse_any<Json>(with_finite_spellings(text), name, limits, {.takes_non_finite = true, .takes_tags = true});
}
Result<OrderedJson> parse_python_ordered_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  auto strict = parse_ordered_json(text, name, limits);
  if (strict) return strict;
  return parse_any<OrderedJson>(with_finite_spellings(text), name, limits,
                                {.takes_non_finite = true, .last_key_wins = true});
}

std::string excerpt_of_json(const Json& value) {
  if (value.is_number_float() && std::isnan(value.get<double>())) return "NaN";
  if (value.is_number_float() && std::isinf(value.get<double>())) return value.get<double>() < 0 ? "-Infinity" : "Infinity";
  return fmt::format("{:.80}", dump_json(value));
}

std::optional<std::string> digits_of(const Json& value) { return digits_in(value); }
std::optional<std::string> digits_of(const OrderedJson& value) { return digits_in(value); }
OrderedJson rounded_json(OrderedJson json) {
  if (const auto digits = digits_in(json)) return parse_ordered_json(*digits, "number").value_or(OrderedJson());
  if (json.is_structured())
    for (OrderedJson& value : json) value = rounded_json(std::move(value));
  return json;
}
std::string dump_exact_json(const OrderedJson& json) {
  if (!has_digits(json)) return dump_any(json, -1);
  std::string out;
  dump_exactly(json, out);
  return out;
}

std::string dump_json(const Json& json, int indent) { return dump_any(json, indent); }
std::string dump_json(const OrderedJson& json, int indent) { return dump_any(json, indent); }

}  // namespace lathe::engine
