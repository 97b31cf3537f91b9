// A model's file on another machine. The parts that tell its kind and its inputs have been copied here.
#pragma once

#include <QTemporaryDir>
#include <memory>

#include "app/explorer/jobs/python_survey.h"
#include "app/explorer/jobs/remote_host.h"
#include "core/base/result.h"

namespace rematlas::explorer {

struct RemoteModel {
    RemoteFile file;  ///< with an absolute path
    PythonSurvey survey;
    std::shared_ptr<QTemporaryDir> folder;

    /// Returns a local file of the same name with the ends of the model's file, next to a copy of the file
    /// with its inputs if there is one. `look_at_model` and `specs_beside` give the same results as for the
    /// real file.
    QString stand_in() const;
};

/// Fails if the survey found a problem with the file, or if a copy cannot be written here.
Result<RemoteModel> remote_model(const RemoteHost& host, const PythonSurvey& survey);

}  // namespace rematlas::explorer
