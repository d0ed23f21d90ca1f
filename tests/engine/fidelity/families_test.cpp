// SPDX-License-Identifier: Apache-2.0
// Every model family against Hugging Face transformers in float32, on small random checkpoints (tests/fixtures/families).
#include <QDir>
#include <QObject>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cstring>
#include <map>

#include "engine/api/checkpoint.h"
#include "kernels/api/backend.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace families_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr double kTolerance = 1e-4;

struct Prompt {
  std::string what;
  std::vector<std::int32_t> ids, greedy;
  std::vector<std::vector<float>> logits;  ///< of each token of the prompt

  /// Prompt and answer: what RoPE chooses by.
  int n_reach() const { return static_cast<int>(ids.size() + greedy.size()); }
};

std::vector<Prompt> prompts_of(const std::string& family) {
  const std::string folder = family_path(family);
  const std::string bytes = read_file(folder + "/logits.bin");
  const engine::Json config = read_json_file(folder + "/config.json");
  const auto vocab = config.value("text_config", config).at("vocab_size").get<std::size_t>();
  const char* next = bytes.data();
  std::vector<Prompt> prompts;
  const engine::Json reference = read_json_file(folder + "/reference.json");
  for (const engine::Json& json : reference.at("prompts")) {
    Prompt prompt{json.at("what").get<std::string>(),
                  json.at("ids").get<std::vector<std::int32_t>>(),
                  json.at("greedy").get<std::vector<std::int32_t>>(),
                  {}};
    for (std::size_t i = 0; i < prompt.ids.size(); ++i) {
      std::vector<float>& row = prompt.logits.emplace_back(vocab);
      std::memcpy(row.data(), next, vocab * sizeof(float));
      next += vocab * sizeof(float);
    }
    prompts.push_back(std::move(prompt));
  }
  LATHE_CHECK(next == bytes.data() + bytes.size());
  return prompts;
}

class Family {
 public:
  /// model: the family's own checkpoint, or one made of it.
  Family(const std::string& name, const std::string& isa, const std::string& model)
      : model_(model), isa_(isa), prompts_(prompts_of(name)) {}
  const std::vector<Prompt>& prompts() const { return prompts_; }

  /// For all prompts the same: those that fit the context that RoPE was made for, and those that do not.
  RunnerDriver driver() const {
    int longest = 0;
    for (const Prompt& prompt : prompts_) longest = std::max(longest, prompt.n_reach());
    return RunnerDriver(model_, {.isa = isa_, .max_model_len = longest});
  }
  std::vector<std::vector<float>> whole(const Prompt& prompt) const {
    return driver().step({{0, prompt.ids, static_cast<int>(prompt.ids.size()), prompt.n_reach()}});
  }
  /// The prompt in steps of n_chunk tokens, beside `neighbour` where there is one.
  std::vector<std::vector<float>> in_chunks(const Prompt& prompt, int n_chunk, const Prompt* neighbour = nullptr) const {
    RunnerDriver driver = this->driver();
    std::vector<std::vector<float>> logits;
    const auto n = static_cast<int>(prompt.ids.size());
    for (int begin = 0; begin < n; begin += n_chunk) {
      const int end = std::min(begin + n_chunk, n);
      std::vector<DriverRows> rows{
          {0, std::span(prompt.ids).first(static_cast<std::size_t>(end)), end - begin, prompt.n_reach()}};
      if (neighbour != nullptr) {
        rows.insert(rows.begin(), {1, neighbour->ids, static_cast<int>(neighbour->ids.size()), neighbour->n_reach()});
      }
      auto all = driver.step(rows);
      logits.insert(logits.end(), all.end() - (end - begin), all.end());
    }
    return logits;
  }

 private:
  const std::string model_, isa_;
  const std::vector<Prompt> prompts_;
};

void add_rows(bool with_reference) {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("isa");
  std::vector<std::string> isas = kernels::cpu_isas();
  if (!std::string_view(LATHE_SANITIZERS).empty()) isas = {isas.back()};  // each takes ten times as long there
  if (with_reference) isas.insert(isas.begin(), "");
  for (const std::string& name : family_names()) {
    for (const std::string& isa : isas) {
      QTest::addRow("%s, %s", name.c_str(), isa.empty() ? "reference" : isa.c_str())
          << QString::fromStdString(name) << QString::fromStdString(isa);
    }
  }
}

Family family_of_row() {
  QFETCH(QString, family);
  QFETCH(QString, isa);
  return {family.toStdString(), isa.toStdString(), family_path(family.toStdString())};
}

/// Why it is not written; empty: it was, whole and without a warning.
std::string refusal_to_write(const std::string& model, const std::string& file) {
  const auto report = convert_as_it_is(model, file);
  if (!report) {
    return report.error().code == engine::ErrorCode::unsupported ? report.error().message : refusal_in(report);
  }
  const auto info = engine::inspect_checkpoint(file);
  if (!info) return refusal_in(info);
  return info->warnings.empty() ? "" : info->warnings.front();
}

}  // namespace

class FamiliesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cleanupTestCase() { print_table(); }

  void logits_are_those_of_transformers_data() { add_rows(true); }
  void logits_are_those_of_transformers() {
    const Family family = family_of_row();
    for (const Prompt& prompt : family.prompts()) {
      const double error = largest_difference(family.whole(prompt), prompt.logits);
      verdicts().error = std::max(verdicts().error, error);
      QVERIFY2(error <= kTolerance, qPrintable(QString("%1: off by %2").arg(prompt.what.c_str()).arg(error)));
    }
  }

  void greedy_answers_are_those_of_transformers_data() { add_rows(false); }
  void greedy_answers_are_those_of_transformers() {
    const Family family = family_of_row();
    for (const Prompt& prompt : family.prompts()) {
      const auto answer = family.driver().greedy(prompt.ids, static_cast<int>(prompt.greedy.size()));
      record(Verdicts::greedy, answer == prompt.greedy);
      QCOMPARE(answer, prompt.greedy);
    }
  }

  void chunks_and_company_change_no_bit_data() { add_rows(false); }
  void chunks_and_company_change_no_bit() {
    const Family family = family_of_row();
    const Prompt& neighbour = family.prompts().front();
    for (const Prompt& prompt : family.prompts()) {
      const auto whole = family.whole(prompt);
      const auto one_by_one = family.in_chunks(prompt, 1), chunked = family.in_chunks(prompt, 8);
      const auto in_company = family.in_chunks(prompt, 17, &neighbour);
      record(Verdicts::one_by_one, one_by_one == whole);
      record(Verdicts::chunked, chunked == whole);
      record(Verdicts::in_company, in_company == whole);
      QCOMPARE(one_by_one, whole);
      QCOMPARE(chunked, whole);
      QCOMPARE(in_company, whole);
    }
  }

  void every_family_has_its_row_of_gguf_files() {
    std::vector<std::string> names;
    for (const WrittenFamily& row : written_families()) names.emplace_back(row.name);
    QCOMPARE(names, family_names());
  }
  void gguf_files_say_the_same_data() {
    QTest::addColumn<QString>("family");
    for (const std::string& name : family_names()) QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
  void gguf_files_say_the_same();

 private:
  /// Results of one family on all instruction sets.
  struct Verdicts {
    enum Column { greedy, one_by_one, chunked, in_company, in_gguf, n_columns };
    double error = 0;
    int n_checks[n_columns]{}, n_passed[n_columns]{};
    QString unsaid;  ///< by GGUF files, which the column of those is without
  };

  Verdicts& verdicts() {
    QFETCH(QString, family);
    return table_[family];
  }
  void record(Verdicts::Column column, bool passed) {
    Verdicts& row = verdicts();
    ++row.n_checks[column];
    row.n_passed[column] += passed ? 1 : 0;
  }

  void print_table() const {
    constexpr int kNameWidth = 24, kWidth = 14;
    QString text = QString("family").leftJustified(kNameWidth) + QString("largest error").leftJustified(kWidth);
    for (const char* head : {"greedy", "one by one", "chunks", "in company", "from GGUF"})
      text += QString(head).leftJustified(kWidth);
    for (const auto& [family, row] : table_) {
      text += '\n' + family.leftJustified(kNameWidth) + QString::number(row.error, 'e', 1).leftJustified(kWidth);
      for (int column = 0; column < Verdicts::n_columns; ++column) {
        text += QString("%1 of %2").arg(row.n_passed[column]).arg(row.n_checks[column]).leftJustified(kWidth);
      }
      if (!row.unsaid.isEmpty()) text += QString("refused: ") + row.unsaid;
    }
    qInfo().noquote() << "\n" + text;
  }

  std::map<QString, Verdicts> table_;
};

/// The checkpoint becomes a file and is computed with again. What such a file cannot say is refused, and left out then.
void FamiliesTest::gguf_files_say_the_same() {
  QFETCH(QString, family);
  const std::string name = family.toStdString();
  const WrittenFamily* const row = find_written_family(name);
  QVERIFY(row != nullptr);
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString(), file = folder + "/written.gguf";
  if (!row->refused.empty()) {
    const std::string refusal = refusal_to_write(family_path(name), file);
    QVERIFY2(refusal.find(row->refused) != std::string::npos, refusal.c_str());
    QVERIFY(QDir(made.path()).isEmpty());
    verdicts().unsaid = QString::fromUtf8(row->refused.data(), static_cast<qsizetype>(row->refused.size()));
  }
  if (!row->is_written) return;
  copy_family(name, row->unsaid, folder);
  const std::string refusal = refusal_to_write(folder, file);
  QVERIFY2(refusal.empty(), refusal.c_str());
  const std::string isa = kernels::cpu_isas().back();
  const Family meant(name, isa, folder), read(name, isa, file);
  for (const Prompt& prompt : meant.prompts()) {
    const double error = largest_difference(read.whole(prompt), meant.whole(prompt));
    const auto n = static_cast<int>(prompt.greedy.size());
    const auto got = read.driver().greedy(prompt.ids, n), want = meant.driver().greedy(prompt.ids, n);
    record(Verdicts::in_gguf, error <= row->allowed && got == want);
    QVERIFY2(error <= row->allowed, qPrintable(QString("%1: off by %2").arg(prompt.what.c_str()).arg(error)));
    QCOMPARE(got, want);
  }
}

LATHE_TEST(FamiliesTest)

}  // namespace families_test
#include "families_test.moc"
