#include "core/planning/file_kind.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/files.h"

namespace rematlas {
namespace {

TEST(FileKind, IsWhatTheFileSaysWhateverItsName) {
    const auto file =
        std::filesystem::temp_directory_path() / ("kind_" + std::to_string(::getpid()) + ".graph.json");
    for (const auto& [word, kind] : {std::pair{"schedule", FileKind::schedule},
                                     {"sweep", FileKind::sweep},
                                     {"plan", FileKind::plan},
                                     {"steps", FileKind::run},
                                     {"graph", FileKind::graph}}) {
        ASSERT_TRUE(write_file(file, R"({"format": "rematlas.)" + std::string(word) + R"(", "version": 1})"));
        EXPECT_EQ(file_kind(file), kind) << word;
    }
    ASSERT_TRUE(write_file(file, R"({"tensors": []})"));
    EXPECT_EQ(file_kind(file), FileKind::graph) << "by its name";
    std::filesystem::remove(file);
}

TEST(FileKind, OfAMeasurementIsInWhatItHolds) {
    const auto file =
        std::filesystem::temp_directory_path() / ("kind_" + std::to_string(::getpid()) + ".pkl");
    const std::string pickle("\x80\x04", 2), saved("\x80\x02\x8a\x0al\xfc", 6);
    for (const auto& [bytes, kind] :
         {std::pair{pickle + "}\x94(\x8c\x08segments", FileKind::measurement},
          {pickle + "}\x94(\x8c\x08something", FileKind::unknown},
          {saved + "segments.0.weight", FileKind::unknown},
          {std::string("{\"schemaVersion\": 1, \"deviceProperties\": []"), FileKind::measurement},
          {std::string("{\"traceEvents\": []}"), FileKind::measurement}}) {
        ASSERT_TRUE(write_file(file, bytes));
        EXPECT_EQ(file_kind(file), kind) << bytes;
        EXPECT_TRUE(is_read_as_measurement(file)) << "the reader says what is wrong with it";
    }
    std::filesystem::remove(file);
    EXPECT_TRUE(is_read_as_measurement("away.PICKLE"));
    EXPECT_FALSE(is_read_as_measurement("away.graph.json"));
}

TEST(FileKind, OfWhatIsNotThereIsInItsName) {
    EXPECT_EQ(file_kind("a/b.PT"), FileKind::model);
    EXPECT_EQ(file_kind("net.torchscript"), FileKind::model);
    EXPECT_EQ(file_kind("net.graph.json"), FileKind::graph);
    EXPECT_EQ(file_kind("net.Schedule.JSON"), FileKind::schedule);
    EXPECT_EQ(file_kind("net.sweep.json"), FileKind::sweep);
    EXPECT_EQ(file_kind("net.plan"), FileKind::plan);
    EXPECT_EQ(file_kind("notes.txt"), FileKind::unknown);
    EXPECT_EQ(file_kind("/"), FileKind::unknown);
}

}  // namespace
}  // namespace rematlas
