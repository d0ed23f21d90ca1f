// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/variable_cards.h"

#include <QHBoxLayout>
#include <QPainter>
#include <algorithm>
#include <array>

#include "ui/models/sweep_text.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

/// A raised box with corners of radius 8.
class CardBox final : public QWidget {
 public:
  CardBox(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {}

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme_.tokens().border);
    painter.setBrush(theme_.tokens().raised);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(8), theme_.px(8));
  }

 private:
  const Theme& theme_;
};

struct Suggestion {
  std::string_view name;
  const char* values;
};
constexpr std::array kSuggestions = {
    Suggestion{"concurrency", "1, 2, 4, 8, 16"},
    Suggestion{"prompt_tokens", "32, 128, 512"},
    Suggestion{"output_tokens", "32, 128, 512"},
    Suggestion{"rate", "1, 2, 4, 8"},
    Suggestion{"shared_prefix", "0, 0.5, 0.9"},
    Suggestion{"block_size", "8, 16, 32"},
    Suggestion{"max_num_seqs", "1, 4, 16"},
    Suggestion{"threads", "1, 2"},
    Suggestion{"max_num_batched_tokens", "128, 512, 2048"},
    Suggestion{"temperature", "0, 0.7, 1"},
    Suggestion{"top_k", "0, 20, 50"},
    Suggestion{"top_p", "0.8, 0.9, 1"},
};

}  // namespace

QString suggested_values(const engine::OptionDescriptor& option) {
  const auto found =
      std::find_if(kSuggestions.begin(), kSuggestions.end(), [&](const Suggestion& s) { return s.name == option.name; });
  if (found != kSuggestions.end()) return QLatin1String(found->values);
  if (option.kind == engine::OptionKind::boolean) return QStringLiteral("true, false");
  QStringList choices;
  for (const std::string_view choice : engine::choices_of(option))
    choices << QString::fromUtf8(choice.data(), static_cast<int>(choice.size()));
  return choices.join(QStringLiteral(", "));
}

VariableCards::VariableCards(const Theme& theme, QWidget* parent, engine::SamplingTable sampling)
    : QWidget(parent), theme_(theme), sampling_(sampling) {
  setObjectName(QStringLiteral("bench.variables"));
  column_ = new QVBoxLayout(this);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(theme.px(8));
  empty_ = make_label(theme, "bench.variables.empty",
                      tr("No variables: the work is measured as it is. Add up to three settings to compare."), this, 12,
                      QFont::Normal, TextTone::text3);
  empty_->setWordWrap(true);
  column_->addWidget(empty_);
  add_ = make_button(theme, "bench.variables.add", tr("Add"), parent, ButtonLook::link, true);
  add_->setIcon(theme.icon(QStringLiteral("plus"), IconTone::accent));
  menu_ = new QMenu(this);
  menu_->setObjectName(QStringLiteral("bench.variables.menu"));
  add_->setMenu(menu_);
  connect(menu_, &QMenu::aboutToShow, this, &VariableCards::fill_menu);
}

void VariableCards::fill_menu() {
  menu_->clear();
  qDeleteAll(menu_->findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly));  // clear() keeps menus of an earlier call
  QMenu* group = menu_->addMenu(tr("Work"));
  for (const engine::OptionDescriptor& option : app::workload_option_table()) add_entry(group, option);
  group = menu_->addMenu(tr("Loading and serving"));
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) add_entry(group, option);
  group = menu_->addMenu(tr("Sampling"));
  for (const engine::SamplingField& field : sampling_) add_entry(group, field.option);
}

/// Adds an option to a group of the menu, unless the option cannot vary or has its card.
void VariableCards::add_entry(QMenu* group, const engine::OptionDescriptor& option) {
  const QString name = QString::fromUtf8(option.name.data(), static_cast<int>(option.name.size()));
  const bool is_used = std::any_of(cards_.begin(), cards_.end(), [&](const Card& card) { return card.name == name; });
  if (is_used || option.name == "model" || option.kind == engine::OptionKind::text || !app::can_vary(option.name)) return;
  QAction* action = group->addAction(setting_text(option.name));
  action->setObjectName(QStringLiteral("bench.variables.add.") + name);
  connect(action, &QAction::triggered, this, [this, name, values = suggested_values(option)] {
    add_card(name, values);
    if (values.isEmpty()) cards_.back().values->setFocus();
    Q_EMIT changed();
  });
}

/// Parses a card's values by the same rules as `lathe sweep --var`: lists, ranges.
engine::Result<app::SweepVariable> VariableCards::variable_of(const Card& card) const {
  const QString values = card.values->text().remove(' ');
  return app::parse_variable(QStringLiteral("%1=%2").arg(card.name, values).toStdString(), sampling_);
}

void VariableCards::add_card(const QString& name, const QString& values) {
  auto* box = new CardBox(theme_, this);
  box->setObjectName(QStringLiteral("bench.variable.") + name);
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(theme_.px(10), theme_.px(6), theme_.px(6), theme_.px(6));
  row->setSpacing(theme_.px(6));
  auto* words = new QVBoxLayout;
  words->setSpacing(theme_.px(1));
  words->addWidget(make_label(theme_, box->objectName() + ".name", setting_text(name.toStdString()), box, 13, QFont::Medium,
                              TextTone::text));
  auto* edit = new QLineEdit(values, box);
  edit->setObjectName(box->objectName() + ".values");
  edit->setAccessibleName(tr("Values of %1").arg(setting_text(name.toStdString())));
  edit->setToolTip(tr("Comma-separated values, or first:last:step, first:last:*factor"));
  edit->setPlaceholderText(tr("1, 2, 4 or 1:16:*2"));
  edit->setFont(theme_.font(12));
  words->addWidget(edit);
  auto* problem = make_label(theme_, box->objectName() + ".problem", {}, box, 11, QFont::Normal, TextTone::error);
  problem->setWordWrap(true);
  words->addWidget(problem);
  row->addLayout(words, 1);
  auto* count = make_label(theme_, box->objectName() + ".count", {}, box, 12);
  row->addWidget(count, 0, Qt::AlignTop);
  auto* gone = make_icon_button(theme_, box->objectName() + ".remove", "close", tr("Remove"), box, 20, IconTone::quiet);
  row->addWidget(gone, 0, Qt::AlignTop);
  column_->addWidget(box);
  cards_.push_back({name, box, edit, count, problem});
  connect(edit, &QLineEdit::textChanged, this, [this, box] {
    const auto found = std::find_if(cards_.begin(), cards_.end(), [box](const Card& card) { return card.box == box; });
    if (found == cards_.end()) return;  // the card is removed and about to be deleted
    check(*found);
    Q_EMIT changed();
  });
  connect(gone, &QToolButton::clicked, this, [this, box] { remove(box); });
  check(cards_.back());
  empty_->hide();
  add_->setEnabled(cards_.size() < app::kMaxVariables);
}

void VariableCards::check(Card& card) {
  const auto variable = variable_of(card);
  card.count->setText(variable ? QString::number(variable->values.size()) : QString());
  card.problem->setText(variable ? QString() : QString::fromStdString(variable.error().message));
  card.problem->setVisible(!variable);
}

void VariableCards::remove(QWidget* box) {
  std::erase_if(cards_, [box](const Card& card) { return card.box == box; });
  box->deleteLater();
  box->hide();
  empty_->setVisible(cards_.empty());
  add_->setEnabled(true);
  Q_EMIT changed();
}

void VariableCards::set_variables(const std::vector<app::SweepVariable>& variables) {
  for (const Card& card : cards_) delete card.box;
  cards_.clear();
  empty_->show();
  add_->setEnabled(true);
  for (const app::SweepVariable& variable : variables) {
    QStringList values;
    for (const std::string& value : variable.values) values << QString::fromStdString(value);
    add_card(QString::fromStdString(variable.name), values.join(QStringLiteral(", ")));
  }
}

std::vector<app::SweepVariable> VariableCards::variables() const {
  std::vector<app::SweepVariable> all;
  for (const Card& card : cards_) {
    if (auto variable = variable_of(card)) all.push_back(std::move(*variable));
  }
  return all;
}

QString VariableCards::problem() const {
  for (const Card& card : cards_) {
    const auto variable = variable_of(card);
    if (!variable)
      return QStringLiteral("%1: %2").arg(setting_text(card.name.toStdString()),
                                          QString::fromStdString(variable.error().message));
  }
  return {};
}

}  // namespace lathe::ui
