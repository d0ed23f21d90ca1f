// SPDX-License-Identifier: Apache-2.0
// Every model family against Hugging Face transformers in float32, on small random checkpoints (tests/fixtures/families).
#include <QObject>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "kernels/api/backend.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

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

std::string families_folder() { return source_path("tests/fixtures/families"); }

std::vector<Prompt> prompts_of(const std::string& family) {
  const std::string folder = families_folder() + "/" + family;
  const std::string bytes = read_file(folder + "/logits.bin");
  const auto vocab = read_json_file(folder + "/config.json").at("vocab_size").get<std::size_t>();
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

double largest_error(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& want) {
  double largest = got.size() == want.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    for (std::size_t j = 0; j < want[i].size(); ++j) {
      const double error = std::fabs(static_cast<double>(got[i][j]) - want[i][j]);
      largest = std::isnan(error) ? INFINITY : std::max(largest, error);
    }
  }
  return largest;
}

class Family {
 public:
  Family(const std::string& name, const std::string& isa) : name_(name), isa_(isa), prompts_(prompts_of(name)) {}
  const std::vector<Prompt>& prompts() const { return prompts_; }

  /// For all prompts the same: those that fit the context that RoPE was made for, and those that do not.
  RunnerDriver driver() const {
    int longest = 0;
    for (const Prompt& prompt : prompts_) longest = std::max(longest, prompt.n_reach());
    return RunnerDriver(families_folder() + "/" + name_, {.isa = isa_, .max_model_len = longest});
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
  const std::string name_, isa_;
  const std::vector<Prompt> prompts_;
};

void add_rows(bool with_reference) {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("isa");
  std::vector<std::string> isas = kernels::cpu_isas();
  if (!std::string_view(LATHE_SANITIZERS).empty()) isas = {isas.back()};  // each takes ten times as long there
  if (with_reference) isas.insert(isas.begin(), "");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(families_folder())) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    for (const std::string& isa : isas) {
      QTest::addRow("%s, %s", name.c_str(), isa.empty() ? "reference" : isa.c_str())
          << QString::fromStdString(name) << QString::fromStdString(isa);
    }
  }
}

Family family_of_row() {
  QFETCH(QString, family);
  QFETCH(QString, isa);
  return {family.toStdString(), isa.toStdString()};
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
      const double error = largest_error(family.whole(prompt), prompt.logits);
      verdicts().error = std::max(verdicts().error, error);
      QVERIFY2(error <= kTolerance, qPrintable(QString("%1: off by %2").arg(prompt.what.c_str()).arg(error)));
    }
  }

  void greedy_answers_are_those_of_transformers_data() { add_rows(false); }
  void greedy_answers_are_those_of_transformers() {
    const Family family = family_of_row();
    for (const Prompt& prompt : family.prompts()) {
      const auto answer = family.driver().greedy(prompt.ids, static_cast<int>(prompt.greedy.size()));
      note(Verdicts::greedy, answer == prompt.greedy);
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
      note(Verdicts::one_by_one, one_by_one == whole);
      note(Verdicts::chunked, chunked == whole);
      note(Verdicts::in_company, in_company == whole);
      QCOMPARE(one_by_one, whole);
      QCOMPARE(chunked, whole);
      QCOMPARE(in_company, whole);
    }
  }

 private:
  /// Of a family on all instruction sets.
  struct Verdicts {
    enum Column { greedy, one_by_one, chunked, in_company, n_columns };
    double error = 0;
    int n_checks[n_columns]{}, n_passed[n_columns]{};
  };

  Verdicts& verdicts() {
    QFETCH(QString, family);
    return table_[family];
  }
  void note(Verdicts::Column column, bool passed) {
    Verdicts& row = verdicts();
    ++row.n_checks[column];
    row.n_passed[column] += passed ? 1 : 0;
  }

  void print_table() const {
    constexpr int kNameWidth = 24, kWidth = 14;
    QString text = QString("family").leftJustified(kNameWidth) + QString("largest error").leftJustified(kWidth);
    for (const char* head : {"greedy", "one by one", "chunks", "in company"}) text += QString(head).leftJustified(kWidth);
    for (const auto& [family, row] : table_) {
      text += '\n' + family.leftJustified(kNameWidth) + QString::number(row.error, 'e', 1).leftJustified(kWidth);
      for (int column = 0; column < Verdicts::n_columns; ++column) {
        text += QString("%1 of %2").arg(row.n_passed[column]).arg(row.n_checks[column]).leftJustified(kWidth);
      }
    }
    qInfo().noquote() << "\n" + text;
  }

  std::map<QString, Verdicts> table_;
};

QTEST_GUILESS_MAIN(FamiliesTest)
#include "families_test.moc"
