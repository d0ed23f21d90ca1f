// SPDX-License-Identifier: GPL-3.0-or-later
// ModelInfoSection: the metadata in the headers of the chosen model, before it is loaded; initially folded.
#pragma once

#include <QGridLayout>
#include <QPushButton>

#include "ui/models/info_text.h"
#include "ui/panels/panel.h"
#include "ui/widgets/section.h"

namespace lathe::ui {

class ModelInfoSection : public QWidget {
  Q_OBJECT
 public:
  ModelInfoSection(const PanelContext& context, QWidget* parent);
  void refresh();

 private:
  void show_rows(const InfoRows& rows);

  const PanelContext& context_;
  Section* section_;
  QWidget* table_ = nullptr;
  QPushButton* copy_;
  InfoRows rows_;
};

}  // namespace lathe::ui
