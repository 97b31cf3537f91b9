// A capture of a function of Python, as the command line asks for it: python -m rematlas capture
// package.module:function
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

#include "app/explorer/jobs/remote_host.h"

namespace rematlas::explorer {

struct FunctionRequest {
    QString python;             ///< the interpreter
    QString folder;             ///< from which the module is imported
    QString function;           ///< package.module:function
    QString output;             ///< NAME.graph.json
    QStringList keywords = {};  ///< of the function: NAME=VALUE
    QString device = {};        ///< empty: where the function puts its model; cpu, cuda, or meta: from shapes
    QString device_profile = {};  ///< with the device "meta": what to plan for
    QString optimizer = "none";
    QString autocast = {};                ///< with "meta": bf16, f16
    QString master_weights = {};          ///< with "meta" and an optimizer: f32
    bool values = false;                  ///< with "meta": the arguments keep the values that they have
    std::optional<RemoteHost> host = {};  ///< where all of it is, if not here
    bool replace = false;                 ///< a graph file that is there already, on another machine
};

/// The words behind the interpreter's name.
QStringList capture_words(const FunctionRequest& request);

/// Optimizers that end a step from shapes, by the names that `--optimizer` takes: those of torch.optim and
/// torchao. Where a step really runs, it is `captured_optimizers()` (capture_controller.h).
QStringList planned_optimizers();

/// "batch=8, length=512", or with blanks alone, as NAME=VALUE each. `wrong` is the first word that is none.
struct Keywords {
    QStringList words;
    QString wrong;
};
Keywords keywords_in(const QString& typed);

}  // namespace rematlas::explorer
