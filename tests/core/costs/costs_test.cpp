#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/costs/builtin_profiles.h"
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
    ASSERT_GE(builtin_profiles().size(), 6u);
    for (const std::string& name : names_of(builtin_profiles())) {
        const Result<DeviceProfile> profile = device_profile(name);
        ASSERT_TRUE(profile) << profile.error().message;
        EXPECT_EQ(profile->id, name);
        for (const char* figure : {"matmul_flops", "vector_flops", "memory_bytes_per_second", "launch_ns",
                                   "matmul_efficiency", "memory_efficiency"})
            EXPECT_TRUE(profile->sources.contains(figure)) << name << ": " << figure;
        EXPECT_EQ(profile->kind == "cuda", profile->capability > 0) << name;
        EXPECT_EQ(profile->kind == "cuda", profile->links.to_host_bytes_per_second > 0) << name;
    }
}

TEST(DeviceProfiles, EveryFactIsReadFromItsField) {
    const Result<DeviceProfile> profile = parse_device_profile(
        R"({"format": "rematlas.device", "version": 1, "name": "n", "kind": "cuda", "memory_bytes": 7,
            "matmul_flops": {"f32": 1, "bf16": 2}, "convolution_flops": {"f32": 3}, "vector_flops": {"f32": 4},
            "memory_bytes_per_second": 5, "launch_ns": 6, "matmul_efficiency": 0.1,
            "convolution_efficiency": 0.2, "attention_efficiency": 0.3, "memory_efficiency": 0.4,
            "to_host_bytes_per_second": 8, "to_device_bytes_per_second": 9, "matmul_workspace_bytes": 10,
            "to_host_contended_bytes_per_second": 7.5, "to_device_contended_bytes_per_second": 6.5,
            "copy_latency_ns": 12, "least_copy_bytes": 13,
            "capability": 11, "sources": {"launch_ns": "measured"}})",
        "d");
    ASSERT_TRUE(profile) << profile.error().message;
    using Rates = std::map<std::string, double>;
    EXPECT_EQ(profile->name, "n");
    EXPECT_EQ(profile->kind, "cuda");
    EXPECT_EQ(profile->memory, Bytes(7));
    EXPECT_EQ(profile->matmul_flops, (Rates{{"f32", 1}, {"bf16", 2}}));
    EXPECT_EQ(profile->convolution_flops, (Rates{{"f32", 3}}));
    EXPECT_EQ(profile->vector_flops, (Rates{{"f32", 4}}));
    EXPECT_EQ(profile->memory_bytes_per_second, 5);
    EXPECT_EQ(profile->launch, Nanoseconds(6));
    EXPECT_EQ(profile->matmul_efficiency, 0.1);
    EXPECT_EQ(profile->convolution_efficiency, 0.2);
    EXPECT_EQ(profile->attention_efficiency, 0.3);
    EXPECT_EQ(profile->memory_efficiency, 0.4);
    EXPECT_EQ(profile->links.to_host_bytes_per_second, 8);
    EXPECT_EQ(profile->links.to_device_bytes_per_second, 9);
    EXPECT_EQ(profile->links.to_host_contended_bytes_per_second, 7.5);
    EXPECT_EQ(profile->links.to_device_contended_bytes_per_second, 6.5);
    EXPECT_EQ(profile->links.copy_latency, Nanoseconds(12));
    EXPECT_EQ(profile->links.least_copy, Bytes(13));
    EXPECT_EQ(profile->matmul_workspace, Bytes(10));
    EXPECT_EQ(profile->capability, 11);
    EXPECT_EQ(profile->sources.at("launch_ns"), "measured");
}

TEST(DeviceProfiles, WhatAFileDoesNotTellFollowsFromTheRest) {
    const DeviceProfile profile = simple_device();
    EXPECT_EQ(profile.convolution_flops, profile.matmul_flops);
    EXPECT_EQ(profile.convolution_efficiency, 0.5) << "as of products";
    EXPECT_EQ(profile.attention_efficiency, 0.5) << "as of products";
    EXPECT_EQ(profile.memory_efficiency, 1);
    EXPECT_EQ(profile.memory, Bytes(0));
    EXPECT_EQ(profile.matmul_workspace, Bytes(0));
    EXPECT_EQ(profile.links.to_host_bytes_per_second, 0);
    EXPECT_EQ(profile.links.to_device_bytes_per_second, 0);
    EXPECT_EQ(profile.links.to_host_contended_bytes_per_second, 0) << "as without the other way";
    EXPECT_EQ(profile.links.to_device_contended_bytes_per_second, 0);
    EXPECT_EQ(profile.links.copy_latency, Nanoseconds(0));
    EXPECT_EQ(profile.links.least_copy, Bytes(0));
    EXPECT_EQ(profile.capability, 0);
}

TEST(DeviceProfiles, FiguresAreAcceptedUpToTheirLimits) {
    const auto accepted = [](const char* key, const nlohmann::json& value) {
        nlohmann::json file = nlohmann::json::parse(simple);
        file[key] = value;
        return static_cast<bool>(parse_device_profile(file.dump(), "d"));
    };
    for (const char* key :
         {"memory_bytes_per_second", "to_host_bytes_per_second", "to_device_bytes_per_second"}) {
        for (const double fine : {1e-9, 0.5, 1.0, 1e18}) EXPECT_TRUE(accepted(key, fine)) << key << fine;
        for (const double wrong : {0.0, -0.5, 1.1e18}) EXPECT_FALSE(accepted(key, wrong)) << key << wrong;
    }
    for (const char* key :
         {"matmul_efficiency", "convolution_efficiency", "attention_efficiency", "memory_efficiency"}) {
        for (const double fine : {1e-9, 1.0}) EXPECT_TRUE(accepted(key, fine)) << key << fine;
        for (const double wrong : {0.0, 1.001}) EXPECT_FALSE(accepted(key, wrong)) << key << wrong;
    }
    for (const char* key : {"memory_bytes", "matmul_workspace_bytes", "least_copy_bytes"}) {
        for (const std::int64_t fine : {std::int64_t{0}, std::int64_t{1} << 50})
            EXPECT_TRUE(accepted(key, fine)) << key;
        for (const std::int64_t wrong : {std::int64_t{-1}, (std::int64_t{1} << 50) + 1})
            EXPECT_FALSE(accepted(key, wrong)) << key;
    }
    for (const char* key : {"launch_ns", "copy_latency_ns"}) {
        for (const int fine : {0, 1'000'000'000}) EXPECT_TRUE(accepted(key, fine)) << key;
        for (const int wrong : {-1, 1'000'000'001}) EXPECT_FALSE(accepted(key, wrong)) << key;
    }
    EXPECT_FALSE(accepted("matmul_flops", {{"f32", 0}}));
    EXPECT_FALSE(accepted("convolution_flops", {{"f32", 0}}));
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
    EXPECT_EQ(message("to_host_contended_bytes_per_second", 1),
              "d.json: to_host_contended_bytes_per_second is more than the speed without the other way");
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

TEST(Roofline, CountsProductsByTheirOperands) {
    const ShapeOf left{{3, 5, 7}, "f32"}, right{{3, 7, 11}, "f32"}, bias{{11}, "f32"}, weight{{13, 7}, "f32"},
        vector{{7}, "f32"}, matrix{{5, 7}, "f32"};
    const auto flops_of = [](const char* name, std::vector<ShapeOf> arguments) {
        const Work work = work_of({.name = name, .arguments = std::move(arguments)});
        EXPECT_EQ(work.engine, Engine::matmul) << name;
        return work.flops;
    };
    EXPECT_EQ(flops_of("aten::bmm", {left, right}), 2 * 3 * 5 * 7 * 11);
    EXPECT_EQ(flops_of("aten::baddbmm", {bias, left, right}), 2 * 3 * 5 * 7 * 11);
    EXPECT_EQ(flops_of("aten::linear", {left, weight, bias}), 2 * 3 * 5 * 7 * 13);
    EXPECT_EQ(flops_of("aten::addmm", {bias, matrix, {{7, 2}, "f32"}}), 2 * 5 * 7 * 2);
    // In each layer and step, the input and the state are multiplied by their weights. The backward takes
    // twice as many flops.
    const std::vector<ShapeOf> layer{{{4, 6, 7}, "f32"}, {{20, 7}, "f32"}, {{20, 5}, "f32"}};
    EXPECT_EQ(flops_of("aten::mkldnn_rnn_layer", layer), 2 * 4 * 6 * (20 * 7 + 20 * 5));
    EXPECT_EQ(flops_of("aten::mkldnn_rnn_layer_backward", layer), 4 * 4 * 6 * (20 * 7 + 20 * 5));
}

TEST(Roofline, CountsOtherOpsByTheLargerOfWhatTheyReadAndWrite) {
    const auto flops_of = [](const char* name, double written) {
        const Work work = work_of(
            {.name = name, .arguments = {{{10}, "f32"}, {{30, 2}, "f32"}}, .elements_written = written});
        EXPECT_EQ(work.engine, Engine::vector) << name;
        return work.flops;
    };
    EXPECT_EQ(flops_of("aten::add", 1), 60);
    EXPECT_EQ(flops_of("aten::add", 100), 100);
    EXPECT_EQ(flops_of("aten::tanh", 1), 20 * 60);
    EXPECT_EQ(flops_of("aten::native_layer_norm", 1), 8 * 60);
}

TEST(Roofline, EachEngineHasItsRateAndItsEfficiency) {
    DeviceProfile device = simple_device();
    device.matmul_flops = {{"f32", 1e9}};
    device.convolution_flops = {{"f32", 2e9}};
    device.vector_flops = {{"f32", 3e9}};
    device.matmul_efficiency = 0.5;
    device.convolution_efficiency = 0.25;
    device.attention_efficiency = 0.125;
    device.memory_efficiency = 0.5;
    device.memory_bytes_per_second = 1e9;
    device.launch = Nanoseconds(0);
    const ShapeOf shape{{1, 10, 10, 10}, "f32"};
    const auto nanoseconds = [&](const char* name, double bytes = 0) {
        const OpCall call{
            .name = name, .arguments = {shape, shape}, .bytes_read = bytes, .elements_written = 1000};
        const double flops = work_of(call).flops;
        EXPECT_GT(flops, 0);
        return std::pair(static_cast<double>(roofline(device, call).value), flops);
    };
    const auto [product, of_product] = nanoseconds("aten::bmm");
    EXPECT_NEAR(product, of_product / 0.5, 1);
    const auto [convolution, of_convolution] = nanoseconds("aten::convolution");
    EXPECT_NEAR(convolution, of_convolution / (2 * 0.25), 1);
    const auto [attention, of_attention] = nanoseconds("aten::_scaled_dot_product_attention");
    EXPECT_NEAR(attention, of_attention / 0.125, 1);
    const auto [sum, of_sum] = nanoseconds("aten::add");
    EXPECT_NEAR(sum, of_sum / 3, 1);
    EXPECT_NEAR(nanoseconds("aten::add", 1e6).first, 1e6 / 0.5, 1);
    EXPECT_EQ(roofline(device, {.name = "aten::add", .arguments = {}}).value, 1) << "no op takes no time";
}

TEST(Roofline, CountsFusedAttention) {
    const ShapeOf heads{{2, 12, 1024, 64}, "bf16"};
    const double products = 2 * 2.0 * 2 * 12 * 1024 * 1024 * 64;
    EXPECT_DOUBLE_EQ(
        work_of({.name = "aten::_scaled_dot_product_flash_attention", .arguments = {heads, heads, heads}})
            .flops,
        products);
    EXPECT_DOUBLE_EQ(work_of({.name = "aten::_scaled_dot_product_flash_attention",
                              .arguments = {heads, heads, heads},
                              .causal = true})
                         .flops,
                     0.5 * work_of({.name = "aten::_scaled_dot_product_flash_attention",
                                    .arguments = {heads, heads, heads}})
                               .flops);
    EXPECT_DOUBLE_EQ(work_of({.name = "aten::_scaled_dot_product_flash_attention_backward",
                              .arguments = {heads, heads, heads, heads}})
                         .flops,
                     2.5 * products);
}

}  // namespace
}  // namespace rematlas
