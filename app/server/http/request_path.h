// SPDX-License-Identifier: Apache-2.0
// Converts request paths to one canonical form.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::app::http {

/// Returns a path without empty segments, percent-decoded: "//v1/models/org%2Fdemo/" becomes "/v1/models/org/demo". An
/// encoded slash belongs to its segment, so that "/v1/models/%2Fdata" becomes "/v1/models//data". Errors: invalid_argument
/// for a '%' without two hexadecimal digits. Source: RFC 3986, 2.1 and 3.3.
engine::Result<std::string> canonical_path(std::string_view path);

}  // namespace lathe::app::http
