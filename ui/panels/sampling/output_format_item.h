// SPDX-License-Identifier: GPL-3.0-or-later
// OutputFormatItem: what the next replies must be: free text, JSON, a schema, an expression, a choice or a grammar. An
// editor marks the place of an error while the user types.
#pragma once

#include <QComboBox>
#include <QHash>
#include <QPlainTextEdit>
#include <QTimer>

#include "ui/bridge/background.h"
#include "ui/models/output_format.h"
#include "ui/panels/sampling/sampling_item.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

class OutputFormatItem : public SamplingItem {
  Q_OBJECT
 public:
  /// `background` checks constraints. Requires: a field whose member is a text, in the form of structured_outputs.
  OutputFormatItem(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice, Background& background,
                   QWidget* parent);
  void refresh() override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void make_controls(const engine::SamplingField& field);
  OutputFormat shown() const;
  void show_format(const OutputFormat& format);
  void choose_kind(OutputKind kind);
  /// Gives the choice what is shown, and checks it.
  void apply();
  void check();
  void show_result(const OutputFormat& checked, const engine::Result<void>& result);
  void mark(const std::optional<TextSpan>& span);

  const Theme& theme_;
  const engine::TextMember member_;
  const QString name_;  ///< object name; the parts are "<name>.editor" and so on
  SamplingChoice& choice_;
  Background& background_;
  QComboBox* kind_;
  QPlainTextEdit* editor_;
  ToneLabel* result_;
  QTimer pause_;                        ///< runs out when the user pauses
  QHash<OutputKind, QString> texts_;    ///< texts of the kinds that are not shown now
  OutputKind last_ = OutputKind::free;  ///< kind to which the editor's text belongs
};

}  // namespace lathe::ui
