// Checks the inputs of a model as they are written for a capture: dtype[shape], with `<bound` for integers.
// Arguments that are no tensors have other forms, for example int:3.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>

#include "core/base/result.h"

namespace rematlas::explorer {

/// Checks one input. Returns a spec of a tensor without spaces: "f32[8,3,224,224]", "i64[8,256]<4096". Other
/// arguments are returned unchanged: "int:3", "float:0.5", "bool:true", "str:mean", "none". Errors name what
/// is wrong.
Result<QString> checked_input_spec(const QString& text);

/// Splits the text at line breaks and ';', and returns the checked specs. Fails with the error of the first
/// wrong spec.
Result<QStringList> checked_input_specs(const QString& text);

/// Reads the specs from the file next to the model (`model.pt` -> `model.json`, or `model.pt.json`): an
/// object with a list `inputs` of strings, or of objects with `dtype`, `shape` and an optional `below`.
/// Returns nullopt if there is no such file or it has another form.
std::optional<QStringList> specs_beside(const std::filesystem::path& model);

}  // namespace rematlas::explorer
