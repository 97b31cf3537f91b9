// What is found and what is proven of the schedules of one graph, by question: whoever shows or writes a
// bound asks here, so that no two places say different things of one question.
//
//     KnownAnswers known(graph);
//     known.add(schedule);
//     known.bound({.budget = Bytes(2) << 30});     // of all schedules that may answer the question
//
// A bound holds for a question if it is proven of all schedules that may answer it: for smaller budgets, for
// fewer copies, for less memory on the host, and under more pins.
#pragma once

#include <optional>
#include <vector>

#include "core/schedule/pin.h"
#include "core/schedule/schedule.h"
#include "core/solving/answers.h"
#include "core/solving/copies.h"

namespace rematlas {

struct Question {
    Bytes budget = {};
    Copies copies = {};  ///< that a schedule may make
    Pins pins = {};      ///< that a schedule must obey
    bool operator==(const Question&) const = default;
};

/// The fewest copies that the schedule may have been asked for, over its links, else the graph's. Nothing for
/// a schedule that copies nothing. Cost: linear in the steps.
Copies copies_of(const Graph& graph, const Schedule& schedule);

/// What the schedule was asked for; where it has no budget, its peak.
Question question_of(const Graph& graph, const Schedule& schedule);

/// Whether the schedule, which has passed the check, keeps the budgets, copies nothing that it may not and
/// obeys the pins. Cost: linear in the steps, for each pin that it was not made under.
bool may_answer(const Graph& graph, const Schedule& schedule, const Question& question);

class KnownAnswers {
  public:
    /// `graph` must outlive it. Cost: linear in the ops.
    explicit KnownAnswers(const Graph& graph);

    /// One that has passed the check, with the bound that it has.
    void add(const Schedule& schedule);
    /// A schedule that answers the question takes so much at its peak.
    void add_peak(Question question, Bytes peak);
    /// No schedule of `over` that keeps budgets and pins of the question has a smaller overhead.
    void add_bound(Question question, ScheduleClass over, double overhead);
    /// Every schedule of `over` that obeys the pins of the question, whatever its budget, takes so much at
    /// its peak.
    void add_needed(Question question, ScheduleClass over, Bytes needed);

    /// The largest overhead that no schedule that may answer the question can fall below; none: nothing is
    /// known.
    std::optional<double> bound(const Question& question) const;
    /// The least peak of schedules that may answer the question, were its budget large enough; none is known.
    std::optional<Bytes> smallest(const Question& question) const;
    /// What every schedule takes that may answer the question, were its budget large enough; 0: nothing is
    /// known.
    Bytes needed(const Question& question) const;

  private:
    struct Found {
        Question question;
        Bytes peak;
    };
    struct Bounded {
        Question question;
        ScheduleClass over;
        double overhead;
    };
    struct Needed {
        Question question;
        ScheduleClass over;
        Bytes bytes;
    };

    bool holds(const Question& proven, ScheduleClass over, const Question& asked) const;

    const Graph* graph_;
    ScheduleClass with_weights_;  ///< that holds all schedules which may move weights
    std::vector<Found> found_;
    std::vector<Bounded> bounds_;
    std::vector<Needed> needed_;
};

/// The schedule with the largest bound that is known of its question.
Schedule with_known_bound(const Graph& graph, const KnownAnswers& known, Schedule schedule);

}  // namespace rematlas
