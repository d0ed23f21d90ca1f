// SPDX-License-Identifier: Apache-2.0
// The rows of sampling parameters: their JSON, their neutral values, and their controls. The values of each row are tried,
// so that a new row is tested by being there.
#include "engine/api/sampling_field.h"

#include <QTest>
#include <set>

#include "engine/model/generation_config.h"
#include "tests/support/test_class.h"

namespace sampling_field_test {

using namespace lathe::engine;

namespace {

/// A value that a member of the kind can have and no default has.
struct UnusualValue {
  Json operator()(NumberMember) const { return 0.625; }
  Json operator()(IntegerMember) const { return 7; }
  Json operator()(MaybeIntegerMember) const { return 3; }
  Json operator()(SeedMember) const { return 4711; }
  Json operator()(TextsMember) const { return Json::array({"\n\n", "end"}); }
  Json operator()(TextMember) const { return R"({"regex":"a"})"; }
  Json operator()(IdsMember) const { return Json::array({5, 9}); }
  Json operator()(BiasMember) const { return Json{{"5", -1.5}}; }
  Json operator()(BooleanMember) const { return nullptr; }  // the opposite of the default
};

Json unusual_value(const SamplingField& field) {
  Json value = std::visit(UnusualValue{}, field.member);
  return value.is_null() ? Json(!encode_json(field, {}).get<bool>()) : value;
}

std::string refusal(const SamplingField& field, const Json& value) {
  SamplingParams params;
  const auto decoded = decode_json(field, value, params);
  if (decoded) return {};
  return decoded.error().where + ": " + decoded.error().message + (params == SamplingParams() ? "" : ", and it changed");
}

const SamplingField& row(std::string_view name) { return *find_sampling_field(sampling_fields(), name); }

}  // namespace

class SamplingFieldTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void names_are_unique();
  void every_value_is_written_as_it_is_read();
  void a_copied_value_is_the_only_change();
  void values_of_another_type_are_refused();
  void lists_name_the_item();
  void seeds_are_those_of_vllm();
  void defaults_and_neutral_values_ask_for_nothing();
  void sliders_are_within_the_range();
  void a_row_of_the_window_has_a_control();
  void a_checkpoint_recommends_by_the_key_of_the_row();
};

void SamplingFieldTest::names_are_unique() {
  std::set<std::string_view> names, keys;
  for (const SamplingField& field : sampling_fields()) {
    QVERIFY2(names.insert(field.option.name).second, field.option.name.data());
    if (!field.generation_key.empty()) QVERIFY2(keys.insert(field.generation_key).second, field.option.name.data());
  }
  QCOMPARE(names.size(), sampling_option_table().size());
}

void SamplingFieldTest::every_value_is_written_as_it_is_read() {
  for (const SamplingField& field : sampling_fields()) {
    SamplingParams params;
    QVERIFY2(decode_json(field, unusual_value(field), params).has_value(), field.option.name.data());
    QVERIFY2(params != SamplingParams(), field.option.name.data());
    QVERIFY2(!is_neutral(field, params), field.option.name.data());
    SamplingParams again;
    QVERIFY2(decode_json(field, encode_json(field, params), again).has_value(), field.option.name.data());
    QVERIFY2(again == params, field.option.name.data());
    QVERIFY2(set_option(again, field.option.name, get_option(params, field.option.name)).has_value() && again == params,
             field.option.name.data());
  }
}

void SamplingFieldTest::a_copied_value_is_the_only_change() {
  SamplingParams all;
  for (const SamplingField& field : sampling_fields()) QVERIFY(decode_json(field, unusual_value(field), all).has_value());
  for (const SamplingField& field : sampling_fields()) {
    SamplingParams one;
    copy_value(field, all, one);
    for (const SamplingField& other : sampling_fields())
      QCOMPARE(is_neutral(other, one), other.option.name != field.option.name);
  }
}

void SamplingFieldTest::values_of_another_type_are_refused() {
  QCOMPARE(refusal(row("top_p"), "5"), std::string(": must be a number, got a string"));
  QCOMPARE(refusal(row("top_p"), 1e-320),
           std::string(": is too large or too close to zero for a 64-bit floating-point number"));
  QCOMPARE(refusal(row("top_k"), 1.5), std::string(": must be a whole number between -2^63 and 2^63 - 1"));
  QCOMPARE(refusal(row("top_k"), true), std::string(": must be a whole number, got true or false"));
  QCOMPARE(refusal(row("prompt_logprobs"), nullptr), std::string(": must be a whole number, got null"));
  QCOMPARE(refusal(row("ignore_eos"), 1), std::string(": must be true or false, got a number"));
  QCOMPARE(refusal(row("seed"), "x"), std::string(": must be a whole number, got a string"));
  QCOMPARE(refusal(row("stop"), 5), std::string(": must be a string or a list of strings, got a number"));
  QCOMPARE(refusal(row("stop"), Json(std::vector<std::string>(17, "x"))),
           std::string(": may hold at most 16 strings, got 17"));
  QCOMPARE(refusal(row("stop_token_ids"), 5), std::string(": must be a list, got a number"));
  QCOMPARE(refusal(row("logit_bias"), Json::array()), std::string(": must be an object, got a list"));
}

void SamplingFieldTest::lists_name_the_item() {
  QCOMPARE(refusal(row("stop"), Json::array({"x", 5})), std::string("[1]: must be a string, got a number"));
  QCOMPARE(refusal(row("stop_token_ids"), Json::array({1, 2, "3"})), std::string("[2]: must be a token ID, a whole number"));
  QCOMPARE(refusal(row("logit_bias"), Json{{"5", "x"}}), std::string(".5: must be a number between -100 and 100"));
  QCOMPARE(refusal(row("logit_bias"), Json{{"a\n", 1}}), std::string(": \"a\\n\" is not a token ID"));
}

void SamplingFieldTest::seeds_are_those_of_vllm() {
  SamplingParams params;
  QVERIFY(decode_json(row("seed"), -5, params).has_value());
  QCOMPARE(params.seed, std::optional(static_cast<std::uint64_t>(-5)));
  QVERIFY(decode_json(row("seed"), -1, params).has_value());
  QVERIFY(!params.seed.has_value());
}

void SamplingFieldTest::defaults_and_neutral_values_ask_for_nothing() {
  for (const SamplingField& field : sampling_fields()) QVERIFY2(is_neutral(field, {}), field.option.name.data());
  SamplingParams params;
  params.top_k = -1;
  QVERIFY(is_neutral(row("top_k"), params));
  params.top_k = 1;
  QVERIFY(!is_neutral(row("top_k"), params));
}

void SamplingFieldTest::sliders_are_within_the_range() {
  for (const SamplingField& field : sampling_fields()) {
    const SamplingControl& control = field.control;
    if (control.section == SamplingSection::none || field.option.kind == OptionKind::text) continue;
    QVERIFY2(control.min >= field.option.min && control.max <= field.option.max, field.option.name.data());
    QVERIFY2(control.min < control.max && control.step > 0, field.option.name.data());
    QVERIFY2(control.initial >= control.min && control.initial <= control.max, field.option.name.data());
  }
}

void SamplingFieldTest::a_row_of_the_window_has_a_control() {
  for (const SamplingField& field : sampling_fields()) {
    const SamplingControl& control = field.control;
    const bool has_control = has_number(field) || std::holds_alternative<TextsMember>(field.member) ||
                             std::holds_alternative<TextMember>(field.member);
    QVERIFY2(control.section == SamplingSection::none || (has_control && !control.label.empty()), field.option.name.data());
    QVERIFY2(!control.starts_off || control.can_be_off, field.option.name.data());
  }
}

void SamplingFieldTest::a_checkpoint_recommends_by_the_key_of_the_row() {
  std::vector<SamplingField> table(sampling_fields().begin(), sampling_fields().end());
  for (SamplingField& field : table) {
    if (field.generation_key.empty()) continue;
    const Json file = {{std::string(field.generation_key), unusual_value(field)}};
    QVERIFY2(!is_neutral(field, read_generation_config(file, 100, table).sampling), field.option.name.data());
    const std::string_view key = std::exchange(field.generation_key, {});
    QVERIFY2(read_generation_config(file, 100, table).sampling == SamplingParams(), field.option.name.data());
    field.generation_key = key;
  }
}

LATHE_TEST(SamplingFieldTest)

}  // namespace sampling_field_test
#include "sampling_field_test.moc"
