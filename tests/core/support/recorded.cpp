#include "tests/core/support/recorded.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/base/files.h"

namespace rematlas {

namespace {

std::string text_of(const std::string& file) {
    const Result<std::string> text = read_file(file);
    return text ? *text : "";
}

}  // namespace

Recorded::Recorded(const char* test, std::string_view name)
    : file_((std::filesystem::path(test).parent_path() / name).string() + ".txt"),
      writes_(std::getenv("REMATLAS_RECORD") != nullptr) {
    std::istringstream lines(text_of(file_));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) known_[line.substr(0, colon)] = line.substr(colon + 2);
    }
}

Recorded::~Recorded() {
    if (!writes_) {
        for (const auto& [name, answer] : known_)
            EXPECT_TRUE(seen_.contains(name)) << name << " was recorded and is not asked for any more";
        return;
    }
    std::string text;
    for (const auto& [name, answer] : seen_) text += name + ": " + answer + "\n";
    EXPECT_TRUE(write_file(file_, text)) << file_;
}

void Recorded::expect_text(const std::string& name, std::string answer) {
    answer.pop_back();
    EXPECT_TRUE(seen_.emplace(name, answer).second) << name << " has two answers";
    if (writes_) return;
    const auto known = known_.find(name);
    EXPECT_EQ(answer, known == known_.end() ? "(not recorded)" : known->second)
        << name << "\nWhere the change is meant: run the test with REMATLAS_RECORD=1, then look at " << file_;
}

std::string digest(std::span<const std::int64_t> numbers) {
    std::string text;
    for (const std::int64_t number : numbers) text += std::to_string(number) + ' ';
    return sha256(text).substr(0, 8);
}

std::string digest(std::span<const std::int32_t> numbers) {
    return digest(std::vector<std::int64_t>(numbers.begin(), numbers.end()));
}

std::string digest(std::span<const Step> steps) {
    std::vector<std::int64_t> numbers;
    for (const Step& step : steps) {
        numbers.push_back(static_cast<std::int64_t>(step.kind));
        numbers.push_back(step.id);
    }
    return digest(numbers);
}

}  // namespace rematlas
