// SPDX-License-Identifier: Apache-2.0
// Request bodies that every generating route must refuse with 400, by their rows of the catalogue of bad inputs.
#pragma once

#include <string>
#include <vector>

namespace lathe::tests {

/// S1: header lines after "POST ... HTTP/1.1", Host and Content-Type, and the body: refused with 400, then closed.
struct BadFraming {
  std::string name;
  std::string text;
};
std::vector<BadFraming> bad_framings();

/// S3: what is not one JSON object.
struct BadJson {
  std::string name;
  std::string body;
};
std::vector<BadJson> bad_json();

/// S4, S5, S8: fields that spoil a good request.
struct BadFields {
  std::string row;      ///< "S5"
  std::string name;     ///< "temperature=-1"
  std::string text;     ///< "\"temperature\":-1"
  std::string param;    ///< error.param
  bool in_chat = true;  ///< refused in a chat too
};
std::vector<BadFields> bad_fields();

/// S8: token ids and prompts that are none, as the JSON of "prompt".
std::vector<std::string> bad_prompts();

/// A request of few tokens with these fields added.
std::string completion_with(const std::string& fields);
std::string chat_with(const std::string& fields);

}  // namespace lathe::tests
