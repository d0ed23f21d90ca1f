// SPDX-License-Identifier: GPL-3.0-or-later
// MonitorPanel: throughput, time to first token, requests, KV blocks and padding over the last seconds, minutes or the hour.
#pragma once

#include <QStackedWidget>
#include <QTableWidget>
#include <QTimer>
#include <QToolButton>

#include "ui/panels/panel.h"
#include "ui/widgets/live_chart.h"
#include "ui/widgets/segmented.h"

namespace lathe::ui {

class MonitorPanel : public Panel {
  Q_OBJECT
 public:
  MonitorPanel(const PanelContext& context, QWidget* parent);
  QWidget* title_tools() override;
  void came_into_view() override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void build_charts();
  void sample();
  void sample_ttft(double now_s);
  void sample_rows(double now_s, const engine::EngineSnapshot& snapshot);
  void redraw();
  void fill_table();
  void set_span(int index);
  void show_table(bool shown);
  void save(LiveChart* chart, bool picture);

  PanelContext context_;
  QTimer timer_;
  QStackedWidget* stack_;
  QTableWidget* table_;
  LiveChart* throughput_ = nullptr;
  LiveChart* ttft_ = nullptr;
  LiveChart* requests_ = nullptr;
  LiveChart* kv_ = nullptr;
  LiveChart* rows_ = nullptr;  ///< hidden until the engine has padded
  std::vector<LiveChart*> charts_;
  bool frozen_ = false;
};

}  // namespace lathe::ui
