// Helps with a file that cannot be captured as it is. Says what the file is, and shows Python lines that turn
// it into a model that can be captured.
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
