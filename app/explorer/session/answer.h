// Answers the first question of a user: does the step fit into a card's memory, and what does that cost?
//
//     const FitAnswer answer = fit_answer(*graph, plans, known, {.budget = Bytes(80LL << 30)});
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
        with_plan,   ///< a plan in the list fits
        to_solve,    ///< a schedule that fits is known to exist, but no plan in the list fits
        unknown,     ///< no schedule that fits is known, and it is not proven that none exists
        impossible,  ///< it is proven that no schedule fits
    };
    Kind kind = Kind::fits;
    QString headline;           ///< the answer in one line
    QString detail;             ///< a second line: why, or what to do
    int plan = PlanList::none;  ///< row of the fastest plan that fits; `none` if no plan fits
    bool can_solve = false;  ///< whether a solver could find a faster plan, or a first plan, for the budget
};

/// Returns the answer to a question. Considers only plans that keep the budget, the copies and the pins of
/// the question. `was_solved`: the solver has answered the question already, so solving again would find
/// nothing new.
FitAnswer fit_answer(const LoadedGraph& graph, const PlanList& plans, const KnownAnswers& known,
                     const Question& question, bool was_solved = false);

/// Returns the conditions under which the graph's numbers hold, one phrase each: whether the optimizer is
/// included, on which device the times were measured, over which link copies go.
QStringList conditions_of(const LoadedGraph& graph, const Question& question);

/// A card for whose memory a step can be planned.
struct Card {
    QString name;
    Bytes memory;
};
/// Returns the cards among the device profiles that come with the program, the largest memory first.
std::vector<Card> known_cards();

/// Estimates how many bytes of a card's memory a step cannot use, because the driver's context, libraries and
/// other programs take them: a tenth of `memory`, at most 1 GiB.
Bytes usual_reserve(Bytes memory);

}  // namespace rematlas::explorer
