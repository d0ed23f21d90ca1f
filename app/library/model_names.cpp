// SPDX-License-Identifier: Apache-2.0
#include "app/library/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/api/options.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;

constexpr std::size_t kNamed = 8;          // most names in a message
constexpr std::size_t kMaxCompared = 128;  // in bytes; a longer name is near to none
constexpr std::string_view kBorders = "/-_:.";

std::string lower_name(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lowered;
}

bool is_end_of(const std::string& name, const std::string& end) {
  if (end.empty() || name.size() <= end.size() || !name.ends_with(end)) return false;
  return kBorders.find(name[name.size() - end.size() - 1]) != std::string_view::npos;
}

using Fits = bool (*)(const std::string& name, const std::string& wanted);
constexpr std::array<Fits, 4> kFits = {
    [](const std::string& name, const std::string& wanted) { return name == wanted; },
    [](const std::string& name, const std::string& wanted) { return lower_name(name) == lower_name(wanted); },
    [](const std::string& name, const std::string& wanted) { return lower_name(name) == lower_name(wanted) + ":latest"; },
    [](const std::string& name, const std::string& wanted) { return is_end_of(lower_name(name), lower_name(wanted)); },
};

engine::Result<std::string> one_of(const std::vector<const LibraryEntry*>& fitting, const std::string& wanted) {
  if (fitting.size() == 1) return fitting.front()->path;
  std::string list;
  for (std::size_t i = 0; i < std::min(fitting.size(), kNamed); ++i) {
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", fitting[i]->name, fitting[i]->path);
  }
  if (fitting.size() > kNamed) list += fmt::format(" and {} more", fitting.size() - kNamed);
  return engine::fail(ErrorCode::invalid_argument,
                      fmt::format("{} models match this name: {}; give more of the name, or a path", fitting.size(), list),
                      wanted);
}

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0: the whole name
}

/// Returns the nearest name; the last part of each name is compared too, since users type paths or hub names. Empty: none is
/// near.
std::string nearest(std::span<const LibraryEntry> entries, const std::string& wanted) {
  const std::string sought = lower_name(wanted.substr(0, kMaxCompared)), sought_last = last_part(sought);
  std::string best;
  std::size_t best_distance = 1 + sought_last.size() / 3;
  for (const LibraryEntry& entry : entries) {
    const std::string whole = lower_name(entry.name.substr(0, kMaxCompared));
    const std::string last = last_part(whole);
    const std::size_t distance =
        std::min<std::size_t>({engine::edit_distance(sought, whole), engine::edit_distance(sought, last),
                               sought_last.empty() ? sought.size() : engine::edit_distance(sought_last, last)});
    if (distance < best_distance) best_distance = distance, best = entry.name;
  }
  return best;
}

std::string names_of(std::span<const LibraryEntry> entries) {
  if (entries.empty()) return "which is empty";
  std::string names;
  for (std::size_t i = 0; i < std::min(entries.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + entries[i].name;
  if (entries.size() > kNamed) names += fmt::format(" and {} more, which `lathe models` lists", entries.size() - kNamed);
  return names;
}

std::string places_of(std::span<const WatchedFolder> searched) {
  std::string places;
  for (const WatchedFolder& folder : searched) {
    if (folder.is_there) places += (places.empty() ? "; searched: " : ", ") + folder.path;
  }
  return places.empty() ? "; none of the watched folders exists" : places;
}

}  // namespace

engine::Result<std::string> find_by_name(std::span<const LibraryEntry> entries, std::span<const WatchedFolder> searched,
                                         const std::string& name) {
  for (const Fits fits : kFits) {
    std::vector<const LibraryEntry*> fitting;
    for (const LibraryEntry& entry : entries) {
      if (fits(entry.name, name)) fitting.push_back(&entry);
    }
    if (!fitting.empty()) return one_of(fitting, name);
  }
  const std::string near = nearest(entries, name);
  return engine::fail(
      ErrorCode::not_found,
      fmt::format("there is no such file or folder, and no model of that name in the library{} ({}){}",
                  near.empty() ? "" : fmt::format("; did you mean {}?", near), names_of(entries), places_of(searched)),
      name);
}

}  // namespace lathe::app
