// SPDX-License-Identifier: Apache-2.0
// Checks the raw bytes of a request head before the parser reads them: size, line ends, framing fields.
// Source: RFC 9112, sections 2.2, 3, 5.2, 6.1-6.3.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "app/server/http/limits.h"
#include "app/server/http/message.h"

namespace lathe::app::http {

/// Reason for which bytes are refused as a request.
struct Refusal {
  int status = 400;
  std::string message;
};

/// Size of the complete head in `bytes`, its empty line included; 0 while more is needed. Bytes that can no longer become a
/// head are refused at once, without waiting for a timeout.
struct HeadScan {
  std::size_t size = 0;
  std::optional<Refusal> refusal;
};
HeadScan scan_head(std::string_view bytes, const Limits& limits);

/// Checks the lines of a head that scan_head found complete. Request smuggling uses framing fields that proxy and server
/// read differently, so only one spelling of each is legal: one Content-Length of digits, or one "Transfer-Encoding:
/// chunked", never both.
std::optional<Refusal> check_head(std::string_view head, const Limits& limits);

/// Splits a target into path, query and (absolute-form) authority, and writes these to `head`. False: the target is neither
/// origin-form, absolute-form nor "*".
bool split_target(std::string_view target, RequestHead& head);

}  // namespace lathe::app::http
