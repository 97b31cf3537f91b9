// Answers the first question of a user: does the step fit a card, and what does that cost?
//
//     const FitAnswer answer = fit_answer(*graph, plans, known, {.budget = Bytes(80) << 30});
//     label->setText(answer.headline);
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "app/explorer/loaded/loaded_graph.h"
#include "app/explorer/models/plan_list.h"
#include "core/planning/known_answers.h"

namespace rematlas::explorer {

struct FitAnswer {
    enum class Kind {
        fits,        ///< no op needs to run again
        with_plan,   ///< a plan of the list fits
        to_solve,    ///< a schedule of this size is known to exist, but no plan of the list fits
        unknown,     ///< the budget is below every known schedule, but above the proven lower bound
        impossible,  ///< it is proven that no schedule fits
    };
    Kind kind = Kind::fits;
    QString headline;           ///< the answer in one line
    QString detail;             ///< a second line: why, or what to do
    int plan = PlanList::none;  ///< row of the fastest plan that fits
    bool can_solve = false;     ///< a solve for the budget may find a faster plan, or a first one
};

/// Returns the answer to a question. Only plans that may answer the question count. `was_solved`: the solver
/// has already answered the question, so solving again would find nothing new.
FitAnswer fit_answer(const LoadedGraph& graph, const PlanList& plans, const KnownAnswers& known,
                     const Question& question, bool was_solved = false);

/// Returns the conditions under which the numbers of the graph hold, one phrase each: whether the optimizer
/// counts, on which device the times are, over which link copies go.
QStringList conditions_of(const LoadedGraph& graph, const Question& question);

/// A card whose memory people plan for.
struct Card {
    QString name;
    Bytes memory;
};
/// The cards of the device profiles that come with the program, the largest memory first.
std::vector<Card> known_cards();

/// Returns the part of a card's memory that a step cannot use: the driver's context, libraries, other
/// programs.
Bytes usual_reserve(Bytes memory);

}  // namespace rematlas::explorer
