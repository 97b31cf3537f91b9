#include "runtime/training/process_groups.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <map>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include "runtime/dispatch/collectives.h"
#include "runtime/training/wire_bytes.h"

namespace rematlas {
namespace {

/// Maps the name of each group to the name of its queue.
std::map<std::string, std::string> queues_by_group(const std::vector<std::string>& groups) {
    std::map<std::string, int> with_use;
    std::vector<std::string> uses;
    for (const std::string& group : groups) {
        uses.push_back(c10d::resolve_process_group(group)->getGroupDesc());
        ++with_use[uses.back()];
    }
    std::map<std::string, std::string> queues;
    for (std::size_t i = 0; i < groups.size(); ++i)
        queues[groups[i]] = with_use[uses[i]] == 1 && !uses[i].empty() && uses[i] != "undefined"
                                ? uses[i]
                                : "group " + std::to_string(i + 1);
    return queues;
}

}  // namespace

std::string process_group_of(const TapeOp& collective) {
    const auto kernel =
        c10::Dispatcher::singleton().findSchemaOrThrow(collective.name.c_str(), collective.overload.c_str());
    return name_of_group(collective.arguments.at(group_argument(kernel.schema())).value);
}

std::vector<std::string> process_groups_of(const Tape& tape) {
    std::vector<std::string> groups;
    for (const TapeOp& op : tape.ops) {
        if (!is_collective(op.name)) continue;
        std::string group = process_group_of(op);
        if (std::find(groups.begin(), groups.end(), group) == groups.end())
            groups.push_back(std::move(group));
    }
    return groups;
}

void add_queues(Graph& graph, const Tape& tape) {
    const std::map<std::string, std::string> queues = queues_by_group(process_groups_of(tape));
    for (const OpId id : graph.ops.ids()) {
        const TapeOp& recorded = tape.ops[id];
        Op& op = graph.ops[id];
        if (!is_collective(recorded.name) || writes_to_first_argument(recorded.name) ||
            !recorded.overwrites.empty() || !op.mutates.empty() || op.workspace > Bytes())
            continue;
        op.collective = Collective{queues.at(process_group_of(recorded)), wire_bytes(graph, tape, id)};
    }
}

}  // namespace rematlas
