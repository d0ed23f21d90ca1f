// SPDX-License-Identifier: Apache-2.0
// One safetensors file: what is read, and every way in which a header can lie.
#include "engine/load/safetensors.h"

#include <QTest>
#include <algorithm>
#include <random>

#include "tests/support/safetensors_bytes.h"
#include "tests/support/test_class.h"

namespace safetensors_test {

using namespace lathe::engine;
using lathe::tests::length_prefix;
using lathe::tests::safetensors_bytes;

namespace {

const std::string kFile = "model.safetensors";
const std::string kTwoTensors = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                R"("b":{"dtype":"BF16","shape":[2,2],"data_offsets":[8,16]}})";

Result<std::vector<StoredTensor>> parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), kFile);
}

Result<std::vector<StoredTensor>> parse(const std::string& header, std::size_t n_data) {
  // The tensors point into the bytes, which only have to live as long as a refusal is looked at.
  return parse(safetensors_bytes(header, n_data));
}

/// One tensor "t".
std::string header_of(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"t\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
}

/// Empty when the file is refused with `message` in its text, else what happened instead.
std::string refusal_problem(const Result<std::vector<StoredTensor>>& result, std::string_view message) {
  if (result) return "was accepted";
  const Error& error = result.error();
  if (error.code != ErrorCode::model_refused) return "another code";
  if (error.message.find(message) == std::string::npos) return "message is: " + error.message;
  if (!error.where.starts_with(kFile)) return "where is: " + error.where;
  return error.message.size() + error.where.size() > 1024 ? "longer than 1 KiB" : "";
}

}  // namespace

#define VERIFY_REFUSED(result, message)                           \
  do {                                                            \
    const std::string problem = refusal_problem(result, message); \
    QVERIFY2(problem.empty(), problem.c_str());                   \
  } while (false)

class SafetensorsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void tensors_have_name_type_shape_and_bytes();
  void spaces_may_pad_the_header();
  void a_file_without_tensors_is_read();
  void rank_zero_is_one_element();
  void names_may_hold_any_utf8();
  void L1_empty_file_is_truncated_at_the_header_length();
  void L1_every_prefix_is_truncated();
  void L2_header_length_is_bounded_data();
  void L2_header_length_is_bounded();
  void L2_header_longer_than_the_file();
  void L2_header_must_begin_with_a_brace();
  void L2_header_must_be_utf8();
  void L2_deep_json_is_refused();
  void L2_nul_bytes_do_not_hide_the_rest();
  void L2_metadata_holds_strings_only();
  void L3_many_tensors_load();
  void L4_begin_behind_end();
  void L4_end_behind_the_file();
  void L4_overlap();
  void L4_hole();
  void L4_trailing_bytes();
  void L4_zero_size_tensors_are_accepted();
  void L4_zero_size_tensor_inside_another_is_refused();
  void L4_offsets_must_be_two_numbers_data();
  void L4_offsets_must_be_two_numbers();
  void L4_span_must_be_what_the_shape_needs();
  void L5_size_overflow_data();
  void L5_size_overflow();
  void L5_too_many_dimensions();
  void L6_duplicate_tensor();
  void L6_duplicate_field();
  void L6_duplicate_metadata();
  void L6_duplicate_metadata_key();
  void L7_unknown_dtype();
  void L7_sub_byte_types_need_whole_bytes();
  void L7_every_type_of_the_format_is_known();
  void a_field_may_not_be_missing_data();
  void a_field_may_not_be_missing();
  void an_unknown_field_is_refused();
  void values_of_the_wrong_kind_data();
  void values_of_the_wrong_kind();
  void any_mutation_is_refused_or_consistent();
};

void SafetensorsTest::tensors_have_name_type_shape_and_bytes() {
  const std::string bytes = safetensors_bytes(kTwoTensors, 16);
  const auto tensors = parse(bytes);
  QVERIFY(tensors.has_value());
  QCOMPARE(tensors->size(), std::size_t{2});
  const StoredTensor& b = (*tensors)[1];
  QCOMPARE(b.name, std::string("b"));
  QVERIFY(b.type->dtype == lathe::kernels::Dtype::bf16);
  QCOMPARE(b.shape, (std::vector<std::int64_t>{2, 2}));
  QCOMPARE(b.bytes.size(), std::size_t{8});
  QCOMPARE(static_cast<int>(b.bytes[0]), 8);
}

void SafetensorsTest::spaces_may_pad_the_header() { QVERIFY(parse(kTwoTensors + "      ", 16).has_value()); }

void SafetensorsTest::a_file_without_tensors_is_read() {
  const auto tensors = parse("{}", 0);
  QVERIFY(tensors.has_value());
  QVERIFY(tensors->empty());
}

void SafetensorsTest::rank_zero_is_one_element() { QVERIFY(parse(header_of("F32", "[]", "[0,4]"), 4).has_value()); }

void SafetensorsTest::names_may_hold_any_utf8() {
  const auto tensors = parse(R"({"gewicht.größe":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
  QVERIFY(tensors.has_value());
  QCOMPARE(tensors->front().name, std::string("gewicht.größe"));
}

void SafetensorsTest::L1_empty_file_is_truncated_at_the_header_length() {
  VERIFY_REFUSED(parse(std::string()), "truncated at the header length: 0 bytes, needs 8");
  VERIFY_REFUSED(parse(std::string(7, '\0')), "truncated at the header length: 7 bytes, needs 8");
  VERIFY_REFUSED(parse(length_prefix(kTwoTensors.size())), "truncated at the header: 0 bytes");
}

void SafetensorsTest::L1_every_prefix_is_truncated() {
  const std::string whole = safetensors_bytes(kTwoTensors, 16);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const char* section = n < 8                        ? "truncated at the header length"
                          : n < 8 + kTwoTensors.size() ? "truncated at the header"
                                                       : "truncated at the tensor data";
    VERIFY_REFUSED(parse(whole.substr(0, n)), section);
  }
  QVERIFY(parse(whole).has_value());
}

void SafetensorsTest::L2_header_length_is_bounded_data() {
  QTest::addColumn<quint64>("n");
  QTest::newRow("2^63") << (quint64{1} << 63);
  QTest::newRow("2^64 - 1") << ~quint64{0};
  QTest::newRow("100 MB + 1") << quint64{100'000'001};
}

void SafetensorsTest::L2_header_length_is_bounded() {
  QFETCH(quint64, n);
  VERIFY_REFUSED(parse(length_prefix(n) + kTwoTensors), "at most 100000000");
}

void SafetensorsTest::L2_header_longer_than_the_file() {
  const std::size_t n_file = 8 + kTwoTensors.size();
  VERIFY_REFUSED(parse(length_prefix(n_file) + kTwoTensors), "truncated at the header");
  VERIFY_REFUSED(parse(length_prefix(n_file + 1000) + kTwoTensors), "truncated at the header");
}

void SafetensorsTest::L2_header_must_begin_with_a_brace() {
  VERIFY_REFUSED(parse("", 0), "does not start with '{'");
  VERIFY_REFUSED(parse(" " + kTwoTensors, 16), "does not start with '{'");
  VERIFY_REFUSED(parse("[]", 0), "does not start with '{'");
}

void SafetensorsTest::L2_header_must_be_utf8() {
  VERIFY_REFUSED(parse("{\"\xff\xfe\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0),
                 "not valid JSON at byte");
}

void SafetensorsTest::L2_deep_json_is_refused() {
  VERIFY_REFUSED(parse("{\"t\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", 0), "instead of");
  VERIFY_REFUSED(parse("{\"__metadata__\":" + std::string(100'000, '{'), 0), "");
}

void SafetensorsTest::L2_nul_bytes_do_not_hide_the_rest() {
  VERIFY_REFUSED(parse(std::string("{}\0{\"evil\":1}", 13), 0), "NUL byte");
}

void SafetensorsTest::L2_metadata_holds_strings_only() {
  VERIFY_REFUSED(parse(R"({"__metadata__":{"format":1}})", 0), "a number instead of a string");
  VERIFY_REFUSED(parse(R"({"__metadata__":{"format":{}}})", 0), "an object instead of a string");
  VERIFY_REFUSED(parse(R"({"__metadata__":[]})", 0), "instead of");
}

void SafetensorsTest::L3_many_tensors_load() {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  const auto tensors = parse(header + "}", 0);
  QVERIFY(tensors.has_value());
  QCOMPARE(tensors->size(), std::size_t{100'000});
}

void SafetensorsTest::L4_begin_behind_end() {
  VERIFY_REFUSED(parse(header_of("U8", "[4]", "[4,0]"), 4), "the begin 4 is after the end 0");
}

void SafetensorsTest::L4_end_behind_the_file() {
  VERIFY_REFUSED(parse(header_of("U8", "[5]", "[0,5]"), 4), "it should end at byte 5, but the file has 4");
  VERIFY_REFUSED(parse(header_of("U8", "[4]", "[18446744073709551612,18446744073709551615]"), 4),
                 "truncated at the tensor data");
}

void SafetensorsTest::L4_overlap() {
  VERIFY_REFUSED(
      parse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
            6),
      "overlap: it begins at 2, expected 4");
  VERIFY_REFUSED(
      parse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
            4),
      "overlap");
}

void SafetensorsTest::L4_hole() {
  VERIFY_REFUSED(parse(header_of("U8", "[4]", "[1,5]"), 5), "hole before the tensor: it begins at 1, expected 0");
}

void SafetensorsTest::L4_trailing_bytes() {
  VERIFY_REFUSED(parse(header_of("U8", "[4]", "[0,4]"), 7), "3 trailing bytes");
  VERIFY_REFUSED(parse("{}", 1), "1 trailing bytes");
}

void SafetensorsTest::L4_zero_size_tensors_are_accepted() {
  const auto tensors =
      parse(R"({"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
            R"("c":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})",
            4);
  QVERIFY(tensors.has_value());
  QVERIFY(tensors->front().bytes.empty());
  QCOMPARE((*tensors)[1].bytes.size(), std::size_t{4});
  QVERIFY((*tensors)[2].bytes.empty());
}

void SafetensorsTest::L4_zero_size_tensor_inside_another_is_refused() {
  VERIFY_REFUSED(
      parse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
            4),
      "overlap");
}

void SafetensorsTest::L4_offsets_must_be_two_numbers_data() {
  QTest::addColumn<QString>("offsets");
  for (const char* offsets : {"[]", "[0]", "[0,4,4]", "[0,\"4\"]", "[-1,3]", "[0,4.0]", "[0,[4]]", "4", "null"}) {
    QTest::newRow(offsets) << offsets;
  }
}

void SafetensorsTest::L4_offsets_must_be_two_numbers() {
  QFETCH(QString, offsets);
  VERIFY_REFUSED(parse(header_of("U8", "[4]", offsets.toStdString()), 4), "");
}

void SafetensorsTest::L4_span_must_be_what_the_shape_needs() {
  VERIFY_REFUSED(parse(header_of("F32", "[2]", "[0,4]"), 4), "span 4 bytes, but F32 of that shape needs 8");
}

void SafetensorsTest::L5_size_overflow_data() {
  QTest::addColumn<QString>("shape");
  QTest::addColumn<QString>("offsets");
  QTest::newRow("product is 4 mod 2^64") << "[4194305,4194305,211106198978564]"
                                         << "[0,16]";
  QTest::newRow("product is 0 mod 2^64") << "[4294967296,4294967296,1]"
                                         << "[0,0]";
  QTest::newRow("one dimension of 2^63") << "[9223372036854775808]"
                                         << "[0,16]";
  QTest::newRow("a dimension above 2^64") << "[100000000000000000000]"
                                          << "[0,16]";
  QTest::newRow("2^64 - 1 beside zero") << "[0,18446744073709551615]"
                                        << "[0,0]";
  QTest::newRow("2^63 beside zero") << "[9223372036854775808,0]"
                                    << "[0,0]";
  QTest::newRow("bits overflow, elements do not") << "[1152921504606846976]"
                                                  << "[0,0]";
}

void SafetensorsTest::L5_size_overflow() {
  QFETCH(QString, shape);
  QFETCH(QString, offsets);
  VERIFY_REFUSED(parse(header_of("F32", shape.toStdString(), offsets.toStdString()), 16), "size overflow");
}

void SafetensorsTest::L5_too_many_dimensions() {
  VERIFY_REFUSED(parse(header_of("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 1), "more than 16 dimensions");
}

void SafetensorsTest::L6_duplicate_tensor() {
  VERIFY_REFUSED(
      parse(R"({"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
            4),
      "tensor appears twice");
}

void SafetensorsTest::L6_duplicate_field() {
  VERIFY_REFUSED(parse(R"({"t":{"dtype":"U8","dtype":"F32","shape":[4],"data_offsets":[0,4]}})", 4),
                 "field 'dtype' appears twice");
}

void SafetensorsTest::L6_duplicate_metadata() {
  VERIFY_REFUSED(parse(R"({"__metadata__":{},"__metadata__":{}})", 0), "__metadata__ appears twice");
}

void SafetensorsTest::L6_duplicate_metadata_key() {
  VERIFY_REFUSED(parse(R"({"__metadata__":{"format":"pt","format":"tf"}})", 0), "key 'format' appears twice");
}

void SafetensorsTest::L7_unknown_dtype() {
  VERIFY_REFUSED(parse(header_of("F17", "[4]", "[0,4]"), 4), "unknown dtype 'F17'");
  VERIFY_REFUSED(parse(header_of("f32", "[1]", "[0,4]"), 4), "unknown dtype 'f32'");
  VERIFY_REFUSED(parse(header_of(std::string(5000, 'F'), "[1]", "[0,4]"), 4), "unknown dtype");
}

void SafetensorsTest::L7_sub_byte_types_need_whole_bytes() {
  VERIFY_REFUSED(parse(header_of("F4", "[3]", "[0,1]"), 1), "12 bits are not a whole number of bytes");
  const auto tensors = parse(header_of("F4", "[4]", "[0,2]"), 2);
  QVERIFY(tensors.has_value());
  QVERIFY(!tensors->front().type->dtype);  // no kernel reads it: the architecture will refuse it
}

void SafetensorsTest::L7_every_type_of_the_format_is_known() {
  for (const char* name :
       {"BOOL", "F4",  "F6_E2M3", "F6_E3M2", "U8",  "I8",  "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
        "I16",  "U16", "F16",     "BF16",    "I32", "U32", "F32",     "C64",     "F64",     "I64",         "U64"}) {
    QVERIFY2(find_safetensors_type(name) != nullptr, name);
  }
}

void SafetensorsTest::a_field_may_not_be_missing_data() {
  QTest::addColumn<QString>("entry");
  QTest::newRow("dtype") << R"({"shape":[4],"data_offsets":[0,4]})";
  QTest::newRow("shape") << R"({"dtype":"U8","data_offsets":[0,4]})";
  QTest::newRow("data_offsets") << R"({"dtype":"U8","shape":[4]})";
  QTest::newRow("all") << "{}";
}

void SafetensorsTest::a_field_may_not_be_missing() {
  QFETCH(QString, entry);
  VERIFY_REFUSED(parse("{\"t\":" + entry.toStdString() + "}", 4), "needs dtype, shape and data_offsets");
}

void SafetensorsTest::an_unknown_field_is_refused() {
  VERIFY_REFUSED(parse(R"({"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"strides":[1]}})", 4),
                 "unknown field 'strides'");
}

void SafetensorsTest::values_of_the_wrong_kind_data() {
  QTest::addColumn<QString>("header");
  QTest::newRow("tensor is a number") << R"({"t":1})";
  QTest::newRow("tensor is a string") << R"({"t":"x"})";
  QTest::newRow("tensor is null") << R"({"t":null})";
  QTest::newRow("dtype is a number") << R"({"t":{"dtype":4,"shape":[4],"data_offsets":[0,4]}})";
  QTest::newRow("shape is a number") << R"({"t":{"dtype":"U8","shape":4,"data_offsets":[0,4]}})";
  QTest::newRow("shape holds true") << R"({"t":{"dtype":"U8","shape":[true],"data_offsets":[0,4]}})";
  QTest::newRow("shape is negative") << R"({"t":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})";
  QTest::newRow("half an object") << R"({"t":{"dtype":"U8")";
  QTest::newRow("two objects") << R"({}{})";
}

void SafetensorsTest::values_of_the_wrong_kind() {
  QFETCH(QString, header);
  VERIFY_REFUSED(parse(header.toStdString(), 4), "");
}

void SafetensorsTest::any_mutation_is_refused_or_consistent() {
  const std::string whole = safetensors_bytes(kTwoTensors, 16);
  const std::string_view alphabet = "0123456789[]{},:\"-.eE \\\xff";
  std::mt19937 random(20261121);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  int n_accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes)
      bytes[below(bytes.size())] = alphabet[below(alphabet.size())];
    const auto tensors = parse(bytes);
    if (!tensors) continue;
    ++n_accepted;
    std::size_t n_data = 0;
    for (const StoredTensor& tensor : *tensors) n_data += tensor.bytes.size();
    QCOMPARE(n_data, std::size_t{16});  // whatever the header says now, the tensors still tile the data
  }
  QVERIFY(n_accepted > 0);  // changes in names and data are no faults: else nothing was looked at
}

#undef VERIFY_REFUSED

LATHE_TEST(SafetensorsTest)

}  // namespace safetensors_test
#include "safetensors_test.moc"
