#include "runtime/model/exported/archive.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/files.h"
#include "runtime/model/exported/enumerations.h"

namespace rematlas::exported {
namespace {

using caffe2::serialize::PyTorchStreamReader;

/// Reads a list of sizes or strides. Sizes and strides of a stored tensor are plain numbers.
std::vector<std::int64_t> numbers(const nlohmann::json& list, const std::string& name) {
    std::vector<std::int64_t> result;
    for (const nlohmann::json& entry : list) {
        result.push_back(entry.at("as_int").get<std::int64_t>());
        TORCH_CHECK(result.back() >= 0, name, ": a size or stride of ", result.back());
    }
    return result;
}

/// The geometry of a tensor in its storage, in elements of its type.
struct StoredGeometry {
    c10::ScalarType dtype;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset;

    StoredGeometry(const nlohmann::json& meta, const std::string& name)
        : dtype(scalar_type(meta.at("dtype").get<int>())),
          sizes(numbers(meta.at("sizes"), name)),
          strides(numbers(meta.at("strides"), name)),
          offset(meta.at("storage_offset").at("as_int").get<std::int64_t>()) {
        TORCH_CHECK(sizes.size() == strides.size() && offset >= 0, name, ": damaged sizes or strides");
        TORCH_CHECK(layout(meta.at("layout").get<int>()) == c10::kStrided, name,
                    ": its layout is not strided");
    }

    /// Returns the bytes that the storage must have. Throws if the number does not fit into 64 bits.
    std::int64_t bytes(const std::string& name) const {
        std::int64_t last = offset;
        bool overflow = false;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            if (sizes[d] == 0) return 0;
            std::int64_t reach = 0;
            overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach);
            overflow |= __builtin_add_overflow(last, reach, &last);
        }
        std::int64_t total = 0;
        overflow |= __builtin_add_overflow(last, std::int64_t{1}, &last);
        overflow |= __builtin_mul_overflow(last, static_cast<std::int64_t>(c10::elementSize(dtype)), &total);
        TORCH_CHECK(!overflow, name, ": damaged sizes or strides");
        return total;
    }
    auto key() const { return std::tie(dtype, sizes, strides, offset); }
};

}  // namespace

bool is_archive(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file) {
    try {
        return PyTorchStreamReader(std::move(file)).hasRecord("archive_format");
    } catch (const std::exception&) {
        return false;
    }
}

Archive::Archive(std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file)
    : reader_(std::make_unique<PyTorchStreamReader>(std::move(file))) {
    std::vector<std::string> models;
    for (const std::string& record : reader_->getAllRecords())
        if (record.starts_with("models/") && record.ends_with(".json"))
            models.push_back(record.substr(7, record.size() - 12));
    TORCH_CHECK(!models.empty(), "the archive has no exported program");
    TORCH_CHECK(models.size() == 1, "the archive has ", models.size(), " exported programs ('", models[0],
                "', '", models[1], "', ...); save each in a file of its own");
    model_ = models.front();
}

Archive::~Archive() = default;

std::string Archive::text(const std::string& record) const {
    const auto [data, size] = reader_->getRecord(record);
    return std::string(static_cast<const char*>(data.get()), size);
}

nlohmann::json Archive::json(const std::string& record) const {
    Result<nlohmann::json> parsed = parse_json(text(record), record);
    TORCH_CHECK(parsed, parsed.error().message);
    return parsed.take();
}

nlohmann::json Archive::program() const {
    if (reader_->hasRecord("byteorder"))
        TORCH_CHECK(text("byteorder") == "little", "the archive's numbers are not little-endian");
    return json("models/" + model_ + ".json");
}

StoredTensors Archive::weights(bool with_values) const {
    return tensors("data/weights/" + model_ + "_weights_config.json", "data/weights/", with_values);
}

StoredTensors Archive::constants() const {
    return tensors("data/constants/" + model_ + "_constants_config.json", "data/constants/", true);
}

StoredTensors Archive::tensors(const std::string& config, const std::string& folder, bool with_values) const {
    struct Storage {
        c10::Storage storage;
        std::vector<std::pair<StoredGeometry, at::Tensor>> on_it;
    };
    std::map<std::string, Storage> storages;
    StoredTensors result;
    const nlohmann::json entries = json(config).at("config");
    for (const auto& [name, entry] : entries.items()) {
        TORCH_CHECK(
            !entry.at("use_pickle").get<bool>(), name,
            " is stored as a pickled object of Python (a subclass of Tensor, a sparse tensor); only plain "
            "tensors can be read");
        const std::string record = folder + entry.at("path_name").get<std::string>();
        const StoredGeometry geometry(entry.at("tensor_meta"), name);
        TORCH_CHECK(reader_->hasRecord(record), name, ": the archive has no record '", record, "'");
        const std::size_t bytes = reader_->getRecordSize(record);
        TORCH_CHECK(geometry.bytes(name) <= static_cast<std::int64_t>(bytes), name, " needs ",
                    geometry.bytes(name), " bytes, and the archive has ", bytes);

        Storage& storage = storages[record];
        if (!storage.storage) {
            const at::Tensor memory = at::empty({static_cast<std::int64_t>(bytes)}, at::kByte);
            if (with_values && bytes > 0) reader_->getRecord(record, memory.mutable_data_ptr(), bytes);
            storage.storage = memory.storage();
        }
        const bool is_parameter = entry.at("is_param").get<bool>();
        const bool requires_grad = is_parameter && entry.at("tensor_meta").at("requires_grad").get<bool>();
        at::Tensor tensor;
        for (const auto& [known, at_it] : storage.on_it)
            if (known.key() == geometry.key() && at_it.requires_grad() == requires_grad) tensor = at_it;
        if (!tensor.defined()) {
            tensor = at::empty({0}, geometry.dtype);
            tensor.set_(storage.storage, geometry.offset, geometry.sizes, geometry.strides);
            tensor.set_requires_grad(requires_grad);
            storage.on_it.emplace_back(geometry, tensor);
        }
        result.emplace(name, StoredTensor{tensor, is_parameter});
    }
    return result;
}

}  // namespace rematlas::exported
