// SPDX-License-Identifier: GPL-3.0-or-later
// ManualTarget: the part of the manual that explains a control.
#pragma once

#include <QString>
#include <QWidget>

namespace lathe::ui {

struct ManualTarget {
  QString page;    ///< name of a page of app/api/manual.h
  QString anchor;  ///< "max_num_seqs": a definition of the page; "#kv-cache": a section; empty: the start of the page
};

/// The definition of the option that `control` sets, which is named by the control's object name ("model.max_num_seqs"); for
/// a control without an option, the section of its panel. For null and for controls outside every panel: the first page.
ManualTarget manual_target_of(const QWidget* control);

}  // namespace lathe::ui
