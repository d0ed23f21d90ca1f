// SPDX-License-Identifier: Apache-2.0
#include "app/server/error_status.h"

#include <array>
#include <utility>

#include "app/log/printable.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;

constexpr std::array kStatusOfCode = {
    std::pair{ErrorCode::invalid_argument, 400},  std::pair{ErrorCode::unauthenticated, 401},
    std::pair{ErrorCode::forbidden, 403},         std::pair{ErrorCode::not_found, 404},
    std::pair{ErrorCode::conflict, 409},          std::pair{ErrorCode::too_large, 413},
    std::pair{ErrorCode::model_refused, 422},     std::pair{ErrorCode::resource_exhausted, 429},
    std::pair{ErrorCode::cancelled, 499},         std::pair{ErrorCode::internal, 500},
    std::pair{ErrorCode::unsupported, 501},       std::pair{ErrorCode::unavailable, 503},
    std::pair{ErrorCode::deadline_exceeded, 504},
};

bool is_of_name(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// True if the text has the name as a word: "n" is no word of "must be an integer".
bool has_word(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || !is_of_name(text[end]))) return true;
  }
  return false;
}

}  // namespace

int http_status_of(ErrorCode code) {
  for (const auto& [known, status] : kStatusOfCode) {
    if (known == code) return status;
  }
  return 500;
}

ErrorCode code_of(int http_status) {
  for (const auto& [code, status] : kStatusOfCode) {
    if (status == http_status) return code;
  }
  return http_status >= 500 ? ErrorCode::internal : ErrorCode::invalid_argument;
}

bool is_temporary(int http_status) { return http_status == 429 || http_status == 503; }

std::string message_of(const engine::Error& error) {
  constexpr std::size_t kMaxBytes = 1000;
  const bool names_field = error.where.empty() || has_word(error.message, error.where);
  return printable(names_field ? error.message : error.where + ": " + error.message, kMaxBytes);
}

}  // namespace lathe::app
