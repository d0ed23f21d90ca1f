// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/column_menu.h"

#include <QMouseEvent>
#include <algorithm>
#include <map>

#include "ui/models/sweep_text.h"

namespace lathe::ui {
namespace {

/// A menu that ticks the clicked metric and stays open for the next.
class StayingMenu final : public QMenu {
 public:
  using QMenu::QMenu;

 protected:
  void mouseReleaseEvent(QMouseEvent* event) override {
    QAction* const action = actionAt(event->position().toPoint());
    if (action == nullptr || !action->isCheckable() || !action->isEnabled()) return QMenu::mouseReleaseEvent(event);
    action->trigger();
  }
};

struct Group {
  const char* title;
  std::vector<std::string_view> begins;  ///< beginnings of the names of the group's metrics
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {QT_TRANSLATE_NOOP("ColumnMenu", "Throughput"), {"output_", "total_", "request_s", "goodput_", "prefill_"}},
      {QT_TRANSLATE_NOOP("ColumnMenu", "Latency"), {"ttft_", "itl_", "tpot_", "e2e_"}},
      {QT_TRANSLATE_NOOP("ColumnMenu", "KV cache and batching"), {"kv_", "cached_", "preemptions", "padding"}},
      {QT_TRANSLATE_NOOP("ColumnMenu", "Model"), {"load_", "weight_", "memory_"}},
      {QT_TRANSLATE_NOOP("ColumnMenu", "Quality"), {"perplexity", "kl_", "same_", "quality_"}},
      {QT_TRANSLATE_NOOP("ColumnMenu", "Requests and answers"), {""}}};  // all other metrics
  return all;
}

std::size_t group_of(std::string_view name) {
  for (std::size_t i = 0; i < groups().size(); ++i) {
    for (const std::string_view begin : groups()[i].begins) {
      if (name.starts_with(begin)) return i;
    }
  }
  return groups().size() - 1;
}

}  // namespace

ColumnMenu::ColumnMenu(QWidget* parent) : QMenu(parent) {
  setObjectName(QStringLiteral("bench.columns.menu"));
  std::map<std::size_t, std::vector<std::size_t>> metrics;
  for (std::size_t i = 0; i < app::sweep_metrics().size(); ++i) {
    const std::string_view name = app::sweep_metrics()[i].name;
    if (!name.ends_with("_ci95")) metrics[group_of(name)].push_back(i);  // intervals are shown next to their metric
  }
  for (const auto& [group, members] : metrics) add_group(tr(groups()[group].title), members);
  addSeparator();
  QAction* const reset = addAction(tr("Reset"));
  reset->setObjectName(QStringLiteral("bench.columns.reset"));
  reset->setToolTip(tr("The columns that belong to the plan"));
  connect(reset, &QAction::triggered, this, &ColumnMenu::reset_wanted);
  setToolTipsVisible(true);
}

void ColumnMenu::add_group(const QString& title, const std::vector<std::size_t>& metrics) {
  auto* const group = new StayingMenu(title, this);
  group->setToolTipsVisible(true);
  addMenu(group);
  for (const std::size_t metric : metrics) {
    QAction* const action = group->addAction(metric_text(metric));
    action->setObjectName(QStringLiteral("bench.columns.") + text_of(app::sweep_metrics()[metric].name));
    action->setCheckable(true);
    action->setData(static_cast<qulonglong>(metric));
    action->setToolTip(text_of(app::sweep_metrics()[metric].definition));
    connect(action, &QAction::triggered, this, &ColumnMenu::tell);
    metrics_.push_back(action);
  }
}

void ColumnMenu::show_metrics(const std::vector<std::size_t>& shown) {
  for (QAction* action : metrics_) {
    const bool is_shown = std::find(shown.begin(), shown.end(), action->data().toULongLong()) != shown.end();
    action->setChecked(is_shown);
    action->setEnabled(!is_shown || shown.size() > 1);
  }
}

void ColumnMenu::tell() {
  std::vector<std::size_t> metrics;
  for (const QAction* action : metrics_) {
    if (action->isChecked()) metrics.push_back(static_cast<std::size_t>(action->data().toULongLong()));
  }
  std::sort(metrics.begin(), metrics.end());
  Q_EMIT chosen(metrics);
}

}  // namespace lathe::ui
