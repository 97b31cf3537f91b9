// The answer to the first question: does the step fit a card, and what does that cost?
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
        fits,        ///< nothing needs to run again
        with_plan,   ///< a plan of the list fits
        to_solve,    ///< a schedule that small is known to exist, none of the list fits
        unknown,     ///< smaller than any known schedule, larger than what is proven to be needed
        impossible,  ///< proven
    };
    Kind kind = Kind::fits;
    QString headline;           ///< one line
    QString detail;             ///< a second one: why, or what to do
    int plan = PlanList::none;  ///< the fastest plan that fits; a row
    bool can_solve = false;     ///< a solve for the limit may find a faster one, or one at all
};

/// Only plans that may answer the question count. `was_solved`: the solver has answered the question, so that
/// asking again brings nothing new.
FitAnswer fit_answer(const LoadedGraph& graph, const PlanList& plans, const KnownAnswers& known,
                     const Question& question, bool was_solved = false);

/// Returns the conditions under which the figures of the graph hold, a phrase each: whether the optimizer
/// counts, whose times they are, over which link copies go.
QStringList conditions_of(const LoadedGraph& graph, const Question& question);

/// A card whose memory people plan for.
struct Card {
    QString name;
    Bytes memory;
};
/// The cards of the device profiles that come with the program, the largest memory first.
std::vector<Card> known_cards();

/// Of a card's memory, what a step cannot have: the context of the driver, libraries, what others hold.
Bytes usual_reserve(Bytes memory);

}  // namespace rematlas::explorer
