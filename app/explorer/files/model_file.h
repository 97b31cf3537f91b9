// Finds out what kind of model a file holds, and what a user can do with it.
//
//     const ModelFile file = look_at_model(path);
//     if (!can_be_captured(file)) show(help_with(file, path));
#pragma once

#include <QString>
#include <filesystem>

namespace rematlas::explorer {

struct ModelFile {
    enum class Kind {
        torch_script,          ///< TorchScript; can be captured
        exported_program,      ///< made by torch.export; can be captured
        old_exported_program,  ///< made by torch.export before PyTorch 2.8
        weights,               ///< made by torch.save: tensors by name
        pickled_module,        ///< made by torch.save: a whole module
        safetensors,
        onnx,
        keras,
        gguf,
        python,
        unknown,
        unreadable
    };
    Kind kind = Kind::unknown;
    QString class_name = {};  ///< the class of a pickled module, with its package
};

/// Recognizes a file by its content, and Python and ONNX files by their names. Reads at most 2 MiB.
ModelFile look_at_model(const std::filesystem::path& path);

/// Says whether the file is a TorchScript file or an exported program, judged by its beginning and end.
bool can_be_captured(const ModelFile& file);

/// Says whether the file has a known kind, and cannot be captured as it is.
bool needs_help(const ModelFile& file);

struct ModelHelp {
    QString what;            ///< says what the file is and why it cannot be captured as it is
    QString script_lines;    ///< Python lines that make a TorchScript file from the file; empty if this is
                             ///< not possible
    QString function_lines;  ///< Python with a function that returns the model and its arguments
    QString command;         ///< the command that captures the model of this function
};
ModelHelp help_with(const ModelFile& file, const std::filesystem::path& path);

}  // namespace rematlas::explorer
