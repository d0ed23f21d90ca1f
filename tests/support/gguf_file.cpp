// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gguf_file.h"

#include <cstring>

#include "engine/base/text_file.h"
#include "kernels/api/check.h"

namespace lathe::tests {
namespace {

using engine::GgufVocabulary;

/// Types of GGUF values, by number.
enum GgufType : std::uint32_t { kInt32 = 5, kFloat32 = 6, kBool = 7, kString = 8, kArray = 9 };
constexpr std::size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // of numbers, by type

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  T number() {
    T value{};
    LATHE_CHECK(sizeof value <= bytes_.size() - at_);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    LATHE_CHECK(size <= bytes_.size() - at_);
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  void skip(std::uint32_t type) {
    if (type == kString) {
      text();
    } else if (type == kArray) {
      const auto item = number<std::uint32_t>();
      for (auto n = number<std::uint64_t>(); n > 0; --n) skip(item);
    } else {
      at_ += kSizes[type];
    }
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

template <class T, class Read>
void read_list(Reader& reader, std::vector<T>& list, const Read& read) {
  reader.number<std::uint32_t>();  // the type of the items
  for (auto n = reader.number<std::uint64_t>(); n > 0; --n) list.push_back(read());
}

void read_array(Reader& reader, const std::string& key, GgufVocabulary& vocabulary) {
  if (key == "tokens") return read_list(reader, vocabulary.tokens, [&] { return reader.text(); });
  if (key == "merges") return read_list(reader, vocabulary.merges, [&] { return reader.text(); });
  if (key == "scores") return read_list(reader, vocabulary.scores, [&] { return reader.number<float>(); });
  if (key == "token_type") return read_list(reader, vocabulary.token_type, [&] { return reader.number<std::int32_t>(); });
  reader.skip(kArray);
}

void read_value(Reader& reader, const std::string& key, std::uint32_t type, GgufVocabulary& vocabulary) {
  const auto id = [&] { return static_cast<std::int32_t>(reader.number<std::uint32_t>()); };
  const auto flag = [&] { return reader.number<std::uint8_t>() != 0; };
  if (type == kArray) return read_array(reader, key, vocabulary);
  if (key == "model") {
    vocabulary.model = reader.text();
  } else if (key == "pre") {
    vocabulary.pre = reader.text();
  } else if (key == "bos_token_id") {
    vocabulary.bos_token_id = id();
  } else if (key == "eos_token_id") {
    vocabulary.eos_token_id = id();
  } else if (key == "unknown_token_id") {
    vocabulary.unknown_token_id = id();
  } else if (key == "cls_token_id") {
    vocabulary.cls_token_id = id();
  } else if (key == "seperator_token_id") {  // as the format spells it
    vocabulary.separator_token_id = id();
  } else if (key == "add_bos_token") {
    vocabulary.add_bos_token = flag();
  } else if (key == "add_eos_token") {
    vocabulary.add_eos_token = flag();
  } else {
    reader.skip(type);
  }
}

}  // namespace

GgufVocabulary read_gguf_vocabulary(const std::string& path) {
  constexpr std::string_view kPrefix = "tokenizer.ggml.";
  Reader reader(engine::read_text_file(path, 1u << 28).value());
  LATHE_CHECK(reader.number<std::uint32_t>() == 0x46554747);  // "GGUF"
  LATHE_CHECK(reader.number<std::uint32_t>() >= 2);
  reader.number<std::uint64_t>();  // the number of tensors
  GgufVocabulary vocabulary;
  for (auto n = reader.number<std::uint64_t>(); n > 0; --n) {
    const std::string key = reader.text();
    const auto type = reader.number<std::uint32_t>();
    if (key.starts_with(kPrefix)) {
      read_value(reader, key.substr(kPrefix.size()), type, vocabulary);
    } else {
      reader.skip(type);
    }
  }
  return vocabulary;
}

}  // namespace lathe::tests
