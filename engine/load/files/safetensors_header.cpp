// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/api/json.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kMaxRank = 16;  // PyTorch writes at most a handful; a longer list is an attack on memory

/// SAX handler for the header's grammar; each event function returns false at the first fault.
class HeaderReader {
 public:
  std::vector<SafetensorsEntry> take_entries() { return std::move(entries_); }
  const std::string& fault() const { return fault_; }
  const std::string& fault_entry() const { return fault_entry_; }

  bool null() { return refuse_header("null is not allowed"); }
  bool boolean(bool) { return refuse_header("true and false are not allowed"); }
  bool number_integer(std::int64_t value) { return refuse_header(fmt::format("negative number {}", value)); }
  bool number_float(double, const std::string& text) {
    return refuse_header(fmt::format("size overflow or fraction: {}", text));
  }
  bool binary(std::vector<std::uint8_t>&) { return refuse_header("binary value"); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ == Place::shape) {
      if (entries_.back().shape.size() == kMaxRank)
        return refuse_header(fmt::format("shape has more than {} dimensions", kMaxRank));
      entries_.back().shape.push_back(value);
      return true;
    }
    if (place_ == Place::offsets) {
      if (n_offsets_ == 2) return refuse_header("data_offsets must hold 2 numbers");
      entries_.back().data_offsets[n_offsets_++] = value;
      return true;
    }
    return refuse_header(fmt::format("a number instead of {}", expected()));
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) return true;
    if (place_ == Place::entry && field_ == Field::dtype) {
      entries_.back().dtype = std::move(value);
      return true;
    }
    return refuse_header(fmt::format("a string instead of {}", expected()));
  }

  bool start_object(std::size_t) {
    if (place_ == Place::outside) return enter(Place::header);
    if (place_ == Place::header) return enter(in_metadata_ ? Place::metadata : Place::entry);
    return refuse_header(fmt::format("an object instead of {}", expected()));
  }

  bool end_object() {
    if (place_ == Place::entry && fields_seen_ != kAllFields) return refuse_header("needs dtype, shape and data_offsets");
    return enter(place_ == Place::header ? Place::outside : Place::header);
  }

  bool start_array(std::size_t) {
    if (place_ == Place::entry && field_ == Field::shape) return enter(Place::shape);
    if (place_ == Place::entry && field_ == Field::offsets) {
      n_offsets_ = 0;
      return enter(Place::offsets);
    }
    return refuse_header(fmt::format("an array instead of {}", expected()));
  }

  bool end_array() {
    if (place_ == Place::offsets && n_offsets_ != 2) return refuse_header("data_offsets must hold 2 numbers");
    return enter(Place::entry);
  }

  bool key(std::string& name) {
    if (place_ == Place::header) return begin_entry(name);
    if (place_ == Place::metadata) {
      metadata_keys_.push_back(std::move(name));
      return true;
    }
    return begin_field(name);
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    return refuse_header(fmt::format("header is not valid JSON at byte {}", position));
  }

  bool has_twice(std::string& name) {
    std::sort(metadata_keys_.begin(), metadata_keys_.end());
    const auto twice = std::adjacent_find(metadata_keys_.begin(), metadata_keys_.end());
    if (twice == metadata_keys_.end()) return false;
    name = *twice;
    return true;
  }

 private:
  enum class Place { outside, header, metadata, entry, shape, offsets };
  enum class Field : unsigned { dtype = 1, shape = 2, offsets = 4 };
  static constexpr unsigned kAllFields = 7;

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  bool begin_entry(std::string& name) {
    in_metadata_ = name == kMetadata;
    fields_seen_ = 0;
    if (!in_metadata_) {
      entries_.emplace_back().name = std::move(name);
    } else if (std::exchange(metadata_seen_, true)) {
      return refuse_header("__metadata__ appears twice");
    }
    return true;
  }

  bool begin_field(const std::string& name) {
    if (name == "dtype") field_ = Field::dtype;
    else if (name == "shape") field_ = Field::shape;
    else if (name == "data_offsets") field_ = Field::offsets;
    else return refuse_header(fmt::format("unknown field '{:.64}'", name));
    const auto bit = static_cast<unsigned>(field_);
    if ((fields_seen_ & bit) != 0) return refuse_header(fmt::format("field '{}' appears twice", name));
    fields_seen_ |= bit;
    return true;
  }

  std::string_view expected() const {
    switch (place_) {
      case Place::outside: return "the header object";
      case Place::header: return "an object";
      case Place::metadata: return "a string";
      case Place::shape:
      case Place::offsets: return "a non-negative integer";
      case Place::entry: break;
    }
    return field_ == Field::dtype ? "a string" : "an array";
  }

  bool refuse_header(std::string fault) {
    fault_ = std::move(fault);
    if (in_metadata_) fault_entry_ = kMetadata;
    else if (place_ > Place::metadata) fault_entry_ = entries_.back().name;
    return false;
  }

  std::vector<SafetensorsEntry> entries_;
  std::vector<std::string> metadata_keys_;
  std::string fault_, fault_entry_;
  Place place_ = Place::outside;
  Field field_ = Field::dtype;
  unsigned fields_seen_ = 0;
  std::size_t n_offsets_ = 0;
  bool in_metadata_ = false, metadata_seen_ = false;
};

tl::unexpected<Error> refuse_header(std::string message, const std::string& file, std::string_view entry = {}) {
  return fail(ErrorCode::model_refused, std::move(message),
              entry.empty() ? file + ": header" : fmt::format("{}: {:.200}", file, entry));
}

}  // namespace

Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::string_view json, const std::string& file) {
  if (json.empty() || json.front() != '{') return refuse_header("header does not start with '{'", file);
  // The JSON library stops at a NUL; other readers would still see the bytes after it.
  if (const auto nul = json.find('\0'); nul != std::string_view::npos) {
    return refuse_header(fmt::format("NUL byte in the header at byte {}", nul), file);
  }
  HeaderReader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) return refuse_header(reader.fault(), file, reader.fault_entry());
  if (std::string key; reader.has_twice(key)) {
    return refuse_header(fmt::format("key '{:.64}' appears twice", key), file, kMetadata);
  }
  std::vector<SafetensorsEntry> entries = reader.take_entries();
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice != entries.end()) return refuse_header("tensor appears twice", file, twice->name);
  return entries;
}

}  // namespace lathe::engine
