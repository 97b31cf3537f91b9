#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/sizes.h"
#include "core/costs/link_profile.h"
#include "runtime/device/measure_links.h"
#include "runtime/program/commands.h"
#include "runtime/program/progress_line.h"

namespace rematlas {
namespace {

constexpr Bytes kLeastBytes{64 << 10};

struct LinksFlags {
    std::string device = "cpu", output, bytes = "64MiB";
    bool json = false, quiet = false, progress_json = false;
};

LinkProfile profile_of(const Links& links, HostProfile host, const DeviceRuntime& device, Bytes bytes) {
    const bool has_links = !device.device().is_cpu();
    const std::string how =
        "measured on " + device.name() + ": copies of " + format_bytes(bytes) +
        (has_links ? " between pinned memory of the host and the device" : " within host memory") +
        ", the median of five";
    LinkProfile profile{
        .name = has_links ? "host and " + device.name() : device.name() + ": copies within host memory",
        .links = links,
        .sources = {},
        .host = std::move(host)};
    profile.sources["to_host_bytes_per_second"] = how;
    profile.sources["to_device_bytes_per_second"] = "as to_host";
    profile.sources["to_host_contended_bytes_per_second"] = "the same, while bytes moved the other way";
    profile.sources["to_device_contended_bytes_per_second"] = "as to_host_contended";
    profile.sources["copy_latency_ns"] = "measured there: small copies, one behind the other";
    profile.sources["least_copy_bytes"] = "of a smaller copy the latency is more than an eighth";
    return profile;
}

void print(const LinkProfile& profile, const LinksFlags& flags) {
    const Links& links = profile.links;
    std::printf("links       %s\n", profile.name.c_str());
    const auto way = [](const char* name, double alone, double contended) {
        std::printf("%-11s %.1f GB/s, and %.1f GB/s while bytes move the other way\n", name, alone * 1e-9,
                    contended * 1e-9);
    };
    way("to host", links.to_host_bytes_per_second, links.to_host_contended_bytes_per_second);
    way("to device", links.to_device_bytes_per_second, links.to_device_contended_bytes_per_second);
    std::printf("each copy   %.1f us before its bytes move; copies below %s are not worth it\n",
                double(links.copy_latency.value) * 1e-3, format_bytes(links.least_copy).c_str());
    std::printf("host        %s; it has %s\n", described(*profile.host).c_str(),
                format_bytes(profile.host->memory).c_str());
    if (!flags.output.empty())
        std::printf(
            "%s: for rematlas solve --offload all --device-profile %s, and for --host-profile of capture "
            "and fits\n",
            flags.output.c_str(), flags.output.c_str());
}

Result<Exit> run_links(const LinksFlags& flags) {
    if (!flags.output.empty() && !flags.output.ends_with(".json"))
        return Error{"links: -o " + flags.output + ": the name of a profile ends in .json"};
    const Result<Bytes> bytes = parse_bytes(flags.bytes);
    if (!bytes) return Error{"links: --bytes: " + bytes.error().message};
    if (*bytes < kLeastBytes)
        return Error{"links: --bytes " + flags.bytes + ": copies of less than 64 KiB tell nothing"};
    Result<std::unique_ptr<DeviceRuntime>> device = open_device(flags.device);
    if (!device) return Error{"links: " + device.error().message};
    ProgressLine progress(progress_form(flags.quiet, flags.progress_json));
    const Result<Links> links = measure_links(
        **device, {.bytes = *bytes, .progress = [&](double done) { progress.show("measure", done); }});
    if (!links) return Error{"links: " + links.error().message};
    Result<HostProfile> host = measure_host(Bytes(4 * bytes->value));  // more bytes than the caches hold
    progress.clear();
    if (!host) return Error{"links: " + host.error().message};
    const LinkProfile profile = profile_of(*links, host.take(), **device, *bytes);
    const std::string text = link_profile_text(profile);
    if (!flags.output.empty())
        if (Result<void> written = write_file(flags.output, text); !written) return written.error();
    if (flags.json)
        std::printf("%s\n", nlohmann::json::parse(text).dump().c_str());
    else
        print(profile, flags);
    return Exit::success;
}

}  // namespace

void add_links_command(CLI::App& app, Body& body) {
    auto flags = std::make_shared<LinksFlags>();
    CLI::App* command =
        app.add_subcommand("links",
                           "Measures how fast bytes move between the host and a device (each way alone, both "
                           "ways together, and what a small copy takes; on the CPU, which has no links, "
                           "copies within host memory), and how fast the host updates parameters in its own "
                           "memory");
    command->footer("Example:\n  rematlas links --device cuda -o links.json");
    command->add_option("--device", flags->device, "cpu, cuda, or a GPU by its index: cuda:1")
        ->capture_default_str();
    command->add_option("--bytes", flags->bytes, "bytes of a large copy; the device holds two of these")
        ->capture_default_str();
    command->add_option("-o,--output", flags->output,
                        "profile to write, which --device-profile and --host-profile of other commands read");
    command->add_flag("--json", flags->json, "print one object: the profile");
    command->add_flag("--quiet", flags->quiet, "no progress");
    command->add_flag("--progress-json", flags->progress_json, "progress as JSON lines on standard error");
    command->callback([flags, &body] { body = [flags] { return run_links(*flags); }; });
}

}  // namespace rematlas
