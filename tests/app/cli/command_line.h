// Runs the command line as a script does. Returns standard output, standard error and exit status.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/graph/graph_file.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {

struct Ran {
    int exit = -1;
    std::string out, err;
};

class CommandLine : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::path(testing::TempDir()) / ("rematlas_cli_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        graph_ = random_training_graph(
            11, {.forward_ops = 30, .weight_gradients = false, .forward_results = false, .run_once = false});
        graph_.name = "g";
        ASSERT_TRUE(write_graph(graph_, file("g.graph.json")));
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& name) const { return (folder_ / name).string(); }

    static std::string slurp(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }

    /// Runs the program with these arguments through the shell, so they must not contain paths with spaces.
    /// `before`: shell commands that run first.
    Ran run(const std::string& arguments, const std::string& before = "") const {
        const std::string command = before + std::string(REMATLAS_PROGRAM) + " " + arguments + " >" +
                                    file("out") + " 2>" + file("err") + " </dev/null";
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(file("out")), slurp(file("err"))};
    }

    /// Expects this exit status, and one line on standard error that begins with the program's name and
    /// contains `part`.
    static void expect_error(const Ran& ran, int exit, const std::string& part) {
        EXPECT_EQ(ran.exit, exit) << ran.err;
        EXPECT_THAT(ran.err, testing::AllOf(testing::StartsWith("rematlas: "), testing::HasSubstr(part)));
        EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    }

    std::filesystem::path folder_;
    Graph graph_;
};

}  // namespace rematlas
