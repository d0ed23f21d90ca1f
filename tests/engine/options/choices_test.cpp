// SPDX-License-Identifier: Apache-2.0
// Choices of options are the names of their tables' entries: an entry more is a choice more, on the command line, in
// messages and for the parser, and nothing else has to name it.
#include "engine/options/choices.h"

#include <QTest>
#include <algorithm>
#include <set>

#include "engine/api/option_value.h"
#include "engine/api/options.h"
#include "kernels/api/backend.h"
#include "tests/support/test_class.h"

namespace choices_test {

using namespace lathe::engine;

namespace {

constexpr std::string_view kFake = "fake", kOtherFake = "other_fake";

constexpr PolicyDescriptor kFakePolicy{.name = kFake, .help = "A policy of this test.", .plan = nullptr};
constexpr CallFormat kFakeCalls{
    .name = kFake, .other_names = {kOtherFake, ""}, .telltales = {}, .begins = {}, .wraps = {}, .bare = {}, .end = {}};

/// The program's table with an entry more.
template <class Entry>
std::vector<Entry> with(std::span<const Entry> table, Entry fake) {
  std::vector<Entry> more(table.begin(), table.end());
  more.push_back(fake);
  return more;
}

struct Row {
  const char* option;
  Choices (*choices)();            ///< over the program's table
  Choices (*choices_with_fake)();  ///< over the table with an entry more
  std::string_view fake = kFake;
};

const std::vector<Row> kRows = {
    {"policy", policy_choices, [] { return policy_choices(with(policy_table(), &kFakePolicy)); }},
    {"quantization", quantization_choices,
     [] { return quantization_choices(with(quantizations(), Quantization{kFake, lathe::kernels::WeightFormat::f32})); }},
    {"bnb_4bit_quant_type", bnb_4bit_quant_type_choices,
     [] { return bnb_4bit_quant_type_choices(with(bnb_4bit_types(), Bnb4bitType{kFake, {}})); }},
    {"dtype", compute_dtype_choices,
     [] {
       return dtype_choices(
           with(std::span<const lathe::kernels::Dtype>(lathe::kernels::kFloatingDtypes), lathe::kernels::Dtype::i64));
     },
     "int64"},
    {"bnb_4bit_compute_dtype", compute_dtype_choices,
     [] {
       return dtype_choices(
           with(std::span<const lathe::kernels::Dtype>(lathe::kernels::kFloatingDtypes), lathe::kernels::Dtype::i64));
     },
     "int64"},
    {"kv_cache_dtype", kv_cache_dtype_choices,
     [] {
       return dtype_choices(
           with(std::span<const lathe::kernels::Dtype>(lathe::kernels::kKvDtypes), lathe::kernels::Dtype::u8));
     },
     "uint8"},
    {"device", device_choices, [] { return device_choices(with(devices(), Device{kFake, nullptr})); }},
    {"isa", isa_choices,
     [] {
       const std::vector<std::string_view> isas = lathe::kernels::all_cpu_isas();
       return isa_choices(with(std::span<const std::string_view>(isas), kFake));
     }},
    {"tool_call_parser", tool_call_parser_choices,
     [] { return tool_call_parser_choices(with(call_formats(), &kFakeCalls)); }, kOtherFake},
    {"reasoning_parser", reasoning_parser_choices,
     [] { return reasoning_parser_choices(with(reasoning_formats(), ReasoningFormat{kFake, {}, {}, {}, {}})); }},
};

}  // namespace

class ChoicesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void every_option_with_choices_is_here() {
    std::set<std::string_view> here;
    for (const Row& row : kRows) here.insert(row.option);
    for (const OptionDescriptor& option : engine_option_table())
      QCOMPARE(here.contains(option.name), option.kind == OptionKind::choice);
  }
  void an_entry_more_is_a_choice_more_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < kRows.size(); ++i) QTest::newRow(kRows[i].option) << static_cast<int>(i);
  }
  void an_entry_more_is_a_choice_more() {
    QFETCH(int, index);
    const Row& row = kRows[static_cast<std::size_t>(index)];
    OptionDescriptor option = engine_option(row.option);
    QVERIFY(option.choices.names == row.choices);
    QVERIFY(!parse_choice(option, row.fake).has_value());

    option.choices = row.choices_with_fake;
    QVERIFY(parse_choice(option, row.fake).has_value());
    QVERIFY(parse_choice(option, "nothing near").error().message.find(row.fake) != std::string::npos);
    QVERIFY(named_choices(option).ends_with("|" + std::string(row.fake)));
    Choices rest = row.choices_with_fake();
    std::erase_if(rest, [](std::string_view name) { return name == kFake; });
    std::erase(rest, row.fake);
    QCOMPARE(rest, row.choices());
  }
  void each_choice_is_there_once_and_the_default_is_one_of_them() {
    for (const Row& row : kRows) {
      const OptionDescriptor& option = engine_option(row.option);
      const Choices choices = option.choices.names();
      QCOMPARE(std::set<std::string_view>(choices.begin(), choices.end()).size(), choices.size());
      QVERIFY2(parse_choice(option, get_option(EngineOptions(), row.option)).has_value(), row.option);
    }
  }
  void values_may_be_in_the_row() {
    const OptionDescriptor option{"too_long", OptionGroup::scheduling, OptionKind::choice, "A setting of this test.", 0, 0,
                                  "|fail|cut"};
    QCOMPARE(choices_of(option), (Choices{"fail", "cut"}));
    QCOMPARE(named_choices(option), std::string("fail|cut"));
    QVERIFY(may_be_empty(option));
    QVERIFY(parse_choice(option, "").has_value() && parse_choice(option, "cut").has_value());
    QVERIFY(!parse_choice(option, "fail|cut").has_value());
  }
  void a_device_may_have_the_form_of_its_row() {
    const OptionDescriptor& device = engine_option("device");
    QCOMPARE(named_choices(device), std::string("cpu|cuda|cuda:N"));
    QVERIFY(parse_choice(device, "cuda:7").has_value() && !parse_choice(device, "cuda:N").has_value());
  }
  void an_instruction_set_may_be_left_out() {
    QVERIFY(may_be_empty(engine_option("isa")));
    QVERIFY(!choices_of(engine_option("isa")).empty() && choices_of(engine_option("isa")).front() == "scalar");
    QVERIFY(!may_be_empty(engine_option("policy")));
  }
};

LATHE_TEST(ChoicesTest)

}  // namespace choices_test
#include "choices_test.moc"
