#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/costs/device_profile.h"
#include "core/costs/roofline.h"

namespace rematlas {
namespace {

constexpr const char* simple =
    R"({"format": "rematlas.device", "version": 1, "name": "a device", "kind": "cpu",
  "matmul_flops": {"f32": 1e12, "bf16": 4e12}, "vector_flops": {"f32": 1e11}, "memory_bytes_per_second": 1e11,
  "launch_ns": 1000, "matmul_efficiency": 0.5})";

DeviceProfile simple_device() {
    return parse_device_profile(simple, "simple").take();
}

TEST(DeviceProfiles, ThatComeWithTheProgramSayWhereTheirFiguresComeFrom) {
    ASSERT_GE(device_profile_names().size(), 6u);
    for (const std::string& name : device_profile_names()) {
        const Result<DeviceProfile> profile = device_profile(name);
        ASSERT_TRUE(profile) << profile.error().message;
        EXPECT_EQ(profile->id, name);
        for (const char* figure : {"matmul_flops", "vector_flops", "memory_bytes_per_second", "launch_ns",
                                   "matmul_efficiency", "memory_efficiency"})
            EXPECT_TRUE(profile->sources.contains(figure)) << name << ": " << figure;
        EXPECT_EQ(profile->kind == "cuda", profile->capability > 0) << name;
        EXPECT_EQ(profile->kind == "cuda", profile->to_host_bytes_per_second > 0) << name;
    }
}

TEST(DeviceProfiles, ErrorsNameTheField) {
    const auto message = [](const char* key, const nlohmann::json& value) {
        nlohmann::json file = nlohmann::json::parse(simple);
        if (value.is_discarded())
            file.erase(key);
        else
            file[key] = value;
        const Result<DeviceProfile> profile = parse_device_profile(file.dump(), "d.json");
        EXPECT_FALSE(profile) << key;
        return profile ? std::string() : profile.error().message;
    };
    const nlohmann::json missing(nlohmann::json::value_t::discarded);
    EXPECT_EQ(message("name", missing), "d.json: name is missing");
    EXPECT_EQ(message("memory_bytes_per_second", 0), "d.json: memory_bytes_per_second is out of range");
    EXPECT_EQ(message("launch_ns", -1), "d.json: launch_ns is out of range");
    EXPECT_EQ(message("matmul_flops", {{"bf16", 1e12}}), "d.json: matmul_flops: f32 is missing");
    EXPECT_EQ(message("vector_flops", {{"f32", "fast"}}), "d.json: vector_flops: f32 is not a number");
    EXPECT_EQ(message("matmul_efficiency", 1.5), "d.json: matmul_efficiency is more than 1");
    EXPECT_EQ(message("kind", "gpu"), "d.json: kind is neither cpu nor cuda");
    EXPECT_EQ(message("kind", "cuda"), "d.json: capability is missing");
    EXPECT_EQ(message("colour", 1), "d.json: key 'colour' is not known");
    EXPECT_EQ(message("sources", {{"launch_ns", 3}}), "d.json: sources: launch_ns is not a string");
    EXPECT_FALSE(parse_device_profile("[]", "d.json"));
    EXPECT_NE(device_profile("h300").error().message.find("h200"), std::string::npos);
}

TEST(Roofline, ComputingBoundsLargeProductsAndMovingBoundsTheRest) {
    const DeviceProfile device = simple_device();
    const OpCall product{.name = "aten::mm",
                         .arguments = {{{1000, 2000}, "f32"}, {{2000, 500}, "f32"}},
                         .bytes_read = 12e6,
                         .bytes_written = 2e6,
                         .elements_written = 5e5};
    EXPECT_DOUBLE_EQ(work_of(product).flops, 2.0 * 1000 * 2000 * 500);
    EXPECT_EQ(roofline(device, product).value, 1000 + 4'000'000) << "2e9 flops at half of 1e12 a second";

    const OpCall sum{.name = "aten::add",
                     .arguments = {{{1000000}, "f32"}, {{1000000}, "f32"}},
                     .bytes_read = 8e6,
                     .bytes_written = 4e6,
                     .elements_written = 1e6};
    EXPECT_EQ(roofline(device, sum).value, 1000 + 120'000) << "12e6 bytes at 1e11 a second";
}

TEST(Roofline, RatesFollowTheType) {
    const auto time_of = [](const char* dtype) {
        return roofline(simple_device(),
                        {.name = "aten::bmm", .arguments = {{{8, 512, 512}, dtype}, {{8, 512, 512}, dtype}}})
                   .value -
               1000;
    };
    EXPECT_NEAR(double(time_of("f32")) / double(time_of("bf16")), 4.0, 1e-3);
    EXPECT_EQ(time_of("f16"), time_of("f32")) << "as f32 where the device does not list the type";
}

TEST(Roofline, CountsConvolutionsForwardAndBackward) {
    const ShapeOf input{{8, 64, 56, 56}, "f32"}, weight{{128, 64, 3, 3}, "f32"},
        output{{8, 128, 56, 56}, "f32"};
    const double flops = 2.0 * 8 * 128 * 56 * 56 * 64 * 9;
    EXPECT_DOUBLE_EQ(work_of({.name = "aten::convolution",
                              .arguments = {input, weight},
                              .elements_written = 8.0 * 128 * 56 * 56})
                         .flops,
                     flops);
    EXPECT_DOUBLE_EQ(
        work_of({.name = "aten::convolution_backward", .arguments = {output, input, weight}, .gradients = 2})
            .flops,
        2 * flops);
    const ShapeOf depthwise{{64, 1, 3, 3}, "f32"};
    EXPECT_DOUBLE_EQ(work_of({.name = "aten::_convolution",
                              .arguments = {input, depthwise},
                              .elements_written = 8.0 * 64 * 56 * 56})
                         .flops,
                     2.0 * 8 * 64 * 56 * 56 * 9);
    const ShapeOf transposed{{64, 32, 2, 2}, "f32"};
    EXPECT_DOUBLE_EQ(work_of({.name = "aten::convolution",
                              .arguments = {input, transposed},
                              .elements_written = 8.0 * 32 * 112 * 112})
                         .flops,
                     2.0 * 8 * 64 * 56 * 56 * 32 * 4);
}

TEST(Roofline, CountsFusedAttention) {
    const ShapeOf heads{{2, 12, 1024, 64}, "bf16"};
    const double products = 2 * 2.0 * 2 * 12 * 1024 * 1024 * 64;
    EXPECT_DOUBLE_EQ(
        work_of({.name = "aten::_scaled_dot_product_flash_attention", .arguments = {heads, heads, heads}})
            .flops,
        products);
    EXPECT_DOUBLE_EQ(work_of({.name = "aten::_scaled_dot_product_flash_attention_backward",
                              .arguments = {heads, heads, heads, heads}})
                         .flops,
                     2.5 * products);
}

}  // namespace
}  // namespace rematlas
