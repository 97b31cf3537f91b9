#include "app/explorer/jobs/ladders_ahead.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace rematlas::explorer {
namespace {

/// No ladder is made ahead once all kept ladders together have this many items: about 30 MiB.
constexpr std::size_t most_items = 40'000;

/// Lowers the priority of this thread and of the programs that it starts.
void let_others_go_first() {
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 5);
}

}  // namespace

void LaddersAhead::want(std::vector<ExpandedBlocks> wanted, Make make) {
    wanted_ = std::move(wanted);
    make_ = std::move(make);
    std::erase_if(made_, [this](const Made& made) {
        return std::find(wanted_.begin(), wanted_.end(), made.expanded) == wanted_.end();
    });
    make_next();
}

void LaddersAhead::pause() {
    wanted_.clear();
    job_.cancel();
}

void LaddersAhead::clear() {
    pause();
    made_.clear();
}

LadderPtr LaddersAhead::find(const ExpandedBlocks& expanded) const {
    for (const Made& made : made_)
        if (made.expanded == expanded) return made.ladder;
    return nullptr;
}

bool LaddersAhead::is_settled(const ExpandedBlocks& expanded) const {
    return std::any_of(made_.begin(), made_.end(),
                       [&](const Made& made) { return made.expanded == expanded; });
}

void LaddersAhead::make_next() {
    std::size_t items = 0;
    for (const Made& made : made_)
        if (made.ladder) items += made.ladder->view.items.size();
    const auto next = std::find_if(wanted_.begin(), wanted_.end(),
                                   [this](const ExpandedBlocks& wanted) { return !is_settled(wanted); });
    if (next == wanted_.end() || items >= most_items) return job_.cancel();
    if (job_.running() && making_ == *next) return;
    making_ = *next;
    job_.start([this, expanded = making_, make = make_](std::stop_token stop) -> BackgroundJob::Delivery {
        let_others_go_first();
        Result<Ladder> made = make(expanded, stop);
        LadderPtr ladder = made ? std::make_shared<const Ladder>(made.take()) : nullptr;
        return [this, expanded, ladder] { keep(expanded, ladder); };
    });
}

void LaddersAhead::keep(const ExpandedBlocks& expanded, LadderPtr ladder) {
    made_.push_back({expanded, std::move(ladder)});
    make_next();
    emit ready();
}

}  // namespace rematlas::explorer
