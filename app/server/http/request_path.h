// SPDX-License-Identifier: Apache-2.0
// Paths of requests in one spelling.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::app::http {

/// A path without empty segments, percent-decoded: "//v1/models/org%2Fdemo/" is "/v1/models/org/demo". An encoded slash is
/// part of its segment, so that "/v1/models/%2Fdata" is "/v1/models//data".
/// Errors: invalid_argument, for a '%' without two hexadecimal digits. Source: RFC 3986, 2.1 and 3.3.
engine::Result<std::string> canonical_path(std::string_view path);

}  // namespace lathe::app::http
