// Peaks found and bounds proven for the schedules of one graph, by question. All code that shows or writes a
// bound asks here, so that no two places give different answers to one question.
//
//     KnownAnswers known(graph);
//     known.add(schedule);
//     known.bound({.budget = Bytes(2 << 30)});     // on all schedules that may answer the question
//
// A bound holds for a question if it is proven for all schedules that may answer the question. So it also
// holds for smaller budgets, fewer copies, less memory on the host, and more pins.
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
    Copies copies = {};  ///< the copies that a schedule may make
    Pins pins = {};      ///< the pins that a schedule must obey
    bool operator==(const Question&) const = default;
};

/// The narrowest `Copies` that allow the schedule, over its links, else the graph's. They allow nothing if
/// the schedule copies nothing. Cost: linear in the steps.
Copies copies_of(const Graph& graph, const Schedule& schedule);

/// The question that the schedule was made for. A schedule without a budget has its peak as the budget.
Question question_of(const Graph& graph, const Schedule& schedule);

/// Whether a schedule that has passed the check keeps the budgets, copies only what the question allows, and
/// obeys the pins. Cost: linear in the steps, for each pin if the schedule was not made under all of them.
bool may_answer(const Graph& graph, const Schedule& schedule, const Question& question);

class KnownAnswers {
  public:
    /// `graph` must outlive the object. Cost: linear in the ops.
    explicit KnownAnswers(const Graph& graph);

    /// Adds a schedule that has passed the check, with its bound if it has one.
    void add(const Schedule& schedule);
    /// Notes that a schedule that answers the question has this peak.
    void add_peak(Question question, Bytes peak);
    /// Notes that no schedule of `over` that may answer the question has a smaller overhead.
    void add_bound(Question question, ScheduleClass over, double overhead);
    /// Notes that the peak of every schedule of `over` that may answer the question, whatever its budget, is
    /// at least `needed`.
    void add_needed(Question question, ScheduleClass over, Bytes needed);

    /// The largest known lower bound on the overhead of schedules that may answer the question; absent if
    /// none is known.
    std::optional<double> bound(const Question& question) const;
    /// The least known peak of schedules that may answer the question at a large enough budget; absent if
    /// none is known.
    std::optional<Bytes> smallest(const Question& question) const;
    /// The largest known lower bound on the peak of schedules that may answer the question at any budget; 0
    /// if none is known.
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
    ScheduleClass with_weights_;  ///< the class of all schedules that may move weights
    std::vector<Found> found_;
    std::vector<Bounded> bounds_;
    std::vector<Needed> needed_;
};

/// The schedule with the largest bound that is known of its question.
Schedule with_known_bound(const Graph& graph, const KnownAnswers& known, Schedule schedule);

}  // namespace rematlas
