// SPDX-License-Identifier: Apache-2.0
#include "engine/base/mapped_file.h"

#include <fcntl.h>

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace mapped_file_test {

using lathe::engine::MappedFile;

namespace {

std::shared_ptr<const MappedFile> mapped(const QTemporaryDir& folder, const std::string& content) {
  const std::string path = folder.filePath("file").toStdString();
  lathe::tests::write_file(path, content);
  return *MappedFile::map(::open(path.c_str(), O_RDONLY), "file");
}

}  // namespace

class MappedFileTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void bytes_are_those_of_the_file();
  void an_empty_file_has_no_bytes();
  void a_bad_descriptor_is_an_error();
  void a_mapping_outlives_its_name();
  void advice_takes_any_part();
  void a_truncated_file_is_not_whole();
};

void MappedFileTest::a_truncated_file_is_not_whole() {
  const QTemporaryDir folder;
  const auto file = mapped(folder, "lathe");
  const std::string path = folder.filePath("file").toStdString();
  QVERIFY(file->is_whole());
  std::filesystem::resize_file(path, 9);
  QVERIFY(file->is_whole());
  std::filesystem::resize_file(path, 4);
  QVERIFY(!file->is_whole());
}

void MappedFileTest::bytes_are_those_of_the_file() {
  const QTemporaryDir folder;
  const auto file = mapped(folder, "lathe");
  QCOMPARE(file->bytes().size(), std::size_t{5});
  QCOMPARE(static_cast<char>(file->bytes()[0]), 'l');
  QCOMPARE(file->name(), std::string("file"));
}

void MappedFileTest::an_empty_file_has_no_bytes() {
  const QTemporaryDir folder;
  QVERIFY(mapped(folder, "")->bytes().empty());
}

void MappedFileTest::a_bad_descriptor_is_an_error() {
  const auto file = MappedFile::map(-1, "gone");
  QVERIFY(!file.has_value());
  QCOMPARE(file.error().where, std::string("gone"));
}

void MappedFileTest::a_mapping_outlives_its_name() {
  const QTemporaryDir folder;
  const auto file = mapped(folder, "still here");
  QVERIFY(QFile::remove(folder.filePath("file")));
  QCOMPARE(static_cast<char>(file->bytes()[6]), 'h');
}

void MappedFileTest::advice_takes_any_part() {
  const QTemporaryDir folder;
  const auto file = mapped(folder, std::string(100'000, 'x'));
  for (const std::size_t begin : {0UL, 1UL, 4095UL, 4096UL, 99'999UL}) {
    const auto part = file->bytes().subspan(begin);
    file->will_need(part);
    file->drop(part);
    file->drop(part.first(0));
    QCOMPARE(static_cast<char>(part.back()), 'x');
  }
}

LATHE_TEST(MappedFileTest)

}  // namespace mapped_file_test
#include "mapped_file_test.moc"
