// Functions of Python among what people open: nets.py, nets.py:step, ssh://host/models/nets.py:step,
// package.module:step.
#pragma once

#include <optional>

#include "app/explorer/jobs/python_survey.h"

namespace rematlas::explorer {

/// What the word names. Modules are looked for from the current folder. None: the word is no Python, or
/// names a file of another kind.
std::optional<PythonSource> python_source(const QString& word);

/// How the function is opened again: /models/nets.py:step, or ssh://host/models/nets.py:step.
QString reopened_by(const std::optional<RemoteHost>& host, const QString& file, const QString& function);

}  // namespace rematlas::explorer
