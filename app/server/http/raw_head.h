// SPDX-License-Identifier: Apache-2.0
// Judges the raw bytes of a request head before the parser sees them: size, line ends, framing fields.
// Source: RFC 9112, sections 2.2, 3, 5.2, 6.1-6.3.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "app/server/http/limits.h"
#include "app/server/http/message.h"

namespace lathe::app::http {

/// Why a connection's bytes are no request that is served here.
struct Refusal {
  int status = 400;
  std::string message;
};

/// How much of `bytes` is a complete head, its empty line included; 0 while more is needed.
/// Refuses at once what can no longer become a head: so no limit waits for a timeout.
struct HeadScan {
  std::size_t size = 0;
  std::optional<Refusal> refusal;
};
HeadScan scan_head(std::string_view bytes, const Limits& limits);

/// Checks the lines of a head that scan_head found complete. Two readings of one framing field are how requests are smuggled
/// past proxies, so there is one legal spelling of each: one Content-Length of digits, or one "Transfer-Encoding: chunked",
/// never both.
std::optional<Refusal> check_head(std::string_view head, const Limits& limits);

/// Splits a target into path, query and (absolute-form) authority, which replace those in `head`. False: neither
/// origin-form, absolute-form nor "*".
bool split_target(std::string_view target, RequestHead& head);

}  // namespace lathe::app::http
