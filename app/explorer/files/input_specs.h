// The inputs of a model as the capture wants them: dtype[shape], with `<bound` for integers, and arguments
// that are no tensors.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>

#include "core/base/result.h"

namespace rematlas::explorer {

/// "f32[8,3,224,224]", "i64[8,256]<4096"; spaces are taken out. "int:3", "float:0.5", "bool:true", "str:mean"
/// and "none" stay as they are. Errors name what is wrong.
Result<QString> checked_input_spec(const QString& text);

/// One spec a line or separated by ';'. Errors: the first wrong one.
Result<QStringList> checked_input_specs(const QString& text);

/// From the file beside the model (`model.pt` -> `model.json`, or `model.pt.json`): an object with a list
/// `inputs` of strings, or of objects with `dtype`, `shape` and an optional `below`. Nothing when there is no
/// such file or it is something else.
std::optional<QStringList> specs_beside(const std::filesystem::path& model);

}  // namespace rematlas::explorer
