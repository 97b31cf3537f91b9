// Ladders that may be asked for next, made while nobody waits: the click finds them ready.
#pragma once

#include <QObject>
#include <cstddef>
#include <functional>
#include <vector>

#include "app/explorer/jobs/background_job.h"
#include "app/explorer/loaded/ladder.h"

namespace rematlas::explorer {

/// What is made here is what would be made on the click, with the schedule of the moment. One ladder is made
/// at a time, in a thread that lets all others go first.
class LaddersAhead : public QObject {
    Q_OBJECT
  public:
    using Make = std::function<Result<Ladder>(const ExpandedBlocks&, std::stop_token)>;

    explicit LaddersAhead(QObject* parent = nullptr);

    /// What may be asked for, the most likely first. Ladders that are no longer wanted are forgotten; what is
    /// being made goes on only where it is the first that is missing.
    void want(std::vector<ExpandedBlocks> wanted, Make make);
    void pause();  ///< until the next `want`; what is ready stays
    void clear();  ///< pauses and forgets all

    LadderPtr find(const ExpandedBlocks& expanded) const;  ///< null: it is not ready
    bool running() const { return job_.running(); }

  signals:
    void ready();

  private:
    void make_next();
    void keep(const ExpandedBlocks& expanded, LadderPtr ladder);
    bool is_settled(const ExpandedBlocks& expanded) const;

    /// Asked for and made, or not to be had (null).
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
