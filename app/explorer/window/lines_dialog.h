// A dialog that appears after an export. It shows lines that use the exported file: lines of Python, and
// sometimes lines for a shell. The user can copy them.
#pragma once

#include <QCheckBox>
#include <QDialog>
#include <vector>

#include "core/planning/lines_to_paste.h"

namespace rematlas::explorer {

class LinesDialog : public QDialog {
    Q_OBJECT
  public:
    /// `file`: the exported file. `always`: whether the dialog is also shown after later exports.
    LinesDialog(const QString& file, const std::vector<LinesToPaste>& lines, bool always,
                QWidget* parent = nullptr);

  signals:
    void always_chosen(bool always);
};

}  // namespace rematlas::explorer
