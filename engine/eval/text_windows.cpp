// SPDX-License-Identifier: Apache-2.0
#include "engine/eval/text_windows.h"

#include <algorithm>

namespace lathe::engine {
namespace {

std::vector<TextWindow> sliding(std::int64_t n_tokens, std::int64_t window, std::int64_t stride) {
  std::vector<TextWindow> windows;
  for (std::int64_t done = 1; done < n_tokens;) {
    const std::int64_t end = std::min(windows.empty() ? window : done + stride, n_tokens);
    windows.push_back({.begin = std::max<std::int64_t>(0, end - window), .end = end, .predicted = done});
    done = end;
  }
  return windows;
}

/// Leaves out the rest of the text that fills no window, as llama.cpp does.
std::vector<TextWindow> halves(std::int64_t n_tokens, std::int64_t window) {
  std::vector<TextWindow> windows;
  for (std::int64_t begin = 0; begin + window <= n_tokens; begin += window) {
    windows.push_back({.begin = begin, .end = begin + window, .predicted = begin + window / 2 + 1, .begins_with_bos = true});
  }
  return windows;
}

}  // namespace

std::vector<TextWindow> windows_of(EvalProtocol protocol, std::int64_t n_tokens, std::int64_t window, std::int64_t stride) {
  switch (protocol) {
    case EvalProtocol::sliding: return sliding(n_tokens, window, stride);
    case EvalProtocol::halves: return halves(n_tokens, window);
    case EvalProtocol::cut: break;
  }
  return sliding(std::min(n_tokens, window), window, stride);
}

}  // namespace lathe::engine
