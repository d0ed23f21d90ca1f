// SPDX-License-Identifier: Apache-2.0
#include "app/bench/this_machine.h"

#include <QTemporaryDir>
#include <QTest>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace this_machine_test {

using namespace lathe;
using namespace lathe::app;

class ThisMachineTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_processor_is_named_as_it_names_itself() {
    QTemporaryDir folder;
    const std::string file = folder.filePath("cpuinfo").toStdString();
    tests::write_file(file, "processor\t: 0\nmodel name\t: A Processor: X9\nflags\t: fpu\nmodel name\t: B\n");
    const ThisMachine machine = this_machine(file);
    QCOMPARE(machine.processor, std::string("A Processor: X9"));
    QVERIFY(text_of(machine).find(", A Processor: X9, ") != std::string::npos);
    QCOMPARE(this_machine(folder.filePath("none").toStdString()).processor, std::string());
  }

  void words_and_json_say_the_same() {
    const ThisMachine machine{
        .host = "", .processor = "", .n_processors = 4, .memory_gib = 15.55, .isas = {"scalar", "avx2"}};
    QVERIFY(
        text_of(machine).starts_with("a machine without a name, 4 processors, 15.6 GiB of memory; scalar, avx2; Lathe "));
    const engine::OrderedJson json = to_json(machine);
    QCOMPARE(json["processors"].get<int>(), 4);
    QCOMPARE(json["isas"].size(), std::size_t{2});
  }

  void this_one_has_processors_memory_and_kernels() {
    const ThisMachine machine = this_machine();
    QVERIFY(machine.n_processors > 0 && machine.memory_gib > 0 && !machine.isas.empty());
  }
};

LATHE_TEST(ThisMachineTest)

}  // namespace this_machine_test
#include "this_machine_test.moc"
