// Tests `rematlas doctor` with programs that crash, hang, or do not exist.
#include <chrono>
#include <cstdlib>

#include "core/base/files.h"
#include "tests/app/cli/command_line.h"

namespace rematlas {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Sets an environment variable while the object lives.
class SetVariable {
  public:
    SetVariable(const char* name, const std::string& value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before, was_set_ = true;
        ::setenv(name, value.c_str(), 1);
    }
    SetVariable(const SetVariable&) = delete;
    SetVariable& operator=(const SetVariable&) = delete;
    ~SetVariable() { was_set_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }

  private:
    const char* name_;
    std::string before_;
    bool was_set_ = false;
};

class Doctor : public CommandLine {
  protected:
    /// Writes a program that consists of these lines of sh. Returns its path.
    std::string program(const std::string& name, const std::string& lines) const {
        EXPECT_TRUE(write_file(file(name), "#!/bin/sh\n" + lines + "\n"));
        std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
        return file(name);
    }

    /// Writes a shell script that stands in for Python. The script reports a version, as Python does when
    /// `doctor` asks it, and then runs `lines`.
    std::string python(const std::string& lines) const {
        return program("python",
                       R"(echo '{"stage": "python", "version": "3.11.2", "executable": "/x/python",)"
                       R"( "torch": "installed", "rematlas": "installed"}')"
                       "\n" +
                           lines);
    }

    json told(const std::string& flags = "") const { return json::parse(run("doctor --json " + flags).out); }

    static std::string all(const json& complaints) {
        std::string text;
        for (const json& one : complaints)
            text += one["what"].get<std::string>() + " -> " + one["action"].get<std::string>() + "\n";
        return text;
    }

    SetVariable no_python_{"REMATLAS_PYTHON", "/nowhere/python3"};
    SetVariable no_runtime_{"REMATLAS_RUNTIME", "/nowhere/rematlas-runtime"};
};

TEST_F(Doctor, tells_versions_devices_libraries_programs_and_settings) {
    const SetVariable cache("REMATLAS_CACHE", folder_.string());
    const Ran ran = run("doctor");
    for (const char* part : {"rematlas ", "built by", "system", "python", "devices", "cpu", "libraries",
                             "GLPK", "Graphviz", "programs", "rematlas-layout", "rematlas-explorer",
                             "settings", "REMATLAS_PYTHON    /nowhere/python3", "cache folder", "wrong"})
        EXPECT_THAT(ran.out, HasSubstr(part));
    const json found = told();
    EXPECT_EQ(found["format"], "rematlas.doctor");
    EXPECT_EQ(found["settings"]["REMATLAS_RUNTIME"], "/nowhere/rematlas-runtime");
    EXPECT_EQ(found["cache"]["folder"], folder_.string());
    EXPECT_GT(found["cache"]["bytes"], 0);
    EXPECT_EQ(found["libraries"]["cairo"], bool(REMATLAS_DRAWS));
}

TEST_F(Doctor, names_the_next_action_where_programs_are_not_there) {
    const Ran ran = run("doctor --json");
    EXPECT_EQ(ran.exit, 1);
    EXPECT_THAT(
        all(json::parse(ran.out)["wrong"]),
        AllOf(HasSubstr("/nowhere/python3 cannot start: No such file or directory -> let REMATLAS_PYTHON"),
              HasSubstr("/nowhere/rematlas-runtime cannot start")));
}

TEST_F(Doctor, does_not_wait_for_a_program_that_hangs) {
    const SetVariable runtime("REMATLAS_RUNTIME", program("hangs", "exec sleep 60"));
    const auto begin = std::chrono::steady_clock::now();
    const json found = told("--wait 1");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    EXPECT_THAT(all(found["wrong"]), HasSubstr("gave no answer in 1 s -> try again with --wait 4"));
    EXPECT_EQ(found["programs"]["rematlas-runtime"]["works"], false);
}

TEST_F(Doctor, does_not_wait_for_what_a_program_has_started) {
    const SetVariable runtime("REMATLAS_RUNTIME", program("leaves", "sleep 60 &\nexit 0"));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(told()["programs"]["rematlas-runtime"]["how"], "runs");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(45));
}

TEST_F(Doctor, tells_the_signal_and_the_missing_library) {
    {
        const SetVariable runtime("REMATLAS_RUNTIME", program("dies", "kill -SEGV $$"));
        EXPECT_THAT(all(told()["wrong"]), HasSubstr("dies was ended by signal 11"));
    }
    const SetVariable runtime(
        "REMATLAS_RUNTIME",
        program("lacks", "echo 'x: error while loading shared libraries: libtorch_cpu.so' >&2\nexit 127"));
    EXPECT_THAT(all(told()["wrong"]), AllOf(HasSubstr("ended with status 127"), HasSubstr("libtorch_cpu.so"),
                                            HasSubstr("-> install the library that is named")));
}

TEST_F(Doctor, says_where_python_died) {
    const SetVariable dies("REMATLAS_PYTHON", python("echo '{\"begins\": \"torch\"}'\nkill -ABRT $$"));
    const json found = told();
    EXPECT_THAT(all(found["wrong"]), HasSubstr("was ended by signal 6 (Aborted) while torch was imported"));
    EXPECT_EQ(found["python"]["version"], "3.11.2");
    EXPECT_EQ(found["python"]["torch"], nullptr);
}

TEST_F(Doctor, passes_on_why_the_package_cannot_be_imported) {
    const SetVariable fails(
        "REMATLAS_PYTHON",
        python("echo '{\"stage\": \"torch\", \"version\": \"2.15.0\", \"cuda\": null}'\n"
               "echo '{\"stage\": \"package\", \"error\": \"ImportError: there is no build\"}'"));
    EXPECT_THAT(all(told()["wrong"]), HasSubstr("cannot be imported: ImportError: there is no build"));
}

TEST_F(Doctor, sees_a_gpu_that_torch_cannot_use) {
    const SetVariable path("PATH", folder_.string() + ":" + std::getenv("PATH"));
    program("nvidia-smi", "echo 'NVIDIA Example, 81559, 570.1'");
    const auto stages = [](const std::string& cuda) {
        return "echo '{\"stage\": \"torch\", \"version\": \"2.15.0\", \"cuda\": " + cuda +
               "}'\necho '{\"stage\": \"devices\", \"devices\": []}'\n"
               "echo '{\"stage\": \"package\", \"folder\": \"/x\"}'";
    };
    {
        const SetVariable without("REMATLAS_PYTHON", python(stages("null")));
        const json found = told();
        EXPECT_EQ(found["devices"][0]["name"], "NVIDIA Example");
        EXPECT_EQ(found["devices"][0]["memory_bytes"], std::int64_t{81559} << 20);
        EXPECT_THAT(all(found["wrong"]), HasSubstr("made without CUDA -> install a torch with CUDA"));
    }
    const SetVariable with("REMATLAS_PYTHON", python(stages("\"13.0\"")));
    EXPECT_THAT(all(told()["wrong"]), HasSubstr("(CUDA 13.0) finds none; the driver is 570.1 -> update"));
    program("nvidia-smi", "exit 9");
    EXPECT_THAT(all(told()["wrong"]), HasSubstr("nvidia-smi ended with status 9"));
}

TEST_F(Doctor, is_content_where_all_that_is_there_works) {
    const SetVariable well("REMATLAS_PYTHON",
                           python("echo '{\"stage\": \"torch\", \"version\": \"2.15.0\", \"cuda\": null}'\n"
                                  "echo '{\"stage\": \"devices\", \"devices\": []}'\n"
                                  "echo '{\"stage\": \"package\", \"folder\": \"/x\"}'"));
    const SetVariable runs("REMATLAS_RUNTIME", program("runs", "exit 0"));
    const SetVariable no_driver("PATH", "/bin:/usr/bin");
    if (std::filesystem::exists("/usr/bin/nvidia-smi")) GTEST_SKIP() << "a driver may complain";
    const Ran ran = run("doctor");
    EXPECT_EQ(ran.exit, 0) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("nothing is wrong"));
}

TEST_F(Doctor, names_settings_that_stand_in_the_way) {
    const SetVariable caching("PYTORCH_NO_CUDA_MEMORY_CACHING", "1");
    EXPECT_THAT(all(told()["wrong"]), HasSubstr("unset PYTORCH_NO_CUDA_MEMORY_CACHING"));
}

TEST_F(Doctor, version_tells_on_further_lines_what_was_built_in) {
    const Ran ran = run("--version");
    EXPECT_EQ(ran.exit, 0);
    EXPECT_THAT(ran.out,
                AllOf(StartsWith("rematlas 0."), HasSubstr("\nbuilt in: "), HasSubstr("\nnot built in: "),
                      HasSubstr("\nbuilt by: "), Not(HasSubstr("built in: \n"))));
}

}  // namespace
}  // namespace rematlas
