// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/raw_head.h"

#include <algorithm>

namespace lathe::app::http {
namespace {

bool is_token_character(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character); }

/// True for visible characters, blanks, tabs and bytes above ASCII; false with NUL, CR, LF or another control character.
bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Refusal bad(std::string message) { return {400, std::move(message)}; }

/// Checks the request line without its line end: method SP target SP HTTP/1.x.
std::optional<Refusal> check_request_line(std::string_view line, const Limits& limits) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) return bad("the request line is not \"METHOD target HTTP/1.1\"");
  const std::string_view version = line.substr(last + 1), target = line.substr(first + 1, last - first - 1);
  if (!is_token(line.substr(0, first))) return bad("the method has characters that are not allowed in a method");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad("only HTTP/1.1 and HTTP/1.0 are supported");
  if (target.empty() || !std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f; })) {
    return bad("the request target has spaces or bytes that are not allowed in a target");
  }
  if (target.size() > limits.line_bytes)
    return Refusal{414, "the request target has more than " + std::to_string(limits.line_bytes) + " bytes"};
  return std::nullopt;
}

/// Counts and checks the fields that decide the framing.
struct Framing {
  int n_content_length = 0, n_transfer_encoding = 0, n_host = 0;

  std::optional<Refusal> take(std::string_view name, std::string_view value) {
    if (equal_ignoring_case(name, "host")) ++n_host;
    if (equal_ignoring_case(name, "content-length")) {
      ++n_content_length;
      const bool digits = !value.empty() && value.size() <= 18 &&
                          std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!digits) return bad("Content-Length must be one whole number");
    }
    if (equal_ignoring_case(name, "transfer-encoding")) {
      ++n_transfer_encoding;
      if (!equal_ignoring_case(value, "chunked")) return bad("the only supported Transfer-Encoding is chunked");
    }
    return std::nullopt;
  }

  std::optional<Refusal> verdict(bool is_1_0) const {
    if (n_content_length > 1) return bad("Content-Length is given twice");
    if (n_transfer_encoding > 1) return bad("Transfer-Encoding is given twice");
    if (n_content_length + n_transfer_encoding > 1) return bad("Content-Length and Transfer-Encoding cannot both be given");
    if (n_transfer_encoding == 1 && is_1_0) return bad("HTTP/1.0 has no Transfer-Encoding");
    if (n_host > 1) return bad("Host is given twice");
    if (n_host == 0 && !is_1_0) return bad("Host is missing");
    return std::nullopt;
  }
};

}  // namespace

HeadScan scan_head(std::string_view bytes, const Limits& limits) {
  HeadScan scan;
  if (bytes.empty()) return scan;
  if (!is_token_character(bytes.front())) {
    scan.refusal = bad("this is not an HTTP request; this port accepts plain HTTP/1.1");
    return scan;
  }
  const std::size_t line_end = bytes.find('\n'), end = bytes.find("\r\n\r\n");
  for (std::size_t at = line_end; at < std::min(end, bytes.size()); at = bytes.find('\n', at + 1)) {
    if (at > 0 && bytes[at - 1] == '\r') continue;
    scan.refusal = bad("lines must end with CR LF");
    return scan;
  }
  if (line_end != bytes.npos) {
    scan.refusal = check_request_line(bytes.substr(0, line_end - 1), limits);
    if (scan.refusal) return scan;
  }
  const std::size_t so_far = end == bytes.npos ? bytes.size() : end + 4;
  if (line_end == bytes.npos && so_far > limits.line_bytes + 32) {
    scan.refusal = Refusal{414, "the request line has more than " + std::to_string(limits.line_bytes) + " bytes"};
  } else if (so_far > limits.header_bytes) {
    scan.refusal = Refusal{431, "the header has more than " + std::to_string(limits.header_bytes) + " bytes"};
  } else if (end != bytes.npos) {
    scan.size = so_far;
  }
  return scan;
}

std::optional<Refusal> check_head(std::string_view head, const Limits& limits) {
  const std::size_t first_end = head.find("\r\n");
  const bool is_1_0 = head.substr(0, first_end).ends_with("HTTP/1.0");
  Framing framing;
  std::size_t n_lines = 0;
  for (std::size_t at = first_end + 2; at + 2 < head.size();) {
    const std::size_t end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    at = end + 2;
    if (++n_lines > limits.header_lines)
      return Refusal{431, "the header has more than " + std::to_string(limits.header_lines) + " lines"};
    if (line.size() > limits.line_bytes)
      return Refusal{431, "a header line has more than " + std::to_string(limits.line_bytes) + " bytes"};
    if (line.starts_with(' ') || line.starts_with('\t')) return bad("folded header lines are not accepted");
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !is_token(line.substr(0, colon))) return bad("a header line is not \"Name: value\"");
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!is_field_value(value)) return bad("a header value has control characters");
    if (auto refusal = framing.take(line.substr(0, colon), value)) return refusal;
  }
  return framing.verdict(is_1_0);
}

bool split_target(std::string_view target, RequestHead& head) {
  head.authority.clear();  // one head object serves every request of its connection
  if (constexpr std::string_view scheme = "http://";
      target.size() > scheme.size() && equal_ignoring_case(target.substr(0, scheme.size()), scheme)) {
    target.remove_prefix(scheme.size());
    const std::size_t slash = std::min(target.find_first_of("/?"), target.size());
    head.authority = target.substr(0, slash);
    target.remove_prefix(slash);
    if (head.authority.empty()) return false;
  }
  if (!target.starts_with('/')) {
    const bool rootless = !head.authority.empty() && (target.empty() || target.front() == '?');
    if (!rootless && target != "*") return false;
    head.target = rootless ? "/" + std::string(target) : std::string(target);
  } else {
    head.target = target;
  }
  const std::size_t question = std::min(head.target.find('?'), head.target.size());
  head.path = head.target.substr(0, question);
  head.query = question < head.target.size() ? head.target.substr(question + 1) : std::string();
  return true;
}

}  // namespace lathe::app::http
