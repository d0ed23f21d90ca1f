// SPDX-License-Identifier: Apache-2.0
// Limits of one HTTP connection: bytes, counts and times.
#pragma once

#include <chrono>
#include <cstddef>

namespace lathe::app::http {

struct Limits {
  std::size_t body_bytes = 32u << 20;
  std::size_t header_lines = 100;
  std::size_t header_bytes = 32u << 10;
  std::size_t line_bytes = 8u << 10;
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_idle_timeout{30'000};
  std::chrono::milliseconds write_stall_timeout{60'000};
  std::chrono::milliseconds idle_timeout{75'000};
  std::chrono::milliseconds stream_silence{10'000};  ///< silence after which a stream sends its filler; 0: never
  std::size_t connections = 4096;
};

}  // namespace lathe::app::http
