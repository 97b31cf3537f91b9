#include "app/cli/copy_flags.h"

#include <algorithm>

#include "app/cli/reading.h"
#include "core/base/sizes.h"
#include "core/costs/link_profile.h"
#include "core/planning/request.h"

namespace rematlas {

void add_copy_options(CLI::App& app, CopyFlags& flags, bool device_profile, bool several) {
    std::string help =
        "what may be copied to the host: activations come back before the step ends, weights may live "
        "there with gradients and optimizer states, all is both";
    if (several) help += "; several with commas give a curve for each that a solver plans";
    CLI::Option* offload = app.add_option("--offload", flags.offload, help)->capture_default_str();
    if (several)
        offload->type_name("none,activations,weights,all");
    else
        offload->check(CLI::IsMember({"none", "activations", "weights", "all"}));
    if (device_profile)
        app.add_option(
            "--device-profile", flags.device_profile,
            "copies go over these links in place of the graph's: of a device (h200, a100, ...), of a kind "
            "(pcie3, pcie4, pcie5, c2c), or of a .json file of either");
    app.add_option(
        "--host-budget", flags.host_budget,
        "bytes that may lie on the host; default: the memory of the graph's host where that is known, "
        "else any number");
}

Result<Copies> copies_from(const CopyFlags& flags) {
    const std::optional<Offload> what = offload_from(flags.offload);
    if (!what)
        return Error{"--offload: '" + flags.offload.substr(0, 60) +
                     "' is none of none, activations, weights, all"};
    Copies copies{.what = *what};
    if (copies.what == Offload::none && !(flags.device_profile.empty() && flags.host_budget.empty()))
        return Error{std::string(flags.host_budget.empty() ? "--device-profile" : "--host-budget") +
                     ": is about copies to the host, and --offload allows none"};
    if (!flags.host_budget.empty()) {
        const Result<Bytes> bytes = parse_bytes(flags.host_budget);
        if (!bytes) return Error{"--host-budget: " + bytes.error().message};
        copies.host_budget = *bytes;
    }
    if (!flags.device_profile.empty()) {
        const Result<Links> links = links_named(flags.device_profile);
        if (!links) return Error{"--device-profile: " + links.error().message};
        copies.links = *links;
    }
    return copies;
}

Result<std::vector<Copies>> all_copies_from(const CopyFlags& flags) {
    std::vector<Copies> all;
    const std::vector<std::string> names = parts_of(flags.offload);
    for (const std::string& name : names) {
        if (std::count(names.begin(), names.end(), name) > 1)
            return Error{"--offload: " + name.substr(0, 60) + " stands there twice"};
        CopyFlags one = flags;
        one.offload = name;
        // An entry "none" ignores the other flags: they are for the other entries of the list.
        if (name == "none" && names.size() > 1) one = CopyFlags{};
        const Result<Copies> copies = copies_from(one);
        if (!copies) return copies.error();
        all.push_back(*copies);
    }
    return all;
}

Result<Copies> copies_from(const CopyFlags& flags, const Graph& graph, const std::string& solver) {
    const Result<Copies> given = copies_from(flags);
    if (!given) return given.error();
    Result<Copies> copies = copies_for(graph, solver, *given);
    if (!copies) return Error{"--offload: " + copies.error().message};
    return copies;
}

}  // namespace rematlas
