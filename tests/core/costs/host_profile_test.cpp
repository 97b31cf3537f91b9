#include "core/costs/host_profile.h"

#include <gtest/gtest.h>

#include <string>

#include "core/costs/builtin_profiles.h"
#include "core/costs/device_profile.h"
#include "core/costs/link_profile.h"

namespace rematlas {
namespace {

const std::string kHost =
    R"({"format": "rematlas.host", "version": 1, "name": "h", "cores": 4, "memory_bytes_per_second": 1e9)";

HostProfile host_with(const std::string& more = "") {
    return parse_host_profile(kHost + more + "}", "h.json").take();
}

TEST(HostProfiles, ThatComeWithTheProgramSayWhereTheirFiguresComeFrom) {
    ASSERT_GE(builtin_hosts().size(), 4u);
    for (const std::string& name : names_of(builtin_hosts())) {
        const Result<HostProfile> host = host_profile(name);
        ASSERT_TRUE(host) << host.error().message;
        for (const char* figure : {"cores", "memory_bytes_per_second", "core_bytes_per_second", "launch_ns"})
            EXPECT_TRUE(host->sources.contains(figure)) << name << ": " << figure;
    }
    EXPECT_LT(host_profile("desktop")->memory_bytes_per_second,
              host_profile("grace")->memory_bytes_per_second);
}

TEST(HostProfiles, EveryDeviceHasOne) {
    for (const std::string& name : names_of(builtin_profiles()))
        EXPECT_GT(device_profile(name)->host.memory_bytes_per_second, 0) << name;
    EXPECT_EQ(device_profile("rtx4090")->host.name, host_profile("desktop")->name);
    EXPECT_EQ(device_profile("gh200")->host.name, host_profile("grace")->name);
}

TEST(HostProfiles, UpdatesTakeTheTimeOfTheirBytes) {
    EXPECT_EQ(update_time(host_with(), 2e9).value, 2'000'000'000);
    EXPECT_EQ(update_time(host_with(R"(, "launch_ns": 500)"), 2e9).value, 2'000'000'500);
    EXPECT_EQ(update_time(host_with(R"(, "core_bytes_per_second": 1e8)"), 2e9).value, 5'000'000'000)
        << "four cores ask for less than the memory has";
    EXPECT_EQ(update_time(host_with(R"(, "core_bytes_per_second": 1e12)"), 2e9).value, 2'000'000'000);
    EXPECT_GE(update_time(host_with(), 0).value, 1);
}

TEST(HostProfiles, StandInFilesOfLinksToo) {
    const HostProfile host = host_with(R"(, "memory_bytes": 123, "sources": {"cores": "counted"})");
    const LinkProfile links{.name = "l",
                            .links = {.to_host_bytes_per_second = 8, .to_device_bytes_per_second = 9},
                            .sources = {},
                            .host = host};
    const std::string text = link_profile_text(links);
    const Result<HostProfile> read = parse_host_profile(text, "l.json");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->name, host.name);
    EXPECT_EQ(read->cores, host.cores);
    EXPECT_EQ(read->memory, Bytes(123));
    EXPECT_EQ(read->memory_bytes_per_second, host.memory_bytes_per_second);
    EXPECT_EQ(read->sources, host.sources);
    const Result<LinkProfile> whole = parse_link_profile(text, "l.json");
    ASSERT_TRUE(whole) << whole.error().message;
    ASSERT_TRUE(whole->host);
    EXPECT_EQ(whole->host->cores, host.cores);
}

TEST(HostProfiles, WhatIsWrongIsNamed) {
    const auto message = [](const std::string& text) {
        const Result<HostProfile> read = parse_host_profile(text, "h.json");
        return read ? std::string() : read.error().message;
    };
    const auto with = [&](const std::string& more) { return message(kHost + more + "}"); };
    EXPECT_EQ(with(R"(, "colour": 1)"), "h.json: key 'colour' is not known");
    EXPECT_EQ(with(R"(, "memory_bytes": -1)"), "h.json: memory_bytes is out of range");
    EXPECT_EQ(with(R"(, "core_bytes_per_second": 0)"), "h.json: core_bytes_per_second is out of range");
    EXPECT_EQ(with(R"(, "launch_ns": 1e12)"), "h.json: launch_ns is out of range");
    EXPECT_NE(message(R"({"format": "rematlas.host", "version": 1, "name": "h", "cores": 0})").find("cores"),
              std::string::npos);
    EXPECT_NE(message(R"({"format": "rematlas.links", "version": 1})").find("nothing of the host"),
              std::string::npos);
    EXPECT_NE(message("[]"), "");
    EXPECT_NE(host_profile("laptop").error().message.find("desktop"), std::string::npos);
    EXPECT_FALSE(host_profile("missing.json"));
}

}  // namespace
}  // namespace rematlas
