// SPDX-License-Identifier: Apache-2.0
// Replays the corpus of the fuzz targets, tests/fuzz/corpus/TARGET/*: first inputs and inputs that fuzzing found.
#include <QTest>
#include <filesystem>
#include <set>

#include "engine/load/gguf/gguf_header.h"
#include "engine/load/safetensors.h"
#include "tests/fuzz/targets.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace fuzz_corpus_test {

using namespace lathe;

namespace {

std::vector<std::string> inputs_of(const fuzz::Target& target) {
  std::vector<std::string> inputs;
  const std::string folder = tests::source_path("tests/fuzz/corpus/" + std::string(target.name));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    inputs.push_back(tests::read_file(entry.path().string()));
  }
  return inputs;
}

}  // namespace

class FuzzCorpusTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void inputs_are_read_or_refused_data();
  void inputs_are_read_or_refused();
  void changes_of_structure_are_read_or_refused();
  void changes_of_structure_keep_the_structure();
};

void FuzzCorpusTest::inputs_are_read_or_refused_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < fuzz::targets().size(); ++i) {
    QTest::newRow(std::string(fuzz::targets()[i]->name).c_str()) << static_cast<int>(i);
  }
}

void FuzzCorpusTest::inputs_are_read_or_refused() {
  QFETCH(int, index);
  const fuzz::Target& target = *fuzz::targets()[static_cast<std::size_t>(index)];
  const auto inputs = inputs_of(target);
  for (const std::string& input : inputs) {
    target.feed(std::as_bytes(std::span(input)));
    // Cut and spoilt as well.
    target.feed(std::as_bytes(std::span(input)).first(input.size() / 2));
    std::string spoilt = input;
    for (std::size_t i = 0; i < spoilt.size(); i += 7) spoilt[i] = static_cast<char>(spoilt[i] ^ (1 << i % 8));
    target.feed(std::as_bytes(std::span(spoilt)));
  }
  QVERIFY(!inputs.empty());
}

void FuzzCorpusTest::changes_of_structure_are_read_or_refused() {
  constexpr std::uint32_t kSeeds = 300;
  int n_fed = 0;
  for (const fuzz::Target* target : fuzz::targets()) {
    if (target->change == nullptr) continue;
    for (const std::string& input : inputs_of(*target)) {
      std::string changed = input;
      for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
        const std::string next = target->change(seed % 8 == 0 ? input : changed, seed);
        if (next.empty()) continue;
        target->feed(std::as_bytes(std::span(next)));
        changed = next;
        ++n_fed;
      }
    }
  }
  QVERIFY(n_fed > 2 * static_cast<int>(kSeeds));
}

/// Half of the files at least must get by the checks that a random change of bytes ends at.
void FuzzCorpusTest::changes_of_structure_keep_the_structure() {
  constexpr std::uint32_t kSeeds = 400;
  const std::string gguf = tests::read_file(tests::source_path("tests/fuzz/corpus/gguf/llama"));
  const std::string safetensors = tests::read_file(tests::source_path("tests/fuzz/corpus/safetensors/two_tensors"));
  std::uint32_t n_gguf = 0, n_safetensors = 0;
  std::set<std::string> different;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const std::string changed = fuzz::find_target("gguf")->change(gguf, seed);
    n_gguf += engine::GgufHeader::parse(std::as_bytes(std::span(changed)), "x").has_value();
    const std::string entries = fuzz::find_target("safetensors")->change(safetensors, seed).substr(1);
    n_safetensors += engine::parse_safetensors(std::as_bytes(std::span(entries)), "x").has_value();
    different.insert(changed);
    different.insert(entries);
    QCOMPARE(changed, fuzz::find_target("gguf")->change(gguf, seed));
  }
  QVERIFY2(n_gguf > kSeeds / 2 && n_gguf < kSeeds, std::to_string(n_gguf).c_str());
  QVERIFY2(n_safetensors > kSeeds / 8 && n_safetensors < kSeeds, std::to_string(n_safetensors).c_str());
  QVERIFY2(different.size() > kSeeds, std::to_string(different.size()).c_str());
}

LATHE_TEST(FuzzCorpusTest)

}  // namespace fuzz_corpus_test
#include "fuzz_corpus_test.moc"
