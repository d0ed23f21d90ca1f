// SPDX-License-Identifier: Apache-2.0
#include "engine/base/text_file.h"

#include <sys/stat.h>

#include <QTemporaryDir>
#include <QTest>
#include <fstream>

#include "tests/support/test_class.h"

namespace text_file_test {

using namespace lathe::engine;

class TextFileTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void reads_all_bytes() {
    const std::string path = folder_.filePath("a").toStdString();
    std::ofstream(path, std::ios::binary) << std::string("x\0y", 3);
    QCOMPARE(read_text_file(path, 100).value(), std::string("x\0y", 3));
    QVERIFY(read_text_file(path, 3).has_value());
  }
  void a_larger_file_is_refused_with_both_sizes() {
    const std::string path = folder_.filePath("big").toStdString();
    std::ofstream(path) << std::string(1000, 'x');
    const auto text = read_text_file(path, 999);
    QVERIFY(!text && text.error().code == ErrorCode::model_refused);
    QVERIFY(text.error().message.find("1000") != std::string::npos && text.error().message.find("999") != std::string::npos);
  }
  void a_missing_file_is_not_found() {
    QVERIFY(read_text_file(folder_.filePath("no").toStdString(), 10).error().code == ErrorCode::not_found);
  }
  void L13_special_files_are_refused_without_blocking() {
    const std::string pipe = folder_.filePath("pipe").toStdString();
    QCOMPARE(mkfifo(pipe.c_str(), 0600), 0);
    QVERIFY(read_text_file(pipe, 10).error().code == ErrorCode::model_refused);
    QVERIFY(read_text_file("/dev/zero", 10).error().code == ErrorCode::model_refused);
    QVERIFY(!read_text_file(folder_.path().toStdString(), 10).has_value());
  }
  void errors_name_the_file_without_its_path() {
    QCOMPARE(read_text_file(folder_.filePath("gone.json").toStdString(), 10).error().where, std::string("gone.json"));
  }

 private:
  QTemporaryDir folder_;
};

LATHE_TEST(TextFileTest)

}  // namespace text_file_test
#include "text_file_test.moc"
