// SPDX-License-Identifier: Apache-2.0
// Warnings of an answer about fields that it does not obey: a member of its JSON, a header, and a line of the log.
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

/// The member of an answer's JSON that holds warnings_json().
inline constexpr std::string_view kWarningsMember = "warnings";

/// [{"param": "typical_p", "message": "..."}]
engine::OrderedJson warnings_json(std::span<const FieldWarning> warnings);

/// "Lathe-Ignored-Fields: typical_p, options.num_ctx", as far as a header may hold it; none when there are no warnings.
std::vector<http::Field> warning_fields(std::span<const FieldWarning> warnings);

/// Logs each field once in the life of the server, whoever sends it how often. Thread: any.
class WarningLog {
 public:
  void write(Log& log, std::span<const FieldWarning> warnings);

 private:
  std::mutex mutex_;
  std::set<std::string> seen_;  ///< bounded: the names are those of requests
};

}  // namespace lathe::app
