// SPDX-License-Identifier: Apache-2.0
// Filters on lists and dicts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/text/template/builtins/filters.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/tests.h"
#include "engine/text/template/builtins/text_changes.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

/// Returns item[path] for a path like "function.name" or 0; `fallback` (if given) where a step of the path does not exist.
Value at_path(Runtime& r, const Value& item, const Value& path, const Value* fallback = nullptr) {
  const auto or_fallback = [&](Value found) {
    return found.is_undefined() && fallback != nullptr && !fallback->is_none() ? *fallback : std::move(found);
  };
  if (path.as_text() == nullptr) return or_fallback(subscript(r, item, path));
  Value found = item;
  std::string_view rest = path.as_text()->text();
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_index = error == std::errc() && end == name.data() + name.size();
    found = or_fallback(subscript(r, found, is_index ? Value(index) : Value::text(name)));
    if (dot == rest.npos) return found;
    rest.remove_prefix(dot + 1);
  }
}

/// Returns the items, each replaced by its value at the argument "attribute" if that is given.
Items items_at(Runtime& r, const Value& v, const Value* path) {
  Items items = items_of(r, v);
  if (path == nullptr || path->is_none()) return items;
  for (Value& item : items) item = at_path(r, item, *path);
  return items;
}

/// Returns the key to compare by: texts are lowercased unless `case_sensitive`.
Value sort_key(Runtime& r, const Value& value, bool case_sensitive) {
  return value.as_text() == nullptr || case_sensitive ? value : Value(with_case(r, *value.as_text(), LetterCase::lower));
}

/// Returns the sort key of an item: its value at one path or, for "a,b", at several; or the item itself.
Value sort_key_at(Runtime& r, const Value& item, const Value* paths, bool case_sensitive) {
  if (paths == nullptr || paths->is_none()) return sort_key(r, item, case_sensitive);
  if (paths->as_text() == nullptr) return sort_key(r, at_path(r, item, *paths), case_sensitive);
  Items keys;
  std::string_view rest = paths->as_text()->text();
  while (true) {
    const std::size_t comma = rest.find(',');
    r.charge(8);  // the keys of all items live at the same time
    keys.push_back(sort_key(r, at_path(r, item, Value::text(rest.substr(0, comma))), case_sensitive));
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  // A comparison of lists skips equal elements, also those without an order.
  return keys.size() == 1 && !keys[0].is_undefined() ? std::move(keys[0]) : Value::list(std::move(keys));
}

void sort_by(Runtime& r, Items& items, bool reverse, const std::function<Value(const Value&)>& key) {
  std::vector<std::pair<Value, Value>> keyed;
  r.charge(8 * items.size());
  for (Value& item : items) {
    Value k = key(item);
    keyed.emplace_back(std::move(k), std::move(item));
  }
  // An exception in the comparison leaves `keyed` valid, which is enough then.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? compare(r, b.first, a.first) < 0 : compare(r, a.first, b.first) < 0;
  });
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = std::move(keyed[i].second);
}

Value filter_length(Runtime& r, const Value& v, const Arguments&) {
  r.charge(v.as_text() != nullptr ? 1 + v.as_text()->size() / 16 : 1);
  if (const auto length = length_of(v)) return Value(*length);
  throw Failure(fmt::format("{} has no length", type_name(v)));
}
Value filter_first(Runtime& r, const Value& v, const Arguments&) {
  const Items items = items_of(r, v);
  return items.empty() ? Value::undefined("first") : items.front();
}
Value filter_last(Runtime& r, const Value& v, const Arguments&) {
  const Items items = items_of(r, v);
  return items.empty() ? Value::undefined("last") : items.back();
}
Value filter_list(Runtime& r, const Value& v, const Arguments&) { return Value::list(items_of(r, v)); }
Value filter_reverse(Runtime& r, const Value& v, const Arguments&) {
  if (v.as_text() != nullptr) return sliced(r, v, Value::none(), Value::none(), Value(-1));
  Items items = items_of(r, v);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}
Value filter_join(Runtime& r, const Value& v, const Arguments& a) {
  const Value* separator = a.find(0, "d");
  return joined_items(r, separator != nullptr ? to_text(r, *separator) : MarkedText(),
                      items_at(r, v, a.find(1, "attribute")));
}

Value filter_sort(Runtime& r, const Value& v, const Arguments& a) {
  Items items = items_of(r, v);
  const bool case_sensitive = flag_argument(a, 1, "case_sensitive", false);
  const Value* path = a.find(2, "attribute");
  sort_by(r, items, flag_argument(a, 0, "reverse", false),
          [&](const Value& item) { return sort_key_at(r, item, path, case_sensitive); });
  return Value::list(std::move(items));
}

/// Returns pairs of a value at the path and the items that have this value, in the order of the values.
Value filter_groupby(Runtime& r, const Value& v, const Arguments& a) {
  const Value *path = a.find(0, "attribute"), *fallback = a.find(1, "default");
  if (path == nullptr) throw Failure("groupby needs an attribute");
  const bool case_sensitive = flag_argument(a, 2, "case_sensitive", false);
  const auto at = [&](const Value& item) { return path->is_none() ? item : at_path(r, item, *path, fallback); };
  const auto key = [&](const Value& item) { return sort_key(r, at(item), case_sensitive); };
  Items items = items_of(r, v), groups, group;
  sort_by(r, items, false, key);
  const auto end_group = [&] {
    if (group.empty()) return;
    r.charge(8);
    Value common = at(group.front());
    groups.push_back(Value::group(std::move(common), Value::list(std::exchange(group, {}))));
  };
  Value last;
  for (Value& item : items) {
    Value next = key(item);
    if (!group.empty() && !equal(r, last, next)) end_group();
    last = std::move(next);
    group.push_back(std::move(item));
  }
  end_group();
  return Value::list(std::move(groups));
}

Value filter_items(Runtime& r, const Value& v, const Arguments& a) {
  if (v.is_undefined()) return Value::list({});
  const Method pairs = find_method(v, "items");
  if (pairs == nullptr) throw Failure(fmt::format("items needs a dict, got {}", type_name(v)));
  return pairs(r, v, a);
}

Value filter_dictsort(Runtime& r, const Value& v, const Arguments& a) {
  Items pairs = items_of(r, filter_items(r, v, {}));
  const bool case_sensitive = flag_argument(a, 0, "case_sensitive", false);
  const Value* by = a.find(1, "by");
  const std::string by_name = by != nullptr ? to_text(r, *by).text() : "key";
  if (by_name != "key" && by_name != "value") throw Failure("dictsort sorts by key or value");
  const std::size_t side = by_name == "value" ? 1 : 0;
  sort_by(r, pairs, flag_argument(a, 2, "reverse", false),
          [&](const Value& pair) { return sort_key(r, pair.as_list()->items[side], case_sensitive); });
  return Value::list(std::move(pairs));
}

Value filter_unique(Runtime& r, const Value& v, const Arguments& a) {
  const bool case_sensitive = flag_argument(a, 0, "case_sensitive", false);
  const Value* path = a.find(1, "attribute");
  Items out, seen;
  for (Value& item : items_of(r, v)) {
    Value key = sort_key(r, path != nullptr && !path->is_none() ? at_path(r, item, *path) : item, case_sensitive);
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(r, other, key); })) continue;
    seen.push_back(std::move(key));
    out.push_back(std::move(item));
  }
  return Value::list(std::move(out));
}

Value extreme(Runtime& r, const Value& v, const Arguments& a, bool want_max) {
  const bool case_sensitive = flag_argument(a, 0, "case_sensitive", false);
  const Value* path = a.find(1, "attribute");
  const auto key = [&](const Value& item) {
    return sort_key(r, path != nullptr && !path->is_none() ? at_path(r, item, *path) : item, case_sensitive);
  };
  Items items = items_of(r, v);
  if (items.empty()) return Value::undefined(want_max ? "max" : "min");
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto order = compare(r, key(items[i]), key(items[best]));
    if (want_max ? order > 0 : order < 0) best = i;
  }
  return items[best];
}
Value filter_max(Runtime& r, const Value& v, const Arguments& a) { return extreme(r, v, a, true); }
Value filter_min(Runtime& r, const Value& v, const Arguments& a) { return extreme(r, v, a, false); }

Value filter_sum(Runtime& r, const Value& v, const Arguments& a) {
  const Value* start = a.find(1, "start");
  Value sum = start != nullptr ? *start : Value(0);
  for (const Value& item : items_at(r, v, a.find(0, "attribute"))) sum = arithmetic(r, "+", sum, item);
  return sum;
}

/// Implements map(attribute="a.b", default=x) and map("filter", arguments...).
Value filter_map(Runtime& r, const Value& v, const Arguments& a) {
  const Value* path = nullptr;
  const Value* fallback = nullptr;
  for (const auto& [name, value] : a.named) {
    if (name == "attribute") path = &value;
    if (name == "default") fallback = &value;
  }
  if (!is_true(v)) return Value::list({});  // the result for any false value is an empty list
  Items items = items_of(r, v);
  if (path == nullptr && a.positional.empty()) throw Failure("map needs a filter or an attribute");
  r.charge(a.positional.size() + a.named.size());
  Arguments rest{.positional = path != nullptr ? Items() : Items(a.positional.begin() + 1, a.positional.end()),
                 .named = a.named};
  for (Value& item : items) {
    item = path != nullptr ? at_path(r, item, *path, fallback)
                           : run_filter(r, text_argument(a, 0, "filter").text(), item, rest);
  }
  return Value::list(std::move(items));
}

/// Implements select, reject and their attr forms: keeps or drops the items that pass a test (or are true).
Value chosen(Runtime& r, const Value& v, const Arguments& a, bool by_attribute, bool keep) {
  if (!is_true(v)) return Value::list({});  // the result for any false value is an empty list
  const std::size_t test_at = by_attribute ? 1 : 0;
  if (by_attribute && a.positional.empty()) throw Failure("selectattr needs an attribute");
  Arguments rest;
  r.charge(a.positional.size());
  if (a.positional.size() > test_at + 1)
    rest.positional.assign(a.positional.begin() + static_cast<std::ptrdiff_t>(test_at) + 1, a.positional.end());
  Items out;
  for (Value& item : items_of(r, v)) {
    const Value subject = by_attribute ? at_path(r, item, a.positional[0]) : item;
    const bool passes = a.positional.size() > test_at ? run_test(r, text_argument(a, test_at, "test").text(), subject, rest)
                                                      : is_true(subject);
    if (passes == keep) out.push_back(std::move(item));
  }
  return Value::list(std::move(out));
}
Value filter_select(Runtime& r, const Value& v, const Arguments& a) { return chosen(r, v, a, false, true); }
Value filter_reject(Runtime& r, const Value& v, const Arguments& a) { return chosen(r, v, a, false, false); }
Value filter_selectattr(Runtime& r, const Value& v, const Arguments& a) { return chosen(r, v, a, true, true); }
Value filter_rejectattr(Runtime& r, const Value& v, const Arguments& a) { return chosen(r, v, a, true, false); }

Value filter_batch(Runtime& r, const Value& v, const Arguments& a) {
  const std::int64_t size = integer_argument(a, 0, "linecount", 0);
  if (size < 1) throw Failure("batch needs a size of at least 1");
  const Value* fill = a.find(1, "fill_with");
  Items out, batch;
  for (Value& item : items_of(r, v)) {
    batch.push_back(std::move(item));
    if (static_cast<std::int64_t>(batch.size()) == size) out.push_back(Value::list(std::exchange(batch, {})));
  }
  if (batch.empty()) return Value::list(std::move(out));
  if (fill != nullptr && !fill->is_none()) {
    r.charge(static_cast<std::size_t>(size));
    batch.resize(static_cast<std::size_t>(size), *fill);
  }
  out.push_back(Value::list(std::move(batch)));
  return Value::list(std::move(out));
}

/// Implements slice: divides the items into `slices` lists of equal length; the first ones have one item more if the
/// division has a remainder.
Value filter_slice(Runtime& r, const Value& v, const Arguments& a) {
  const std::int64_t n_columns = integer_argument(a, 0, "slices", 0);
  if (n_columns < 1) throw Failure("slice needs at least one");
  const Value* fill = a.find(1, "fill_with");
  const Items items = items_of(r, v);
  const auto n_items = static_cast<std::int64_t>(items.size()), n_longer = n_items % n_columns;
  Items out;
  auto begin = items.begin();
  for (std::int64_t i = 0; i < n_columns; ++i) {
    r.charge(16);  // an empty list takes 100 bytes
    const auto end = begin + n_items / n_columns + (i < n_longer ? 1 : 0);
    Items column(begin, end);
    if (fill != nullptr && !fill->is_none() && i >= n_longer) column.push_back(*fill);
    out.push_back(Value::list(std::move(column)));
    begin = end;
  }
  return Value::list(std::move(out));
}

// THE TABLE of filters on lists.
constexpr std::array kListFilters = {
    NamedFilter{"length", filter_length, ""},
    NamedFilter{"count", filter_length, ""},
    NamedFilter{"first", filter_first, ""},
    NamedFilter{"last", filter_last, ""},
    NamedFilter{"list", filter_list, ""},
    NamedFilter{"reverse", filter_reverse, ""},
    NamedFilter{"join", filter_join, "d attribute"},
    NamedFilter{"sort", filter_sort, "reverse case_sensitive attribute"},
    NamedFilter{"items", filter_items, ""},
    NamedFilter{"dictsort", filter_dictsort, "case_sensitive by reverse"},
    NamedFilter{"groupby", filter_groupby, "attribute default case_sensitive"},
    NamedFilter{"unique", filter_unique, "case_sensitive attribute"},
    NamedFilter{"max", filter_max, "case_sensitive attribute"},
    NamedFilter{"min", filter_min, "case_sensitive attribute"},
    NamedFilter{"sum", filter_sum, "attribute start"},
    NamedFilter{"map", filter_map, "*"},
    NamedFilter{"select", filter_select, "*"},
    NamedFilter{"reject", filter_reject, "*"},
    NamedFilter{"selectattr", filter_selectattr, "*"},
    NamedFilter{"rejectattr", filter_rejectattr, "*"},
    NamedFilter{"batch", filter_batch, "linecount fill_with"},
    NamedFilter{"slice", filter_slice, "slices fill_with"},
};

}  // namespace

const NamedFilter* find_list_filter(std::string_view name) {
  for (const NamedFilter& filter : kListFilters) {
    if (filter.name == name) return &filter;
  }
  return nullptr;
}

}  // namespace lathe::engine::jinja
