// Reads changed model files (TorchScript, exported programs), change after change. CSV on standard output:
// name,run,value,unit.
//
//     bench_model_files SECONDS FILE ...
//
// Beside each NAME.pt is a NAME.json with the specs of its inputs, as resources/models/export.py and
// exported.py write it. Each child process reads one changed file and captures its step from shapes. The
// child must end in 20 s, without a signal, with a model or with an error of one line. Half of the changes
// are of bytes of the file; the others are of one record of the archive, whose checksum is then right. If a
// child fails, its file is kept in the working folder as failing_N.pt, and the exit status is 1.
#include <caffe2/serialize/inline_container.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "core/base/files.h"
#include "runtime/capture/capture_shapes.h"
#include "runtime/model/load_model.h"
#include "tests/fuzz/random_changes.h"

namespace rematlas {
namespace {

constexpr unsigned kSeconds = 20;
constexpr rlim_t kMostMemory = rlim_t{8} << 30;
enum Exit { is_read = 0, is_refused = 3, has_lines = 4 };

struct ModelFile {
    std::filesystem::path path;
    std::vector<InputSpec> inputs;
    std::string bytes;
    std::vector<std::pair<std::string, std::string>> records;  // name, bytes
};

ModelFile model_file(const std::filesystem::path& path) {
    ModelFile file;
    file.path = path;
    auto inputs = path;
    inputs.replace_extension(".json");
    for (const nlohmann::json& input :
         parse_json(read_file(inputs).take(), inputs.string()).take().at("inputs"))
        file.inputs.push_back(parse_input_spec(input.get<std::string>()).take());
    file.bytes = read_file(file.path).take();
    std::istringstream stream(file.bytes);
    caffe2::serialize::PyTorchStreamReader reader(&stream);
    for (const std::string& name : reader.getAllRecords()) {
        if (name == "version" || name.starts_with(".data/")) continue;  // the writer adds these
        const auto [data, size] = reader.getRecord(name);
        file.records.emplace_back(name, std::string(static_cast<const char*>(data.get()), size));
    }
    return file;
}

std::string with_changed_record(const ModelFile& file, std::mt19937_64& random) {
    std::string archive;
    caffe2::serialize::PyTorchStreamWriter writer([&](const void* bytes, std::size_t size) {
        archive.append(static_cast<const char*>(bytes), size);
        return size;
    });
    const std::size_t place = random() % file.records.size();
    for (std::size_t i = 0; i < file.records.size(); ++i) {
        auto [name, bytes] = file.records[i];
        if (i == place) {
            if (random() % 16 == 0) continue;
            auto changed =
                name.ends_with(".json") && random() % 4 ? changed_json(bytes, random) : std::nullopt;
            bytes = changed ? *changed : changed_bytes(bytes, {file.bytes}, random);
        }
        writer.writeRecord(name, bytes.data(), bytes.size());
    }
    writer.writeEndOfFile();
    return archive;
}

/// Reads the file in this process, and ends the process.
[[noreturn]] void read_and_exit(const std::filesystem::path& path, const std::vector<InputSpec>& inputs) {
    ::alarm(kSeconds);
    const rlimit most{kMostMemory, kMostMemory};
    ::setrlimit(RLIMIT_AS, &most);
    const auto status = [](const auto& read) {
        if (read) return is_read;
        return read.error().message.find('\n') == std::string::npos ? is_refused : has_lines;
    };
    const Exit loaded = status(load_model(path));
    const Exit captured = status(capture_for(path, {.inputs = inputs}, *device_profile("h200")));
    ::_exit(std::max(loaded, captured));
}

int run(double seconds, const std::vector<ModelFile>& files) {
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const auto folder =
        std::filesystem::temp_directory_path() / ("model_files_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    std::mt19937_64 random(1);
    std::map<std::string, int> counts{{"read", 0}, {"refused", 0}, {"failures", 0}};
    while (passed() < seconds) {
        const ModelFile& file = files[random() % files.size()];
        const std::string bytes = random() % 2 ? with_changed_record(file, random)
                                               : changed_bytes(file.bytes, {file.bytes}, random);
        const auto path = folder / file.path.filename();
        if (!write_file(path, bytes)) return 2;
        const pid_t child = ::fork();
        if (child == 0) read_and_exit(path, file.inputs);
        int status = 0;
        ::waitpid(child, &status, 0);
        if (WIFEXITED(status) && (WEXITSTATUS(status) == is_read || WEXITSTATUS(status) == is_refused)) {
            ++counts[WEXITSTATUS(status) == is_read ? "read" : "refused"];
            continue;
        }
        const std::string kept = "failing_" + std::to_string(counts["failures"]++) + ".pt";
        std::filesystem::copy_file(path, kept, std::filesystem::copy_options::overwrite_existing);
        std::fprintf(stderr, "%s, kept as %s: %s %d\n", file.path.c_str(), kept.c_str(),
                     WIFSIGNALED(status) ? "signal" : "status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    std::filesystem::remove_all(folder);
    std::printf("name,run,value,unit\n");
    for (const auto& [name, count] : counts) std::printf("%s,1,%d,\n", name.c_str(), count);
    std::printf("time,1,%d,seconds\n", static_cast<int>(passed()));
    return counts["failures"] > 0;
}

}  // namespace
}  // namespace rematlas

int main(int count, char** words) {
    if (count < 3) {
        std::fprintf(stderr, "usage: %s SECONDS FILE ...\n", words[0]);
        return 2;
    }
    at::set_num_threads(1);  // a child of a process with several threads could wait for a lock forever
    std::vector<rematlas::ModelFile> files;
    for (int i = 2; i < count; ++i) files.push_back(rematlas::model_file(words[i]));
    return rematlas::run(std::atof(words[1]), files);
}
