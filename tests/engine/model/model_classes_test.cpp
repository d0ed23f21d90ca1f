// SPDX-License-Identifier: Apache-2.0
// The classes of Hugging Face transformers that generate text (tests/fixtures/model_classes.tsv), each with what becomes of
// it here: read, the text of a larger model, or not read with the part that is missing.
#include <QTest>
#include <algorithm>
#include <string>
#include <vector>

#include "engine/load/unread_families.h"
#include "engine/model/architectures.h"
#include "engine/model/model_config.h"
#include "engine/model/text_aliases.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace model_classes_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

struct ClassRow {
  std::string name, type, text, fate;
};

std::vector<ClassRow> class_rows() {
  std::vector<ClassRow> rows;
  std::string line;
  for (const char c : read_file(source_path("tests/fixtures/model_classes.tsv"))) {
    if (c != '\n') {
      line += c;
      continue;
    }
    ClassRow row;
    std::size_t begin = 0;
    for (std::string* field : {&row.name, &row.type, &row.text, &row.fate}) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      *field = line.substr(std::min(begin, line.size()), end - std::min(begin, line.size()));
      begin = end + 1;
    }
    if (!line.starts_with('#')) rows.push_back(row);
    line.clear();
  }
  return rows;
}

/// The config of such a checkpoint, without its sizes.
Json config_of(const ClassRow& row) {
  Json config = {{"architectures", {row.name}}, {"model_type", row.type}};
  if (row.text != row.type) config["text_config"] = {{"model_type", row.text}};
  return config;
}

/// The message about the class alone; empty: it is read, whatever its sizes would be.
std::string refusal_of_class(const ClassRow& row) {
  const auto config = read_model_config(config_of(row));
  const std::string message = config ? "" : config.error().message;
  const bool is_of_class = message.find(" is not read: it needs ") != message.npos ||
                           message.find("is not one of the model families") != message.npos;
  return is_of_class ? message : "";
}

std::string fate_of(const ClassRow& row) {
  const std::string refusal = refusal_of_class(row);
  constexpr std::string_view kNeeds = "it needs ";
  if (!refusal.empty()) {
    const std::size_t at = refusal.find(kNeeds);
    return at == refusal.npos ? "unknown" : "not read: " + refusal.substr(at + kNeeds.size());
  }
  if (find_architecture(row.name) != nullptr) return "read";
  const TextAlias* const alias = find_text_alias(row.text);
  const Architecture* const family = find_architecture(alias != nullptr ? alias->family : row.text);
  if (family == nullptr) return "unknown";
  const std::string_view as = row.text == row.type ? "alias of " : "text of ";
  return std::string(as) + std::string(family->name);
}

}  // namespace

class ModelClassesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_class_has_its_fate() {
    QString wrong;
    for (const ClassRow& row : class_rows()) {
      const std::string fate = fate_of(row);
      if (fate == row.fate) continue;
      wrong += QString("%1\t%2\t%3\t%4\n").arg(row.name.c_str(), row.type.c_str(), row.text.c_str(), fate.c_str());
    }
    QVERIFY2(wrong.isEmpty(), qPrintable("expected lines:\n" + wrong));
  }

  /// A family that is read leaves the table of those that are not.
  void every_refusal_is_of_a_class_that_is_not_read() {
    int n_read = 0;
    for (const ClassRow& row : class_rows()) {
      QVERIFY2(row.fate != "unknown" && !row.fate.empty(), row.name.c_str());
      if (row.fate != "read") continue;
      ++n_read;
      if (row.name == "GraniteMoeHybridForCausalLM") continue;  // read without Mamba layers, and refused with them
      QVERIFY2(find_unread_class(row.name) == nullptr, row.name.c_str());
    }
    QVERIFY(n_read > 50);
  }

  void a_refusal_is_one_sentence() {
    for (const ClassRow& row : class_rows()) {
      const std::string refusal = refusal_of_class(row);
      if (refusal.empty()) continue;
      QCOMPARE(refusal, row.name + " is not read: it needs " + row.fate.substr(std::string("not read: ").size()));
      QVERIFY2(refusal.find('.') == refusal.npos && refusal.find('\n') == refusal.npos, refusal.c_str());
    }
  }
};

LATHE_TEST(ModelClassesTest)

}  // namespace model_classes_test
#include "model_classes_test.moc"
