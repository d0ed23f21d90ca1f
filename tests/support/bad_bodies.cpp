// SPDX-License-Identifier: Apache-2.0
#include "tests/support/bad_bodies.h"

#include <initializer_list>

namespace lathe::tests {
namespace {

class FieldList {
 public:
  /// One spoiled request a value. `param`: empty for the name itself.
  void add(const std::string& row, const std::string& name, std::initializer_list<const char*> values,
           const std::string& param = {}) {
    for (const char* value : values) add_one(row, name, value, param.empty() ? name : param, true);
  }
  void add_one(const std::string& row, const std::string& name, const std::string& value, const std::string& param,
               bool in_chat) {
    list_.push_back({row, name + "=" + value.substr(0, 40), "\"" + name + "\":" + value, param, in_chat});
  }
  void add_text(const std::string& row, const std::string& text, const std::string& param) {
    list_.push_back({row, text, text, param, true});
  }
  std::vector<BadFields> take() { return std::move(list_); }

 private:
  std::vector<BadFields> list_;
};

void add_counts(FieldList& list) {
  for (const char* name : {"n", "best_of"}) {
    list.add("S4", name, {"0", "-1", "129", "1000000000", "9223372036854775808", "1e30"});
  }
  list.add_text("S4", R"("n":3,"best_of":2)", "best_of");
  list.add_text("S4", R"("n":1,"best_of":2,"stream":true)", "best_of");
}

void add_sampling(FieldList& list) {
  list.add("S5", "temperature", {"-1", "1e308", "1e-320"});
  list.add("S5", "top_p", {"-1", "0", "1.1", "1e308", "1e-320"});
  list.add("S5", "min_p", {"-0.1", "1.1", "1e308", "1e-320"});
  list.add("S5", "presence_penalty", {"-2.1", "2.1", "1e308", "1e-320"});
  list.add("S5", "frequency_penalty", {"-2.1", "2.1", "1e308", "1e-320"});
  list.add("S5", "repetition_penalty", {"0", "-1", "1e308", "1e-320"});
  list.add("S5", "top_k", {"-2", "2147483648", "1.5"});
  list.add("S5", "seed", {"18446744073709551616", "1.5"});
  list.add("S5", "max_tokens", {"0", "-1"});
  list.add("S5", "min_tokens", {"-1"});
  list.add_one("S5", "min_tokens", "17", "min_tokens", false);  // a chat's answer may fill the context
  list.add("S5", "n_discard", {"-1"});
  // JSON has no such numbers; Python's clients write them all the same.
  for (const char* name : {"temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty",
                           "top_k", "seed", "max_tokens", "min_tokens", "n_discard"}) {
    list.add("S5", name, {"NaN", "Infinity", "-Infinity", "1e400"}, "body");
  }
}

std::string biases(int n) {
  std::string text = "{\"0\":1";
  for (int i = 1; i < n; ++i) text += ",\"" + std::to_string(i) + "\":1";
  return text + "}";
}

void add_biases(FieldList& list) {
  list.add("S8", "logit_bias",
           {R"({"263":1})", R"({"-1":1})", R"({"abc":1})", R"({"4294967296":1})", R"({"5":101})", "[1]"});
  list.add("S8", "logit_bias", {R"({"5":"1"})"}, "logit_bias.5");
  list.add_one("S8", "logit_bias", biases(100'000), "logit_bias", true);
  list.add_one("S8", "logit_bias", biases(1'000'000), "body", true);
}

}  // namespace

std::vector<BadFraming> bad_framings() {
  return {
      {"negative length", "Content-Length: -1\r\n\r\n"},
      {"plus", "Content-Length: +1\r\n\r\nx"},
      {"hex", "Content-Length: 0x1\r\n\r\nx"},
      {"two lengths", "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"},
      {"length and chunked", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"folded chunked", "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"},
      {"bare line feed", "X: y\n\r\n"},
      {"chunk size not hex", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {"chunk size overflow", "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"},
      {"chunk without its end", "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"},
  };
}

std::vector<BadJson> bad_json() {
  return {
      {"empty", ""},
      {"list", "[]"},
      {"null", "null"},
      {"number", "5"},
      {"cut", R"({"prompt":"ab")"},
      {"duplicate keys", R"({"prompt":"ab","prompt":"cd"})"},
      {"byte order mark", "\xEF\xBB\xBF{\"prompt\":\"ab\"}"},
      {"UTF-16", std::string("{\0\"\0", 4)},
      {"lone surrogate", R"({"prompt":"\ud800"})"},
      {"invalid UTF-8", "{\"prompt\":\"\xff\xfe\"}"},
      {"GBK", "{\"prompt\":\"\xc4\xe3\xba\xc3\"}"},
      {"NaN", R"({"prompt":"ab","temperature":NaN})"},
      {"1e400", R"({"prompt":"ab","temperature":1e400})"},
      {"trailing comma", R"({"prompt":"ab",})"},
      {"comment", R"({"prompt":"ab"} // x)"},
      {"deep", R"({"prompt":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}"},
  };
}

std::vector<BadFields> bad_fields() {
  FieldList list;
  add_counts(list);
  add_sampling(list);
  add_biases(list);
  return list.take();
}

std::vector<std::string> bad_prompts() {
  return {"[[-1]]",    "[-1]",  "[263]", "[[1],[263]]", "[2147483648]", "[]",    "[[]]", "\"\"",
          "[1,\"a\"]", "[1.5]", "{}",    "5",           "null",         "[null]"};
}

std::string completion_with(const std::string& fields) { return R"({"prompt":"ab",)" + fields + "}"; }

std::string chat_with(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"ab"}],)" + fields + "}";
}

}  // namespace lathe::tests
