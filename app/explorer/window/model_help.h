// Says what a file is that cannot be captured as it is, and shows Python lines to copy that make a model from
// it that can.
#pragma once

#include <QDialog>

#include "app/explorer/files/model_file.h"

namespace rematlas::explorer {

class ModelHelpDialog : public QDialog {
    Q_OBJECT
  public:
    ModelHelpDialog(const QString& model, const ModelFile& file, QWidget* parent = nullptr);
};

}  // namespace rematlas::explorer
