// Makes a model from an archive. The archive's signature says what each input of the graph is, and what each
// output is for.
#include <c10/util/Exception.h>

#include <nlohmann/json.hpp>

#include "runtime/model/exported/exported_program.h"
#include "runtime/model/exported/read_graph.h"

namespace rematlas::exported {
namespace {

using nlohmann::json;

class ModelReader {
  public:
    ModelReader(const Archive& archive, StoredTensors weights, StoredTensors constants, c10::Device device)
        : file_(archive.program()),
          graph_(file_.at("graph_module").at("graph")),
          signature_(file_.at("graph_module").at("signature")),
          weights_(std::move(weights)),
          constants_(std::move(constants)),
          device_(device) {
        const auto version = file_.at("schema_version").at("major").get<int>();
        TORCH_CHECK(version == 8, "the archive is of schema ", version, ", and schema 8 is read here");
    }

    Model read() {
        model_.inputs.emplace();
        ReadForward read = read_graph(graph_, {.from = exported_on(), .to = device_});
        program_->graph = std::move(read.graph);
        program_->named_sizes = named_sizes(file_.at("range_constraints"));
        const json& inputs = signature_.at("input_specs");
        TORCH_CHECK(inputs.size() == program_->graph.inputs.size(), "damaged signature of inputs");
        for (std::size_t i = 0; i < inputs.size(); ++i)
            program_->inputs.push_back(input(inputs[i].begin().key(), inputs[i].begin().value(), i));
        const json& outputs = signature_.at("output_specs");
        TORCH_CHECK(outputs.size() == program_->graph.outputs.size(), "damaged signature of outputs");
        for (std::size_t i = 0; i < outputs.size(); ++i)
            output(outputs[i].begin().key(), outputs[i].begin().value(), i);
        check_values(read.values);
        model_.program = program_;
        return std::move(model_);
    }

  private:
    using Constant = ExportedProgram::Constant;
    using FromCaller = ExportedProgram::FromCaller;

    /// Returns the type of device of the program's first input that is a tensor; the CPU if no input is a
    /// tensor.
    c10::DeviceType exported_on() const {
        for (const json& input : graph_.at("inputs")) {
            const auto tensor = input.find("as_tensor");
            if (tensor != input.end()) return c10::Device(device_of(meta(tensor->at("name")))).type();
        }
        return c10::DeviceType::CPU;
    }
    const json& meta(const std::string& name) const { return graph_.at("tensor_values").at(name); }
    static std::string device_of(const json& meta) { return meta.at("device").at("type").get<std::string>(); }

    ExportedProgram::Input input(const std::string& kind, const json& spec, std::size_t position) {
        if (kind == "user_input") return user_input(spec.at("arg"));
        if (kind == "constant_input") {
            ++arguments_;
            return Constant{constant(spec.at("value"))};
        }
        TORCH_CHECK(kind != "custom_obj" && kind != "token",
                    "the program is given an object that is no tensor (", kind, ")");
        TORCH_CHECK(program_->graph.inputs[position] != no_value, "damaged signature of inputs");
        if (kind == "parameter") return weight(spec.at("parameter_name"), true);
        if (kind == "buffer") return weight(spec.at("buffer_name"), false);
        TORCH_CHECK(kind == "tensor_constant", "an input of the kind '", kind, "' is not known here");
        return stored(constants_, spec.at("tensor_constant_name"));
    }

    ExportedProgram::Input user_input(const json& argument) {
        ++arguments_;
        if (argument.contains("as_none")) return Constant{};
        if (argument.contains("as_int")) return Constant{argument.at("as_int").get<std::int64_t>()};
        if (argument.contains("as_float")) return Constant{argument.at("as_float").get<double>()};
        if (argument.contains("as_bool")) return Constant{argument.at("as_bool").get<bool>()};
        if (argument.contains("as_string")) return Constant{argument.at("as_string").get<std::string>()};
        if (!argument.contains("as_tensor")) return FromCaller{};
        const auto name = argument.at("as_tensor").at("name").get<std::string>();
        argument_of_[name] = arguments_ - 1;
        const ExpectedInput expected(meta(name));
        model_.inputs->push_back(expected.spec());
        return FromCaller{expected};
    }

    static c10::IValue constant(const json& value) {
        if (value.contains("as_int")) return value.at("as_int").get<std::int64_t>();
        if (value.contains("as_float")) return value.at("as_float").get<double>();
        if (value.contains("as_bool")) return value.at("as_bool").get<bool>();
        if (value.contains("as_string")) return value.at("as_string").get<std::string>();
        TORCH_CHECK(value.contains("as_none"), "a constant input is of a kind that is not known here");
        return {};
    }

    const at::Tensor& stored(StoredTensors& from, const std::string& name) {
        const auto found = from.find(name);
        TORCH_CHECK(found != from.end(), "the archive has no values of '", name, "'");
        return move(found->second.tensor);
    }

    /// Returns the archive's tensor on the device. A tensor with several names is moved only once.
    const at::Tensor& move(const at::Tensor& tensor) {
        at::Tensor& moved = moved_[tensor.unsafeGetTensorImpl()];
        if (!moved.defined()) {
            moved = tensor.device() == device_ ? tensor : tensor.detach().to(device_);
            if (moved.unsafeGetTensorImpl() != tensor.unsafeGetTensorImpl())
                moved.set_requires_grad(tensor.requires_grad());
        }
        return moved;
    }

    ExportedProgram::Input weight(const std::string& name, bool is_parameter) {
        const at::Tensor& tensor = stored(weights_.contains(name) ? weights_ : constants_, name);
        TORCH_CHECK(tensor_of_.emplace(name, tensor).second, "two inputs are named '", name, "'");
        model_.tensors.push_back({name, tensor, is_parameter});
        return tensor;
    }

    void output(const std::string& kind, const json& spec, std::size_t position) {
        if (kind == "user_output" || kind == "loss_output") {
            program_->results.push_back(position);
        } else if (kind == "buffer_mutation" || kind == "parameter_mutation") {
            const auto name =
                spec.at(kind == "buffer_mutation" ? "buffer_name" : "parameter_name").get<std::string>();
            const auto found = tensor_of_.find(name);
            TORCH_CHECK(found != tensor_of_.end(), "an output changes '", name, "', which is no input");
            program_->mutations.push_back({position, found->second, 0});
        } else if (kind == "user_input_mutation") {
            const auto found = argument_of_.find(spec.at("user_input_name").get<std::string>());
            TORCH_CHECK(found != argument_of_.end(), "damaged signature of outputs");
            program_->mutations.push_back({position, at::Tensor(), found->second});
        } else {
            TORCH_CHECK(!kind.starts_with("gradient_to"),
                        "the program holds its own backward pass; export the forward pass alone");
            TORCH_CHECK(false, "an output of the kind '", kind, "' is not known here");
        }
    }

    /// Checks that tensors of the archive have the sizes and types that the program was exported for.
    void check_values(const std::unordered_map<std::string, int>& values) const {
        std::unordered_map<int, const std::string*> names;
        for (const auto& [name, value] : values) names.emplace(value, &name);
        for (std::size_t i = 0; i < program_->inputs.size(); ++i) {
            const auto* tensor = std::get_if<at::Tensor>(&program_->inputs[i]);
            if (!tensor) continue;
            std::map<std::string, std::int64_t> none;
            ExpectedInput(meta(*names.at(program_->graph.inputs[i]))).check(*tensor, i, {}, none);
        }
        for (const ExportedProgram::Mutation& mutation : program_->mutations)
            TORCH_CHECK(program_->graph.outputs[mutation.output].value != no_value,
                        "damaged signature of outputs");
    }

    const json file_;
    const json &graph_, &signature_;
    StoredTensors weights_, constants_;
    c10::Device device_;
    std::shared_ptr<ExportedProgram> program_ = std::make_shared<ExportedProgram>();
    Model model_;
    std::size_t arguments_ = 0;
    std::unordered_map<std::string, at::Tensor> tensor_of_;
    std::unordered_map<std::string, std::size_t> argument_of_;
    std::unordered_map<const c10::TensorImpl*, at::Tensor> moved_;
};

}  // namespace

Model model_of(const Archive& archive, StoredTensors weights, StoredTensors constants, c10::Device device) {
    return ModelReader(archive, std::move(weights), std::move(constants), device).read();
}

}  // namespace rematlas::exported
