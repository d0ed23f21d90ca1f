// SPDX-License-Identifier: GPL-3.0-or-later
// ServePage: the switch of the server, its address and key, the protocols that it speaks, and a test request.
#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QSpinBox>
#include <optional>

#include "ui/panels/panel.h"
#include "ui/panels/serve/dialect_rows.h"
#include "ui/panels/serve/key_field.h"
#include "ui/panels/serve/test_answer.h"
#include "ui/widgets/chip.h"
#include "ui/widgets/page_header.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {

class ServePage : public Panel {
  Q_OBJECT
 public:
  ServePage(const PanelContext& context, QWidget* parent);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* make_header();
  QWidget* make_body();
  QWidget* make_controls();
  QWidget* make_key_buttons(QWidget* box);
  void add_start_rows(QWidget* box, QGridLayout* form);
  void add_row(QGridLayout* form, int line, const QString& label, QWidget* control, QWidget* more = nullptr);
  void connect_actions();
  void read_settings();
  /// Outcome of a start or restart in the background.
  struct Restart {
    engine::Result<void> result;
    app::ServerOptions options;
    bool is_back = false;  ///< the new options failed, and the server runs with the old ones again
  };
  void toggle();
  void restart_if_running();
  void take_result(Restart done);
  void start_by_itself();
  app::ServerState state_now() const;
  void show_status();
  void take_key(const QString& key);
  void show_key();
  std::vector<app::DialectState> dialects_now() const;
  void switch_dialect(const QString& name, bool on);
  void copy(const QString& text, const QString& what);
  void send_test();

  PanelContext context_;
  app::ServerOptions running_;                 ///< options of the last successful start
  QString trouble_;                            ///< problem of a failed restart; empty: none
  QString key_trouble_;                        ///< the reason why the entered key is not accepted; empty: it is
  std::optional<app::ServerState> under_way_;  ///< starting or stopping, until the result is taken
  bool again_ = false, start_pending_ = false;
  QBoxLayout* body_ = nullptr;
  QWidget* controls_ = nullptr;
  QWidget* divider_ = nullptr;  ///< line between controls and protocols when they are next to each other
  Chip* model_ = nullptr;
  QPushButton* test_button_ = nullptr;
  Switch* on_ = nullptr;
  ToneLabel* state_ = nullptr;
  ToneLabel* facts_ = nullptr;
  QComboBox* host_ = nullptr;
  QSpinBox* port_ = nullptr;
  Switch* cors_ = nullptr;
  KeyField* key_ = nullptr;
  QLineEdit* name_ = nullptr;
  QLabel* warning_ = nullptr;
  Switch* autostart_ = nullptr;
  QLabel* limits_ = nullptr;
  DialectRows* dialects_ = nullptr;
  TestAnswer* answer_ = nullptr;
};

}  // namespace lathe::ui
