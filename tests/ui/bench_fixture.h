// SPDX-License-Identifier: GPL-3.0-or-later
// BenchFixture: the window at the Bench page, with a plan that is measured in no time.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSpinBox>
#include <QTableView>

#include "tests/ui/window_fixture.h"

namespace lathe::tests {

constexpr int kPatienceMs = 60'000;

/// The window at the Bench page, with a model chosen and a plan of a few tokens.
struct BenchFixture : WindowFixture {
  explicit BenchFixture(FakeLoad load = {}, const QString& profile = {}) : WindowFixture(std::move(load), profile) {
    window->context().load.choose("/nowhere/fake-model");
    trigger("layout.benchmark");
    find<QSpinBox>("bench.prompt_tokens")->setValue(8);
    find<QSpinBox>("bench.output_tokens")->setValue(4);
    find<QSpinBox>("bench.repeats")->setValue(2);
  }
  void vary(const char* name, const QString& values) {
    find<QMenu>("bench.variables.menu");
    Q_EMIT find<QMenu>("bench.variables.menu")->aboutToShow();
    find<QAction>(("bench.variables.add." + std::string(name)).c_str())->trigger();
    values_of(name)->setText(values);
  }
  QLineEdit* values_of(const char* name) {
    return find<QLineEdit>(("bench.variable." + std::string(name) + ".values").c_str());
  }
  app::SweepState state() { return workbench->sweeper().status().state; }
  bool wait_for(app::SweepState wanted) {
    const bool reached = QTest::qWaitFor([&] { return state() == wanted; }, kPatienceMs);
    window->bridge().refresh();
    return reached;
  }
  QString text(const char* label) { return find<QLabel>(label)->text(); }
  QTableView* table() { return find<QTableView>("bench.table"); }
  QString cell(int row, int column) { return table()->model()->index(row, column).data().toString(); }
};

}  // namespace lathe::tests
