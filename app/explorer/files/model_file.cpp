#include "app/explorer/files/model_file.h"

#include <QCoreApplication>
#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

using Kind = ModelFile::Kind;

constexpr std::streamoff part = 1 << 20;  ///< maximum number of bytes that are read, at the beginning and at
                                          ///< the end

struct Ends {
    bool readable = false;
    std::string first, last;

    bool starts_with(std::string_view bytes) const { return first.starts_with(bytes); }
    bool name(std::string_view bytes) const {
        return first.find(bytes) != std::string::npos || last.find(bytes) != std::string::npos;
    }
};

Ends ends_of(const std::filesystem::path& path) {
    Ends ends;
    std::ifstream file(path, std::ios::binary);
    std::error_code failure;
    if (!file || !std::filesystem::is_regular_file(path, failure)) return ends;
    ends.readable = true;
    const auto read = [&file](std::string& into) {
        into.resize(part);
        file.read(into.data(), part);
        into.resize(static_cast<std::size_t>(file.gcount()));
        file.clear();
    };
    read(ends.first);
    file.seekg(0, std::ios::end);
    file.seekg(std::max<std::streamoff>(0, std::streamoff(file.tellg()) - part));
    read(ends.last);
    return ends;
}

/// Returns the name that begins at `at` and reaches to the end of the line; empty if the line is no name.
std::string_view name_at(std::string_view bytes, std::size_t at) {
    constexpr std::size_t longest = 200;
    const auto is_of_names = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    };
    const std::string_view line = bytes.substr(at, longest);
    const auto end = std::find_if_not(line.begin(), line.end(), is_of_names);
    const auto length = static_cast<std::size_t>(end - line.begin());
    return end != line.end() && *end == '\n' ? line.substr(0, length) : std::string_view();
}

/// Returns the classes and functions that a pickle names, as "package.Class": the operands of its GLOBAL
/// opcodes.
std::vector<std::string> globals_of(std::string_view bytes) {
    std::vector<std::string> found;
    std::size_t next = 0;
    for (std::size_t at = bytes.find('c'); at != std::string::npos; at = bytes.find('c', next)) {
        next = at + 1;
        const std::string_view module = name_at(bytes, next);
        if (module.size() < 2) continue;
        const std::string_view name = name_at(bytes, next + module.size() + 1);
        if (name.empty()) continue;
        found.push_back(std::string(module) + '.' + std::string(name));
        next += module.size() + name.size() + 2;
    }
    return found;
}

/// Returns the kind of a file of torch.save: only tensors, or a whole module with the name of its class.
ModelFile of_pickle(const Ends& ends) {
    for (const std::string& global : globals_of(ends.first)) {
        const auto is_of = [&](std::string_view package) { return global.starts_with(package); };
        if (is_of("torch.nn.modules.") || is_of("torch.nn.parallel."))
            return {Kind::pickled_module, text(global)};
        if (is_of("torch.") || is_of("collections.") || is_of("_codecs.") || is_of("numpy") ||
            is_of("builtins.") || is_of("__builtin__.") || is_of("copyreg.") || is_of("copy_reg.") ||
            is_of("argparse.") || is_of("pathlib.") || is_of("omegaconf."))
            continue;
        return {Kind::pickled_module, text(global)};
    }
    return {Kind::weights};
}

ModelFile of_archive(const Ends& ends) {
    if (ends.name("constants.pkl") && ends.name("/code/")) return {Kind::torch_script};
    if (ends.name("archive_format")) return {Kind::exported_program};
    if (ends.name("serialized_exported_program")) return {Kind::old_exported_program};
    return ends.name("data.pkl") ? of_pickle(ends) : ModelFile{Kind::unknown};
}

bool is_safetensors(const Ends& ends) {
    return ends.first.size() > 9 && ends.first[8] == '{' && ends.first[7] == 0 && ends.first[6] == 0;
}

QString what_it_is(const ModelFile& file) {
    switch (file.kind) {
        case Kind::torch_script:
            return QCoreApplication::translate(
                "ModelFile",
                "This has the form of a TorchScript file, but cannot be loaded: it is damaged, or was made "
                "by "
                "a newer PyTorch.");
        case Kind::exported_program:
            return QCoreApplication::translate("ModelFile",
                                               "This has the form of an exported program (torch.export), but "
                                               "cannot be loaded: it is damaged, or "
                                               "was made by a newer PyTorch.");
        case Kind::old_exported_program:
            return QCoreApplication::translate("ModelFile",
                                               "This is an exported program (torch.export) of an old "
                                               "PyTorch. Export it again with a PyTorch of "
                                               "today.");
        case Kind::weights:
            return QCoreApplication::translate(
                "ModelFile",
                "This holds weights (torch.save): tensors by name, but not the model that computes with "
                "them.");
        case Kind::pickled_module:
            return QCoreApplication::translate(
                       "ModelFile",
                       "This is a pickled object of Python (torch.save), of the class %1. Only Python, with "
                       "that class "
                       "at hand, can load it.")
                .arg(file.class_name);
        case Kind::safetensors:
            return QCoreApplication::translate(
                "ModelFile",
                "This holds weights (safetensors): tensors by name, but not the model that computes with "
                "them.");
        case Kind::onnx:
            return QCoreApplication::translate(
                "ModelFile",
                "This is an ONNX model, which has no backward pass. The training step is captured from the "
                "PyTorch model that it was made from.");
        case Kind::keras:
            return QCoreApplication::translate(
                "ModelFile",
                "This is an HDF5 file, as Keras writes them. Only PyTorch models can be captured.");
        case Kind::gguf:
            return QCoreApplication::translate(
                "ModelFile",
                "This holds weights for inference (GGUF). The training step is captured from the PyTorch "
                "model "
                "that they belong to.");
        case Kind::python:
            return QCoreApplication::translate(
                "ModelFile",
                "This is Python. A function in it that returns the model and its arguments can be captured.");
        case Kind::unreadable:
            return QCoreApplication::translate("ModelFile", "This cannot be read.");
        case Kind::unknown:
            break;
    }
    return QCoreApplication::translate(
        "ModelFile",
        "This is no model file that is known here. What can be captured is a TorchScript file "
        "or an exported program.");
}

/// Returns Python lines that make the object `model` from the file. The lines depend on the kind of the file.
QString lines_to_load(const ModelFile& file, const QString& name) {
    const QString load_into_class =
        "from my_package import MyModel      # the class of the model\n\n"
        "model = MyModel()\n";
    switch (file.kind) {
        case Kind::weights:
            return load_into_class +
                   QStringLiteral("model.load_state_dict(torch.load(\"%1\", weights_only=True))\n").arg(name);
        case Kind::safetensors:
            return "from safetensors.torch import load_file\n" + load_into_class +
                   QStringLiteral("model.load_state_dict(load_file(\"%1\"))\n").arg(name);
        case Kind::pickled_module:
            return QStringLiteral(
                       "# runs code that the file names: only for files that you trust\n"
                       "model = torch.load(\"%1\", weights_only=False)\n")
                .arg(name);
        default:
            return load_into_class;
    }
}

}  // namespace

ModelFile look_at_model(const std::filesystem::path& path) {
    const Ends ends = ends_of(path);
    if (!ends.readable) return {Kind::unreadable};
    using namespace std::string_view_literals;
    const QString ending = text(path.extension().string()).toLower();
    if (ends.starts_with("PK\x03\x04")) return of_archive(ends);
    if (ends.starts_with("\x89HDF")) return {Kind::keras};
    if (ends.starts_with("GGUF")) return {Kind::gguf};
    if (ends.starts_with("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46"sv))
        return of_pickle(ends);  // the format of torch.save before PyTorch 1.6
    if (is_safetensors(ends)) return {Kind::safetensors};
    if (ending == ".onnx") return {Kind::onnx};
    if (ending == ".py") return {Kind::python};
    return {Kind::unknown};
}

bool can_be_captured(const ModelFile& file) {
    return file.kind == Kind::torch_script || file.kind == Kind::exported_program;
}

bool needs_help(const ModelFile& file) {
    return !can_be_captured(file) && file.kind != Kind::unknown && file.kind != Kind::unreadable;
}

ModelHelp help_with(const ModelFile& file, const std::filesystem::path& path) {
    ModelHelp help{.what = what_it_is(file), .script_lines = {}, .function_lines = {}, .command = {}};
    const QString name = text(path.filename().string()), stem = text(path.stem().string());
    if (file.kind == Kind::python) {
        help.function_lines =
            "def step():\n    model = MyModel().train()\n    x = torch.randn(8, 3, 224, 224)\n"
            "    return model, (x,), {}          # the model, its arguments, its keywords\n";
        help.command = QStringLiteral("python3 -m rematlas capture %1:step -o %1.graph.json").arg(stem);
        return help;
    }
    const QString load = "import torch\n" + lines_to_load(file, name);
    help.script_lines = load + "model.train()\n" +
                        QStringLiteral("torch.jit.script(model).save(\"%1.torchscript.pt\")\n").arg(stem);
    QString body = lines_to_load(file, name);
    QString imports = "import torch\n";
    QStringList inside;
    for (const QString& line : body.trimmed().split('\n')) {
        if (line.startsWith("from ")) {
            imports += line + '\n';
        } else if (!line.isEmpty()) {
            inside << "    " + line;
        }
    }
    help.function_lines =
        imports + "\ndef step():\n" + inside.join('\n') +
        "\n    model.train()\n    x = torch.randn(8, 3, 224, 224)      # arguments of one step\n"
        "    return model, (x,), {}\n";
    help.command = QStringLiteral("python3 -m rematlas capture capture_me:step -o %1.graph.json").arg(stem);
    return help;
}

}  // namespace rematlas::explorer
