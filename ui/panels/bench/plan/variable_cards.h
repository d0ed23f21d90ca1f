// SPDX-License-Identifier: GPL-3.0-or-later
// VariableCards: the variables of a sweep: up to three settings with their values, each on a card.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QVBoxLayout>
#include <QWidget>
#include <vector>

#include "app/api/sweep_plan.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class VariableCards : public QWidget {
  Q_OBJECT
 public:
  /// `sampling`: the sampling parameters that may vary. Requires: the table outlives this object.
  VariableCards(const Theme& theme, QWidget* parent, engine::SamplingTable sampling = engine::sampling_fields());
  void set_variables(const std::vector<app::SweepVariable>& variables);
  /// The variables whose values can be read. problem() says why the others cannot.
  std::vector<app::SweepVariable> variables() const;
  QString problem() const;
  /// The button that adds a variable, for the heading.
  QPushButton* add_button() { return add_; }

 Q_SIGNALS:
  void changed();

 private:
  struct Card {
    QString name;
    QWidget* box;
    QLineEdit* values;
    QLabel* count;
    QLabel* problem;
  };
  void add_card(const QString& name, const QString& values);
  void check(Card& card);
  void remove(QWidget* box);
  void fill_menu();
  void add_entry(QMenu* group, const engine::OptionDescriptor& option);
  engine::Result<app::SweepVariable> variable_of(const Card& card) const;

  const Theme& theme_;
  const engine::SamplingTable sampling_;
  QVBoxLayout* column_;
  QPushButton* add_;
  QMenu* menu_;
  QLabel* empty_;
  std::vector<Card> cards_;
};

/// Values worth trying for a setting: all choices, or numbers around the usual ones.
QString suggested_values(const engine::OptionDescriptor& option);

}  // namespace lathe::ui
