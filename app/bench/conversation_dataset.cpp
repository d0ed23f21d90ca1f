// SPDX-License-Identifier: Apache-2.0
#include "app/bench/conversation_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "app/bench/text_dataset.h"
#include "engine/api/json.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::Result;

/// Keys of a list of messages.
struct SaidForm {
  const char* list;
  const char* speaker;
  const char* words;
};
constexpr std::array kSaidForms = {SaidForm{"messages", "role", "content"}, SaidForm{"conversations", "from", "value"}};
constexpr std::array<std::string_view, 2> kUsers = {"user", "human"};

constexpr const char* kForms =
    "must have a string \"text\" or \"prompt\", strings in \"turns\", \"content\" in \"messages\", or \"value\" in "
    "\"conversations\"";

tl::unexpected<engine::Error> refuse_conversation(std::string message, const std::string& where) {
  return engine::fail(ErrorCode::invalid_argument, std::move(message), where);
}

bool has_list(const Json& item, const char* key) { return item.contains(key) && item[key].is_array(); }

/// A message without a speaker is the user's if its index is even: the user begins, then speakers alternate.
bool is_of_user(const Json& said, const SaidForm& form, std::size_t place) {
  if (!said.contains(form.speaker) || !said[form.speaker].is_string()) return place % 2 == 0;
  const std::string speaker = said[form.speaker].get<std::string>();
  return std::find(kUsers.begin(), kUsers.end(), speaker) != kUsers.end();
}

/// Returns nothing if a message has no text.
std::optional<UserTurns> said_by_user(const Json& list, const SaidForm& form) {
  UserTurns turns;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object() || !list[i].contains(form.words) || !list[i][form.words].is_string()) return std::nullopt;
    if (is_of_user(list[i], form, i)) turns.push_back(list[i][form.words].get<std::string>());
  }
  return turns;
}

/// Returns nothing if the item has none of the known forms.
std::optional<UserTurns> turns_in(const Json& item) {
  if (!item.is_object()) return std::nullopt;
  for (const char* key : {"text", "prompt"}) {
    if (item.contains(key) && item[key].is_string()) return UserTurns{item[key].get<std::string>()};
  }
  if (has_list(item, "turns")) {
    UserTurns turns;
    for (const Json& turn : item["turns"]) {
      if (!turn.is_string()) return std::nullopt;
      turns.push_back(turn.get<std::string>());
    }
    return turns;
  }
  for (const SaidForm& form : kSaidForms) {
    if (has_list(item, form.list)) return said_by_user(item[form.list], form);
  }
  return std::nullopt;
}

Result<std::vector<UserTurns>> in_list(const std::string& text, const std::string& path) {
  constexpr engine::JsonLimits kLimits{.max_depth = 16, .max_nodes = 50'000'000};
  LATHE_TRY(const Json list, engine::parse_json(text, path, kLimits));
  if (!list.is_array()) return refuse_conversation("must be a list", path);
  std::vector<UserTurns> all;
  for (const Json& item : list) {
    auto turns = item.is_string() ? UserTurns{item.get<std::string>()} : turns_in(item);
    if (!turns) return refuse_conversation(kForms, fmt::format("{}, item {}", path, all.size()));
    all.push_back(std::move(*turns));
  }
  return all;
}

Result<std::vector<UserTurns>> in_lines(const std::string& text, const std::string& path, bool is_json) {
  std::vector<UserTurns> all;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (!is_json) {
      all.push_back({line});
      continue;
    }
    const std::string where = fmt::format("{}, line {}", path, number);
    LATHE_TRY(const Json item, engine::parse_json(line, where));
    auto turns = turns_in(item);
    if (!turns) return refuse_conversation(kForms, where);
    all.push_back(std::move(*turns));
  }
  return all;
}

}  // namespace

Result<std::vector<UserTurns>> read_conversations(const std::string& path) {
  LATHE_TRY(const std::string text, read_text_file(path));
  std::vector<UserTurns> all;
  if (path.ends_with(".json")) {
    LATHE_TRY(all, in_list(text, path));
  } else {
    LATHE_TRY(all, in_lines(text, path, path.ends_with(".jsonl")));
  }
  for (UserTurns& turns : all) std::erase_if(turns, [](const std::string& turn) { return turn.empty(); });
  std::erase_if(all, [](const UserTurns& turns) { return turns.empty(); });
  if (all.empty()) return refuse_conversation("has no prompt", path);
  return all;
}

}  // namespace lathe::app
