// SPDX-License-Identifier: Apache-2.0
// Small files tokenizer.json of both kinds, for tests to spoil.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::tests {

/// Byte-level BPE over all bytes of the alphabet and a few merges.
inline engine::Json byte_level_file() {
  using engine::Json;
  Json vocabulary = Json::object();
  int next = 0;
  for (int code = 0x21; code <= 0x7E; ++code) vocabulary[std::string(1, static_cast<char>(code))] = next++;
  const auto add = [&](int code) {
    const std::string text = {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
    vocabulary[text] = next++;
  };
  for (int code = 0xA1; code <= 0x143; ++code) {
    if (code != 0xAD) add(code);
  }
  for (const char* piece : {"he", "ll", "hell", "hello", "\xC4\xA0w", "or", "\xC4\xA0wor"}) vocabulary[piece] = next++;
  Json file;
  file["added_tokens"] = {{{"id", 400}, {"content", "<|end|>"}, {"special", true}},
                          {{"id", 401}, {"content", "<tool>"}, {"special", false}}};
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  file["post_processor"] = nullptr;
  file["decoder"] = {{"type", "ByteLevel"}};
  file["model"] = {{"type", "BPE"},
                   {"vocab", vocabulary},
                   {"merges", {"h e", "l l", "he ll", "hell o", "\xC4\xA0 w", "o r", "\xC4\xA0w or"}}};
  return file;
}

/// BPE over characters with a mark for the space, as Llama's tokenizers are written.
inline engine::Json byte_fallback_file() {
  using engine::Json;
  Json vocabulary = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  int next = 3;
  for (int byte = 0; byte < 256; ++byte) {
    const char* digits = "0123456789ABCDEF";
    vocabulary[std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">"] = next++;
  }
  vocabulary["\xE2\x96\x81"] = next++;
  for (char c = 'a'; c <= 'z'; ++c) vocabulary[std::string(1, c)] = next++;
  for (const char* piece : {"he", "\xE2\x96\x81he", "lo"}) vocabulary[piece] = next++;
  Json file;
  file["added_tokens"] = {{{"id", 0}, {"content", "<unk>"}, {"special", true}},
                          {{"id", 1}, {"content", "<s>"}, {"special", true}},
                          {{"id", 2}, {"content", "</s>"}, {"special", true}}};
  file["normalizer"] = Json::parse(
      R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"},{"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]})");
  file["post_processor"] = Json::parse(
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}]})");
  file["decoder"] = Json::parse(
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})");
  file["model"] = {
      {"type", "BPE"},
      {"unk_token", "<unk>"},
      {"fuse_unk", true},
      {"byte_fallback", true},
      {"vocab", vocabulary},
      {"merges", Json::array({Json::array({"h", "e"}), Json::array({"\xE2\x96\x81", "he"}), Json::array({"l", "o"})})}};
  return file;
}

}  // namespace lathe::tests
