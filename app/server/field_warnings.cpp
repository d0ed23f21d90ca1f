// SPDX-License-Identifier: Apache-2.0
#include "app/server/field_warnings.h"

#include "app/log/printable.h"

namespace lathe::app {
namespace {

constexpr std::size_t kMaxFieldBytes = 1000;
constexpr std::size_t kMaxSeen = 1000;

/// Returns the name for a header, which may hold only visible ASCII, with commas only between names.
std::string header_name(std::string_view name) {
  std::string out;
  for (const char c : name) out.push_back(c > ' ' && c < '\x7f' && c != ',' ? c : '?');
  return out;
}

}  // namespace

engine::OrderedJson warnings_json(std::span<const FieldWarning> warnings) {
  engine::OrderedJson list = engine::OrderedJson::array();
  for (const FieldWarning& warning : warnings) {
    list.push_back({{"param", warning.field}, {"message", warning.field + " " + warning.message}});
  }
  return list;
}

std::vector<http::Field> warning_fields(std::span<const FieldWarning> warnings) {
  std::string names;
  for (const FieldWarning& warning : warnings) {
    const std::string name = header_name(warning.field);
    if (names.size() + name.size() > kMaxFieldBytes) break;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return {};
  return {{"Lathe-Ignored-Fields", names}};
}

void WarningLog::write(Log& log, std::span<const FieldWarning> warnings) {
  const std::lock_guard lock(mutex_);
  for (const FieldWarning& warning : warnings) {
    if (seen_.size() >= kMaxSeen || !seen_.insert(warning.field).second) continue;
    log.warning("server", "a request asks for \"" + printable(warning.field, 100) + "\", which " + warning.message +
                              "; its answer reports that, and this line is logged once");
  }
}

void WarningLog::write_generic_tools(Log& log, const std::string& model) {
  const std::lock_guard lock(mutex_);
  if (!generic_models_.insert(model).second) return;
  log.warning("server",
              "the chat template of " + printable(model, 100) +
                  " shows no known format of tool calls: tools are explained to it in a text, and calls are read in "
                  "a generic format; answers say so (x-lathe-tools: generic), and this line is logged once");
}

}  // namespace lathe::app
