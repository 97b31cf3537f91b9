// A capture of a Python function, and its command line: python -m rematlas capture package.module:function
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

#include "app/explorer/jobs/remote_host.h"

namespace rematlas::explorer {

struct FunctionRequest {
    QString python;             ///< the interpreter
    QString folder;             ///< the folder from which the module is imported
    QString function;           ///< package.module:function
    QString output;             ///< NAME.graph.json
    QStringList keywords = {};  ///< keyword arguments of the function, NAME=VALUE each
    /// The device: cpu, cuda, or meta (from shapes); empty: the one on which the function puts its model
    QString device = {};
    QString device_profile = {};  ///< with the device "meta": the device to plan for
    QString optimizer = "none";
    QString autocast = {};        ///< with "meta": bf16 or f16; empty: no autocast
    QString master_weights = {};  ///< with "meta" and an optimizer: f32; empty: no master weights
    bool values = false;          ///< with "meta": whether the arguments keep their values
    /// The machine of the interpreter, the folder and the output; none: this one
    std::optional<RemoteHost> host = {};
    bool replace = false;  ///< whether the output on `host` may replace an existing file
};

/// Returns the arguments of the interpreter.
QStringList capture_words(const FunctionRequest& request);

/// The optimizers that can end a step from shapes, by the names that `--optimizer` takes: those of
/// torch.optim and torchao. For steps that really run, see `captured_optimizers()` (capture_controller.h).
QStringList planned_optimizers();

/// Words of the form NAME=VALUE, separated by commas or blanks: "batch=8, length=512". `wrong` is the first
/// word of another form.
struct Keywords {
    QStringList words;
    QString wrong;
};
Keywords keywords_in(const QString& typed);

}  // namespace rematlas::explorer
