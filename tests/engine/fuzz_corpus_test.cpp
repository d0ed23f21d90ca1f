// SPDX-License-Identifier: Apache-2.0
// What fuzzing began with and what it found, fed again: tests/fuzz/corpus/TARGET/*.
#include <QTest>
#include <filesystem>

#include "tests/fuzz/targets.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

using namespace lathe;

class FuzzCorpusTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void inputs_are_read_or_refused_data();
  void inputs_are_read_or_refused();
};

void FuzzCorpusTest::inputs_are_read_or_refused_data() {
  QTest::addColumn<QString>("folder");
  for (const fuzz::Target& target : fuzz::targets()) {
    const std::string name(target.name);
    QTest::newRow(name.c_str()) << QString::fromStdString(tests::source_path("tests/fuzz/corpus/" + name));
  }
}

void FuzzCorpusTest::inputs_are_read_or_refused() {
  QFETCH(QString, folder);
  const fuzz::Target* target = fuzz::find_target(QTest::currentDataTag());
  int n_inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.toStdString())) {
    const std::string input = tests::read_file(entry.path().string());
    target->feed(std::as_bytes(std::span(input)));
    // Cut and spoilt as well.
    target->feed(std::as_bytes(std::span(input)).first(input.size() / 2));
    std::string spoilt = input;
    for (std::size_t i = 0; i < spoilt.size(); i += 7) spoilt[i] = static_cast<char>(spoilt[i] ^ (1 << i % 8));
    target->feed(std::as_bytes(std::span(spoilt)));
    ++n_inputs;
  }
  QVERIFY(n_inputs > 0);
}

QTEST_APPLESS_MAIN(FuzzCorpusTest)
#include "fuzz_corpus_test.moc"
