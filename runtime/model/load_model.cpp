#include "runtime/model/load_model.h"

#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "runtime/model/exported/exported_program.h"
#include "runtime/model/torchscript.h"

namespace rematlas {
namespace {

class BytesReader final : public caffe2::serialize::ReadAdapterInterface {
  public:
    explicit BytesReader(const std::string& bytes) : bytes_(bytes) {}
    std::size_t size() const override { return bytes_.size(); }
    std::size_t read(std::uint64_t at, void* buffer, std::size_t count, const char*) const override {
        if (at >= bytes_.size()) return 0;
        count = std::min<std::size_t>(count, bytes_.size() - at);
        std::memcpy(buffer, bytes_.data() + at, count);
        return count;
    }

  private:
    const std::string& bytes_;
};

}  // namespace

Result<Model> read_model(const std::filesystem::path& path,
                         const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& file,
                         const ModelReaders& readers) {
    const bool is_exported = exported::is_archive(file);
    const auto refuse = [&](const std::string& why) {
        if (is_exported) return Error{path.string() + ": this exported program cannot be read: " + why};
        if (path.extension() == ".pt2")
            return Error{
                path.string() +
                ": not an exported program (torch.export.save): it is empty, damaged, or something else"};
        if (path.extension() == ".py")
            return Error{path.string() +
                         ": Python source is no saved model: name a function of it instead, as in " +
                         path.stem().string() + ":function"};
        return Error{path.string() + ": not a TorchScript file: " + why};
    };
    try {
        if (!is_exported) return readers.torchscript(file);
        const exported::Archive archive(file);
        Model model = readers.exported(archive);
        model.file_name = path.filename().string();
        return model;
    } catch (const nlohmann::json::exception& error) {
        return refuse("it is damaged (" + one_line(error) + ")");
    } catch (const std::exception& error) {
        return refuse(one_line(error));
    }
}

Result<std::vector<InputSpec>> input_tensors(const Model& model, std::vector<InputSpec> asked,
                                             const std::string& where) {
    if (asked.empty() && model.inputs) return *model.inputs;
    if (asked.empty())
        return Error{where + ": --input gives each input of the model, e.g. --input 'f32[8,3,224,224]'"};
    take_fixed(asked);
    return asked;
}

Result<Model> load_model(const std::filesystem::path& path, c10::Device device) {
    Result<std::string> bytes = read_file(path);
    if (!bytes) return bytes.error();
    Result<Model> model = read_model(
        path, std::make_shared<BytesReader>(*bytes),
        {.torchscript =
             [&](auto file) { return model_from(torch::jit::load(std::move(file), device), path); },
         .exported =
             [&](const exported::Archive& archive) {
                 return exported::model_of(archive, archive.weights(true), archive.constants(), device);
             }});
    if (!model) return model.error();
    model->sha256 = sha256(*bytes);
    for (const NamedTensor& named : model->tensors)
        if (named.tensor.is_meta())
            return Error{path.string() + ": " + named.name +
                         " has no values (saved on the meta device); --device meta captures from shapes"};
    return model;
}

}  // namespace rematlas
