// What a file that should be a model really is, and what to do with it.
//
//     const ModelFile file = look_at_model(path);
//     if (!can_be_captured(file)) show(help_with(file, path));
#pragma once

#include <QString>
#include <filesystem>

namespace rematlas::explorer {

struct ModelFile {
    enum class Kind {
        torch_script,          ///< can be captured
        exported_program,      ///< of torch.export; can be captured
        old_exported_program,  ///< of torch.export before PyTorch 2.8
        weights,               ///< of torch.save, tensors by name
        pickled_module,        ///< of torch.save, a whole module
        safetensors,
        onnx,
        keras,
        gguf,
        python,
        unknown,
        unreadable
    };
    Kind kind = Kind::unknown;
    QString class_name = {};  ///< of a pickled module, with its package
};

/// By its content, for Python and ONNX by its name too. Reads 2 MiB at most.
ModelFile look_at_model(const std::filesystem::path& path);

/// A TorchScript file or an exported program, as far as its ends tell.
bool can_be_captured(const ModelFile& file);

/// True for files that are models but none that can be captured as they are, whatever they are called.
bool needs_help(const ModelFile& file);

struct ModelHelp {
    QString what;            ///< what the file is and why it cannot be captured as it is
    QString script_lines;    ///< Python that makes a TorchScript file of it; empty: there is no such way
    QString function_lines;  ///< Python with a function that returns the model and its arguments
    QString command;         ///< that captures what the function returns
};
ModelHelp help_with(const ModelFile& file, const std::filesystem::path& path);

}  // namespace rematlas::explorer
