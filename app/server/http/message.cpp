// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/message.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

namespace lathe::app::http {
namespace {

constexpr std::array kReasons = {
    std::pair{100, std::string_view("Continue")},
    std::pair{200, std::string_view("OK")},
    std::pair{204, std::string_view("No Content")},
    std::pair{400, std::string_view("Bad Request")},
    std::pair{401, std::string_view("Unauthorized")},
    std::pair{403, std::string_view("Forbidden")},
    std::pair{404, std::string_view("Not Found")},
    std::pair{405, std::string_view("Method Not Allowed")},
    std::pair{408, std::string_view("Request Timeout")},
    std::pair{409, std::string_view("Conflict")},
    std::pair{413, std::string_view("Content Too Large")},
    std::pair{414, std::string_view("URI Too Long")},
    std::pair{415, std::string_view("Unsupported Media Type")},
    std::pair{421, std::string_view("Misdirected Request")},
    std::pair{422, std::string_view("Unprocessable Content")},
    std::pair{429, std::string_view("Too Many Requests")},
    std::pair{431, std::string_view("Request Header Fields Too Large")},
    std::pair{499, std::string_view("Client Closed Request")},
    std::pair{500, std::string_view("Internal Server Error")},
    std::pair{501, std::string_view("Not Implemented")},
    std::pair{503, std::string_view("Service Unavailable")},
    std::pair{504, std::string_view("Gateway Timeout")},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::vector<std::string_view> RequestHead::values(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const Field& field : fields) {
    if (equal_ignoring_case(field.name, name)) found.push_back(field.value);
  }
  return found;
}

std::string_view RequestHead::value(std::string_view name) const {
  const auto found = values(name);
  return found.empty() ? std::string_view() : found.front();
}

std::string_view reason_of(int status) {
  for (const auto& [known, reason] : kReasons) {
    if (known == status) return reason;
  }
  return "Unknown";
}

std::string http_date(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 40> text{};  // strftime uses the names of the C locale: nothing in Lathe calls setlocale for LC_TIME
  const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text.data(), size);
}

std::string chunk_of(std::string_view data) {
  std::array<char, 20> size{};
  const int n = std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
  std::string chunk(size.data(), static_cast<std::size_t>(n));
  chunk.append(data).append("\r\n");
  return chunk;
}

std::string response_head(const Response& response, std::string_view framing, bool keep_alive, int minor_version) {
  std::string head = "HTTP/1." + std::to_string(minor_version) + " " + std::to_string(response.status) + " ";
  head += reason_of(response.status);
  head += "\r\nDate: " + http_date(std::time(nullptr)) + "\r\n";
  if (!response.content_type.empty()) head += "Content-Type: " + response.content_type + "\r\n";
  for (const Field& field : response.fields) head += field.name + ": " + field.value + "\r\n";
  if (!framing.empty()) head.append(framing).append("\r\n");
  // HTTP/1.0 closes the connection by default, HTTP/1.1 keeps it.
  if (!keep_alive) head += "Connection: close\r\n";
  else if (minor_version == 0) head += "Connection: keep-alive\r\n";
  head += "\r\n";
  return head;
}

}  // namespace lathe::app::http
