#include "core/costs/link_profile.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/files.h"
#include "core/costs/builtin_profiles.h"
#include "core/costs/device_profile.h"

namespace rematlas {
namespace {

TEST(LinkProfiles, ThatComeWithTheProgramSayWhereTheirFiguresComeFrom) {
    ASSERT_GE(builtin_links().size(), 4u);
    for (const std::string& name : names_of(builtin_links())) {
        const Result<Links> links = links_named(name);
        ASSERT_TRUE(links) << links.error().message;
        EXPECT_TRUE(links->both_ways()) << name;
        EXPECT_GT(links->copy_latency.value, 0) << name;
        EXPECT_GT(links->least_copy.value, 0) << name;
        const auto path = std::filesystem::path(REMATLAS_SOURCE_DIR) / "resources/links" / (name + ".json");
        const Result<std::string> text = read_file(path);
        ASSERT_TRUE(text) << name;
        const Result<LinkProfile> profile = parse_link_profile(*text, name);
        ASSERT_TRUE(profile) << profile.error().message;
        EXPECT_EQ(profile->links, *links) << name;
        for (const char* figure : {"to_host_bytes_per_second", "to_device_bytes_per_second",
                                   "copy_latency_ns", "least_copy_bytes"})
            EXPECT_TRUE(profile->sources.contains(figure)) << name << ": " << figure;
        EXPECT_EQ(profile->sources.contains("to_host_contended_bytes_per_second"),
                  links->to_host_contended_bytes_per_second > 0)
            << name;
    }
    EXPECT_LT(links_named("pcie4")->to_host_bytes_per_second, links_named("pcie5")->to_host_bytes_per_second);
    const Links c2c = *links_named("c2c");
    EXPECT_EQ(c2c.to_host_contended_bytes_per_second + c2c.to_device_contended_bytes_per_second, 546e9);
}

TEST(LinkProfiles, DevicesTellTheirLatencyAndWhatIsNotWorthACopy) {
    for (const std::string& name : names_of(builtin_profiles())) {
        const DeviceProfile device = device_profile(name).take();
        if (device.kind != "cuda") continue;
        for (const char* figure : {"to_host_bytes_per_second", "copy_latency_ns", "least_copy_bytes"})
            EXPECT_TRUE(device.sources.contains(figure)) << name << ": " << figure;
        EXPECT_EQ(*links_named(name), device.links) << name;
        EXPECT_GT(device.links.copy_latency.value, 0) << name;
    }
    const Links a100 = *links_named("a100");
    EXPECT_EQ(a100.to_host_contended_bytes_per_second, 24e9);
    EXPECT_EQ(a100.to_device_contended_bytes_per_second, 11e9);
}

TEST(LinkProfiles, ReadAsTheyWereWritten) {
    const LinkProfile profile{.name = "own",
                              .links = {.to_host_bytes_per_second = 8.25e9,
                                        .to_device_bytes_per_second = 9e9 / 7,
                                        .to_host_contended_bytes_per_second = 7e9,
                                        .to_device_contended_bytes_per_second = 1e9,
                                        .copy_latency = Nanoseconds(12),
                                        .least_copy = Bytes(13)},
                              .sources = {{"copy_latency_ns", "measured"}}};
    const Result<LinkProfile> read = parse_link_profile(link_profile_text(profile), "own");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->name, profile.name);
    EXPECT_EQ(read->links, profile.links);
    EXPECT_EQ(read->sources, profile.sources);
}

TEST(LinkProfiles, AreReadFromFilesOfEitherKind) {
    const auto path = std::filesystem::path(testing::TempDir()) / "rematlas_own_links.json";
    ASSERT_TRUE(write_file(path, R"({"format": "rematlas.links", "version": 1, "name": "own",
        "to_host_bytes_per_second": 8, "to_device_bytes_per_second": 9, "to_host_contended_bytes_per_second": 7,
        "copy_latency_ns": 12, "least_copy_bytes": 13})"));
    const Result<Links> links = links_named(path.string());
    ASSERT_TRUE(links) << links.error().message;
    EXPECT_EQ(*links, (Links{.to_host_bytes_per_second = 8,
                             .to_device_bytes_per_second = 9,
                             .to_host_contended_bytes_per_second = 7,
                             .copy_latency = Nanoseconds(12),
                             .least_copy = Bytes(13)}));
}

TEST(LinkProfiles, ErrorsNameWhatIsWrong) {
    const auto error = [](const std::string& name) { return links_named(name).error().message; };
    EXPECT_NE(error("pcie9").find("pcie5"), std::string::npos);
    EXPECT_NE(error("pcie9").find("h200"), std::string::npos);
    EXPECT_NE(error("cpu").find("no links"), std::string::npos);
    EXPECT_NE(error("nowhere.json").find("nowhere.json"), std::string::npos);
    const auto wrong = [](const char* rest) {
        return parse_link_profile(
                   R"({"format": "rematlas.links", "version": 1, "name": "n", "to_host_bytes_per_second": 8)" +
                       std::string(rest) + "}",
                   "f")
            .error()
            .message;
    };
    EXPECT_NE(wrong("").find("missing"), std::string::npos);
    EXPECT_NE(wrong(R"(, "to_device_bytes_per_second": 9, "colour": 1)").find("colour"), std::string::npos);
    EXPECT_NE(wrong(R"(, "to_device_bytes_per_second": 9, "copy_latency_ns": -1)").find("copy_latency_ns"),
              std::string::npos);
}

}  // namespace
}  // namespace rematlas
