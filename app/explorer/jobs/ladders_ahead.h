// Makes ladders that a user will perhaps request next, before a click requests them.
#pragma once

#include <QObject>
#include <functional>
#include <vector>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/loaded/ladder.h"

namespace rematlas::explorer {

/// Each ladder is equal to the ladder that a click would make now, with the current schedule. One ladder is
/// made at a time, in a thread of low priority.
class LaddersAhead : public QObject {
    Q_OBJECT
  public:
    using Make = std::function<Result<Ladder>(const ExpandedBlocks&, std::stop_token)>;

    /// Sets the ladders to make, the most likely one first. Drops finished ladders that are not in `wanted`.
    /// Cancels the ladder that is being made, unless it is the first unfinished ladder of `wanted`.
    void want(std::vector<ExpandedBlocks> wanted, Make make);
    void pause();  ///< stops until the next `want`, and keeps the finished ladders
    void clear();  ///< stops and forgets all ladders

    LadderPtr find(const ExpandedBlocks& expanded) const;  ///< returns null if the ladder is not ready, or
                                                           ///< making it failed
    bool running() const { return job_.running(); }

  signals:
    void ready();

  private:
    void make_next();
    void keep(const ExpandedBlocks& expanded, LadderPtr ladder);
    bool is_settled(const ExpandedBlocks& expanded) const;

    /// A ladder that was made. `ladder` is null if making it failed.
    struct Made {
        ExpandedBlocks expanded;
        LadderPtr ladder;
    };
    std::vector<ExpandedBlocks> wanted_;
    std::vector<Made> made_;
    ExpandedBlocks making_;
    Make make_;
    BackgroundJob job_;
};

}  // namespace rematlas::explorer
