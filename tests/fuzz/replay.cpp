// Calls a fuzzer with the files of folders, and with random changes of each of them.
//
//     fuzz_graph CHANGES FOLDER ...
//
// CHANGES is the total number of changed files.
// If the fuzzer aborts or crashes, the input is written to failing_input in the working folder.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "tests/fuzz/random_changes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

const std::string* present = nullptr;  // the input of the current call

void write_input(int signal) {
    const int file = ::open("failing_input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const bool is_written = ::write(file, present->data(), present->size()) >= 0;
    std::signal(signal, SIG_DFL);
    if (is_written) std::raise(signal);
    std::_Exit(1);
}

void call(const std::string& text) {
    present = &text;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

/// Returns the files of the folders in the order of their paths. A folder may be absent.
std::vector<std::string> files_in(int count, char** folders) {
    std::vector<std::filesystem::path> paths;
    for (int i = 0; i < count; ++i) {
        if (!std::filesystem::exists(folders[i])) continue;
        for (const auto& entry : std::filesystem::directory_iterator(folders[i]))
            paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> texts;
    for (const auto& path : paths)
        if (auto text = rematlas::read_file(path)) texts.push_back(text.take());
    return texts;
}

/// Changes values of the text if it is JSON, or bytes.
std::string changed(const std::string& text, const std::vector<std::string>& others,
                    std::mt19937_64& random) {
    if (random() % 2)
        if (auto changed = rematlas::changed_json(text, random)) return std::move(*changed);
    return rematlas::changed_bytes(text, others, random);
}

}  // namespace

int main(int count, char** words) {
    const int changes = count > 1 ? std::atoi(words[1]) : 0;
    const std::vector<std::string> texts = files_in(std::max(0, count - 2), words + 2);
    if (changes < 1 || texts.empty()) {
        std::fprintf(stderr, "usage: %s CHANGES FOLDER ..., with files in the folders\n", words[0]);
        return 2;
    }
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, write_input);
    std::mt19937_64 random(1);
    for (const std::string& text : texts) call(text);
    for (int i = 0; i < changes; ++i) call(changed(texts[random() % texts.size()], texts, random));
    std::printf("%zu files and %d changes of them\n", texts.size(), changes);
    return 0;
}
