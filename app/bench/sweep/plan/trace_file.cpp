// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/plan/trace_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>

#include "app/bench/sweep/result/run_record.h"
#include "engine/api/json.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

constexpr std::array<std::string_view, 3> kNames = {"arrival", "prompt_tokens", "output_tokens"};
constexpr std::array<std::string_view, 3> kMooncakeNames = {"timestamp", "input_length", "output_length"};
constexpr std::array<std::string_view, 3> kAzureNames = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
constexpr double kMillisecond = 1e-3;
constexpr const char* kBlocks = "hash_ids";
constexpr double kMostTokens = 1 << 20;
using Numbers = std::array<double, kNames.size()>;

/// A line of a trace and its number; errors name "trace.csv, line 3".
struct Line {
  const std::string& path;
  int number = 0;
  std::string text{};

  tl::unexpected<engine::Error> refuse(std::string message) const {
    return engine::fail(ErrorCode::invalid_argument, std::move(message), fmt::format("{}, line {}", path, number));
  }
};

std::string_view trimmed_field(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\"";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t comma = 0; comma != line.npos;) {
    comma = line.find(',');
    fields.push_back(trimmed_field(line.substr(0, comma)));
    if (comma != line.npos) line.remove_prefix(comma + 1);
  }
  return fields;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Removes `n` digits from the front of the text; nothing: there are fewer.
std::optional<int> take_digits(std::string_view& text, std::size_t n) {
  int value = 0;
  const std::string_view digits = text.substr(0, n);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.size() < n || error != std::errc() || end != digits.data() + n || value < 0) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == any_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

/// Seconds of a date like "2023-11-16 18:15:46.6805900", read as UTC: only differences count. Nothing: the text is no date.
std::optional<double> time_of(std::string_view text) {
  constexpr std::array<std::string_view, 5> kBetween = {"-", "-", " T", ":", ":"};
  std::array<int, 6> parts{};  // year to second
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = take_digits(text, i == 0 ? 4 : 2);
    if (!part || (i < kBetween.size() && !take(text, kBetween[i]))) return std::nullopt;
    parts[i] = *part;
  }
  const std::chrono::year_month_day day(std::chrono::year(parts[0]), std::chrono::month(static_cast<unsigned>(parts[1])),
                                        std::chrono::day(static_cast<unsigned>(parts[2])));
  if (!day.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 60) return std::nullopt;
  double fraction = 0;
  if (!text.empty()) {
    const bool has_digits = text.starts_with('.') && text.size() > 1 && text.find_first_not_of("0123456789", 1) == text.npos;
    const auto rest = has_digits ? number_of("0" + std::string(text)) : std::nullopt;
    if (!rest) return std::nullopt;
    fraction = *rest;
  }
  const std::chrono::seconds of_day = std::chrono::sys_days(day).time_since_epoch();
  return static_cast<double>(of_day.count() + 3600 * parts[3] + 60 * parts[4] + parts[5]) + fraction;
}

/// Names and positions of the three fields of a request in a CSV line.
struct Columns {
  std::array<std::string_view, kNames.size()> names = kNames;
  std::array<std::size_t, kNames.size()> places = {0, 1, 2};
  bool has_dates = false;  ///< arrivals are "2023-11-16 18:15:46.68", else seconds
};

/// Reads the columns from a header line; nothing: the line is no header.
Result<std::optional<Columns>> columns_of(const Line& line) {
  const auto fields = fields_of(line.text);
  if (number_of(fields.front())) return std::nullopt;
  const auto has = [&](std::string_view name) { return std::find(fields.begin(), fields.end(), name) != fields.end(); };
  Columns columns;
  columns.has_dates = std::any_of(kAzureNames.begin(), kAzureNames.end(), has);
  if (columns.has_dates) columns.names = kAzureNames;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto found = std::find(fields.begin(), fields.end(), columns.names[i]);
    if (found == fields.end()) {
      return line.refuse(fmt::format("the header of a trace must name {}, or, in Azure's format, {}; there is no {}",
                                     fmt::join(kNames, ", "), fmt::join(kAzureNames, ", "), columns.names[i]));
    }
    columns.places[i] = static_cast<std::size_t>(found - fields.begin());
  }
  return columns;
}

Result<Numbers> numbers_of(const Line& line, const Columns& columns) {
  const auto fields = fields_of(line.text);
  Numbers numbers{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::size_t place = columns.places[i];
    if (place >= fields.size())
      return line.refuse(
          fmt::format("there are {} fields, but {} is number {}", fields.size(), columns.names[i], place + 1));
    const bool is_date = columns.has_dates && i == 0;
    const auto value = is_date ? time_of(fields[place]) : number_of(fields[place]);
    if (!value) {
      return line.refuse(fmt::format("{} must be {}, got '{}'", columns.names[i],
                                     is_date ? "a time like 2023-11-16 18:15:46.68" : "a number",
                                     fields[place].substr(0, 40)));
    }
    numbers[i] = *value;
  }
  return numbers;
}

Result<TracedRequest> request_of(const Line& line, const Numbers& numbers) {
  if (!std::isfinite(numbers[0])) return line.refuse("arrival must be a finite number of seconds");
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (numbers[i] >= 1 && numbers[i] <= kMostTokens && numbers[i] == std::floor(numbers[i])) continue;
    return line.refuse(
        fmt::format("{} must be a whole number from 1 to {:.0f}, got {}", kNames[i], kMostTokens, numbers[i]));
  }
  return TracedRequest{.arrival = numbers[0],
                       .prompt_tokens = static_cast<std::int64_t>(numbers[1]),
                       .output_tokens = static_cast<std::int64_t>(numbers[2])};
}

/// Reads the block ids, which must cover the prompt. Without ids prompts have no block in common.
Result<std::vector<std::int64_t>> blocks_of(const Line& line, const engine::Json& json, std::int64_t prompt_tokens) {
  std::vector<std::int64_t> blocks;
  if (!json.contains(kBlocks)) return blocks;
  if (!json[kBlocks].is_array()) return line.refuse(fmt::format("{} must be a list of whole numbers", kBlocks));
  for (const engine::Json& block : json[kBlocks]) {
    if (!block.is_number_unsigned()) return line.refuse(fmt::format("{} must be a list of whole numbers", kBlocks));
    blocks.push_back(block.get<std::int64_t>());
  }
  const auto n_wanted = static_cast<std::size_t>((prompt_tokens + kTraceBlock - 1) / kTraceBlock);
  if (blocks.size() >= n_wanted) {
    blocks.resize(n_wanted);
    return blocks;
  }
  return line.refuse(fmt::format("{} has {} blocks of {} tokens, a prompt of {} tokens needs {}", kBlocks, blocks.size(),
                                 kTraceBlock, prompt_tokens, n_wanted));
}

Result<TracedRequest> from_json(const Line& line) {
  LATHE_TRY(const engine::Json json, engine::parse_json(line.text, fmt::format("{}, line {}", line.path, line.number)));
  const bool is_mooncake = json.is_object() && json.contains(kMooncakeNames[0]);
  Numbers numbers{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::string name(is_mooncake ? kMooncakeNames[i] : kNames[i]);
    if (!json.is_object() || !json.contains(name) || !json[name].is_number())
      return line.refuse(fmt::format("must be an object with a number \"{}\"", name));
    numbers[i] = json[name].get<double>();
  }
  if (is_mooncake) numbers[0] *= kMillisecond;
  LATHE_TRY(TracedRequest request, request_of(line, numbers));
  if (is_mooncake) {
    LATHE_TRY(request.blocks, blocks_of(line, json, request.prompt_tokens));
  }
  return request;
}

Result<TracedRequest> from_csv(const Line& line, const Columns& columns) {
  LATHE_TRY(const Numbers numbers, numbers_of(line, columns));
  return request_of(line, numbers);
}

}  // namespace

Result<std::vector<TracedRequest>> read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return engine::fail(ErrorCode::not_found, "there is no readable trace", path);
  const bool is_json = path.ends_with(".jsonl");
  Columns columns;
  bool has_head = false;
  std::vector<TracedRequest> requests;
  for (Line line{path}; std::getline(file, line.text);) {
    ++line.number;
    if (trimmed_field(line.text).empty()) continue;
    if (!is_json && requests.empty() && !has_head) {
      LATHE_TRY(const auto named, columns_of(line));
      if (named) {
        columns = *named;
        has_head = true;
        continue;
      }
    }
    LATHE_TRY(TracedRequest request, is_json ? from_json(line) : from_csv(line, columns));
    requests.push_back(std::move(request));
  }
  if (requests.empty()) return engine::fail(ErrorCode::invalid_argument, "has no request", path);
  std::stable_sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
  const double first = requests.front().arrival;
  for (TracedRequest& request : requests) request.arrival -= first;
  return requests;
}

}  // namespace lathe::app
