// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error with a code, a message and its origin.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace lathe::engine {

/// Maps 1:1 to an HTTP status in app/server/error_status.cpp and to an exit code in app/cli.
enum class ErrorCode : std::uint8_t {
  invalid_argument,    ///< 400
  unauthenticated,     ///< 401
  forbidden,           ///< 403
  not_found,           ///< 404
  conflict,            ///< 409
  too_large,           ///< 413
  model_refused,       ///< 422; exit code 3: a checkpoint that cannot be used; the message says what is missing or wrong
  resource_exhausted,  ///< 429
  cancelled,           ///< 499
  internal,            ///< 500
  unsupported,         ///< 501
  unavailable,         ///< 503
  deadline_exceeded    ///< 504
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  ///< what is wrong, with values, and what to do; at most 1 KiB, no addresses
  std::string where;    ///< file and field, or JSON path: "config.json: hidden_size", "messages[2].role"
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(where)});
}

}  // namespace lathe::engine

#define LATHE_TRY_JOIN_(a, b) a##b
#define LATHE_TRY_JOIN(a, b) LATHE_TRY_JOIN_(a, b)
#define LATHE_TRY_IMPL(holder, declaration, expression)                                  \
  auto holder = (expression);                                                            \
  if (!holder) return tl::unexpected<::lathe::engine::Error>(std::move(holder.error())); \
  declaration = std::move(*holder)
/// LATHE_TRY(auto value, expression): assigns the value, or returns the error from the current function.
#define LATHE_TRY(declaration, expression) LATHE_TRY_IMPL(LATHE_TRY_JOIN(lathe_try_, __LINE__), declaration, expression)
/// LATHE_TRY_VOID(expression): returns the error of a Result<void>, if any, from the current function.
#define LATHE_TRY_VOID(expression)                                                                             \
  do {                                                                                                         \
    auto lathe_try_result = (expression);                                                                      \
    if (!lathe_try_result) return tl::unexpected<::lathe::engine::Error>(std::move(lathe_try_result.error())); \
  } while (false)
