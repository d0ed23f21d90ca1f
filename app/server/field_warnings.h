// SPDX-License-Identifier: Apache-2.0
// Reports ignored request fields: in the JSON of the answer, in a header, and in the log.
#pragma once

#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/api/log.h"
#include "app/server/http/message.h"
#include "app/server/request_fields.h"

namespace lathe::app {

/// Member of an answer's JSON that holds warnings_json().
inline constexpr std::string_view kWarningsMember = "warnings";

/// Example: [{"param": "typical_p", "message": "..."}]
engine::OrderedJson warnings_json(std::span<const FieldWarning> warnings);

/// Returns "Lathe-Ignored-Fields: typical_p, options.num_ctx", as many as a header may hold; no field without warnings.
std::vector<http::Field> warning_fields(std::span<const FieldWarning> warnings);

/// Logs each field, and each model with generic tools, only once in the life of the server. Thread: any.
class WarningLog {
 public:
  void write(Log& log, std::span<const FieldWarning> warnings);
  /// Logs once that the tools of a model are generic.
  void write_generic_tools(Log& log, const std::string& model);

 private:
  std::mutex mutex_;
  std::set<std::string> seen_;  ///< bounded: requests choose these names
  std::set<std::string> generic_models_;
};

}  // namespace lathe::app
