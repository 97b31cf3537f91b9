// A model's file on another machine, as it was surveyed there: what tells its kind and its inputs is here.
#pragma once

#include <QTemporaryDir>
#include <memory>

#include "app/explorer/jobs/python_survey.h"
#include "app/explorer/jobs/remote_host.h"
#include "core/base/result.h"

namespace rematlas::explorer {

struct RemoteModel {
    RemoteFile file;  ///< by its absolute path
    PythonSurvey survey;
    std::shared_ptr<QTemporaryDir> folder;

    /// Returns a file here of the same name, with the ends of the model's file, beside the file with its
    /// inputs if there is one: `look_at_model` and `specs_beside` tell of it what they would tell there.
    QString stand_in() const;
};

/// Errors: what the survey says of the file, and what cannot be written here.
Result<RemoteModel> remote_model(const RemoteHost& host, const PythonSurvey& survey);

}  // namespace rematlas::explorer
