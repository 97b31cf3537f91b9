// Keeps what is known about the schedules of one graph: peaks that were found, and bounds that were proven.
// Each peak and each bound belongs to a question: a budget, the allowed copies and the pins. All code that
// shows or writes a bound takes the bound from a KnownAnswers, so that one question has one answer
// everywhere.
//
//     KnownAnswers known(graph);
//     known.add(schedule);
//     known.bound({.budget = Bytes(2LL << 30)});     // on all schedules that may answer the question
//
// A bound holds for a question if it is proven for all schedules that may answer the question. So a bound for
// one question also holds for questions with smaller budgets, fewer copies, less memory on the host, or more
// pins.
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

/// Returns the `Copies` setting that allows the schedule and as little else as possible. The links are those
/// of the schedule, or those of the graph's device if the schedule names none. If the schedule copies
/// nothing, the setting allows no copies. Cost: linear in the steps.
Copies copies_of(const Graph& graph, const Schedule& schedule);

/// Returns the question that the schedule was made for. If the schedule has no budget, its peak counts as the
/// budget.
Question question_of(const Graph& graph, const Schedule& schedule);

/// Says whether the schedule keeps the budgets of the question, makes only copies that the question allows,
/// and obeys the pins of the question. The schedule must have passed the check. Cost: linear in the steps; if
/// the schedule was not made under all of the pins, linear in the steps for each pin.
bool may_answer(const Graph& graph, const Schedule& schedule, const Question& question);

class KnownAnswers {
  public:
    /// `graph` must outlive the object. Cost: linear in the ops.
    explicit KnownAnswers(const Graph& graph);

    /// Adds a schedule, with its bound if it has one. The schedule must have passed the check.
    void add(const Schedule& schedule);
    /// Records that some schedule that may answer the question has this peak.
    void add_peak(Question question, Bytes peak);
    /// Records that no schedule of the class `over` that may answer the question has a smaller overhead.
    void add_bound(Question question, ScheduleClass over, double overhead);
    /// Records that every schedule of the class `over` that keeps to the copies and pins of the question has
    /// a peak of at least `needed`. The budget of the question does not matter.
    void add_needed(Question question, ScheduleClass over, Bytes needed);

    /// Returns the largest known lower bound on the overhead of schedules that may answer the question;
    /// nothing if none is known.
    std::optional<double> bound(const Question& question) const;
    /// Returns the least known peak of schedules that may answer the question at a large enough budget;
    /// nothing if none is known.
    std::optional<Bytes> smallest(const Question& question) const;
    /// Returns the largest known lower bound on the peak of schedules that keep to the copies and pins of the
    /// question; 0 if none is known. The budget of the question does not matter.
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
    ScheduleClass with_weights_;  ///< class of all schedules that may offload weights
    std::vector<Found> found_;
    std::vector<Bounded> bounds_;
    std::vector<Needed> needed_;
};

/// Returns `schedule` with its bound raised to the largest bound that is known for its question.
Schedule with_known_bound(const Graph& graph, const KnownAnswers& known, Schedule schedule);

}  // namespace rematlas
