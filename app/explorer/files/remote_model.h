// A model's file on another machine. Only the parts that tell its kind and its inputs have been copied to
// this machine.
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

    /// Returns the path of a local file that has the name of the model's file and contains its beginning and
    /// its end. A copy of the file with the model's inputs, if there is one, is next to the local file. So
    /// `look_at_model` and `specs_beside` give the same results for this path as for the real file.
    QString stand_in() const;
};

/// Writes the local files that stand for the model's file on `host`. Fails if the survey found a problem with
/// that file, or if a local file cannot be written.
Result<RemoteModel> remote_model(const RemoteHost& host, const PythonSurvey& survey);

}  // namespace rematlas::explorer
