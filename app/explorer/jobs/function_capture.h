// Describes a capture of a Python function and makes its command line: python -m rematlas capture
// package.module:function
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
    QStringList keywords = {};  ///< keyword arguments of the function, each as NAME=VALUE
    /// cpu, cuda, or meta (from shapes); empty for the device on which the function puts its model
    QString device = {};
    QString device_profile = {};  ///< if `device` is meta: the device to plan for
    QString optimizer = "none";
    QString autocast = {};        ///< only with meta: bf16 or f16; empty for no autocast
    QString master_weights = {};  ///< only with meta and an optimizer: f32; empty for none
    bool values = false;          ///< only with meta: whether the arguments keep their values
    /// The machine of the interpreter, the folder and the output; nullopt for this machine
    std::optional<RemoteHost> host = {};
    bool replace = false;  ///< whether the output on `host` may replace an existing file
};

/// Returns the arguments with which the interpreter is called.
QStringList capture_words(const FunctionRequest& request);

/// Returns the optimizers of torch.optim and torchao whose updates can be part of a step that is recorded
/// from shapes. The names are those of `--optimizer`. For steps that really run, see `captured_optimizers()`
/// (capture_controller.h).
QStringList planned_optimizers();

/// The words of a text such as "batch=8, length=512", which are separated by commas or blanks. `wrong` is the
/// first word that does not have the form NAME=VALUE; empty if all have it.
struct Keywords {
    QStringList words;
    QString wrong;
};
Keywords keywords_in(const QString& typed);

}  // namespace rematlas::explorer
