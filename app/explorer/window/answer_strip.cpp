#include "app/explorer/window/answer_strip.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "app/explorer/look/theme.h"
#include "app/explorer/session/answer.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// In a strip narrower than this (pixels) the title is hidden and the list of cards is narrow, so that enough
/// width is left for the answer.
constexpr int narrow_strip = 1000;
constexpr int narrow_card = 150;

}  // namespace

AnswerStrip::AnswerStrip(Session& session)
    : session_(session),
      title_(theme::quiet_label(tr("Does it fit"))),
      card_(new QComboBox),
      headline_(theme::plain_label()),
      detail_(theme::quiet_label({})),
      conditions_(theme::quiet_label({})),
      action_(new QPushButton) {
    card_->setObjectName("card");
    card_->setToolTip(
        tr("The card to plan for. Some of its memory is left to the driver and to libraries;\n"
           "any other limit is typed as the budget."));
    card_->addItem(tr("the budget"));
    for (const Card& card : known_cards()) {
        card_->addItem(card.name, static_cast<qint64>((card.memory - usual_reserve(card.memory)).value));
        card_->setItemData(card_->count() - 1,
                           tr("%1, of which %2 are left to the driver")
                               .arg(bytes_text(card.memory), bytes_text(usual_reserve(card.memory))),
                           Qt::ToolTipRole);
    }
    headline_->setObjectName("fit_headline");
    QFont bold = headline_->font();
    bold.setWeight(QFont::DemiBold);
    headline_->setFont(bold);
    detail_->setObjectName("fit_detail");
    conditions_->setObjectName("fit_conditions");
    for (QLabel* label : {headline_, detail_, conditions_}) {
        label->setMinimumWidth(1);
        label->setWordWrap(true);
    }
    action_->setObjectName("fit_action");
    auto* words = new QVBoxLayout;
    words->setSpacing(0);
    words->addWidget(headline_);
    words->addWidget(detail_);
    words->addWidget(conditions_);
    title_->setBuddy(card_);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(theme::margin, theme::gap / 2, theme::margin, theme::gap / 2);
    layout->setSpacing(theme::gap);
    layout->addWidget(title_);
    layout->addWidget(card_);
    layout->addLayout(words, 1);
    auto* batch = new QPushButton(tr("Batch size"));
    batch->setToolTip(tr("What another batch size would need and cost, and the largest one that fits"));
    layout->addWidget(action_);
    layout->addWidget(batch);
    connect(batch, &QPushButton::clicked, this, &AnswerStrip::batch_requested);
    connect(card_, qOverload<int>(&QComboBox::activated), this, &AnswerStrip::choose);
    connect(action_, &QPushButton::clicked, this, &AnswerStrip::act);
    connect(&session_, &Session::graph_changed, this, &AnswerStrip::refresh);
    connect(&session_, &Session::schedule_changed, this, &AnswerStrip::refresh);
    connect(&session_.budget, &BudgetController::changed, this, &AnswerStrip::refresh);
    connect(&session_, &Session::question_changed, this, &AnswerStrip::refresh);
    connect(&session_, &Session::known_changed, this, &AnswerStrip::refresh);
    connect(&session_.plans, &PlanList::plan_removed, this, &AnswerStrip::refresh);
    connect(&session_.solver, &SolveController::started, this, &AnswerStrip::refresh);
    connect(&session_.solver, &SolveController::finished, this, &AnswerStrip::refresh);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    refresh();
}

void AnswerStrip::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool narrow = width() < narrow_strip;
    title_->setVisible(!narrow);
    card_->setMaximumWidth(narrow ? narrow_card : QWIDGETSIZE_MAX);
    fit_height();
}

/// Sets the height that the wrapped words need at this width. Toolbars do not do this by themselves.
void AnswerStrip::fit_height() {
    if (layout()->hasHeightForWidth()) setFixedHeight(layout()->totalHeightForWidth(width()));
}

void AnswerStrip::choose(int index) {
    if (index > 0) session_.budget.set_budget(Bytes(card_->itemData(index).toLongLong()));
    refresh();
}

void AnswerStrip::refresh() {
    if (!session_.graph()) return;
    if (const QString error = session_.budget.error(); !error.isEmpty()) {
        // The error replaces the answer for the previous budget.
        headline_->setText(tr("The budget cannot be read"));
        detail_->setText(error);
        action_->hide();
        fit_height();
        return;
    }
    const Bytes limit = session_.budget.budget();
    // If a user typed another budget, the list must no longer name a card.
    if (card_->currentIndex() > 0 && !session_.budget.is_text_of(Bytes(card_->currentData().toLongLong())))
        card_->setCurrentIndex(0);
    const Question question = session_.question(limit);
    const FitAnswer answer = fit_answer(*session_.graph(), session_.plans, session_.answers().known(),
                                        question, session_.was_solved(question));
    headline_->setText(answer.headline);
    detail_->setText(answer.detail);
    const QString conditions = conditions_of(*session_.graph(), question).join(QStringLiteral(" · "));
    conditions_->setText(conditions);
    for (QLabel* label : {headline_, detail_, conditions_}) label->setToolTip(label->text());
    plan_ = answer.plan;
    const bool shows = plan_ != PlanList::none && plan_ != session_.plans.shown();
    solves_ = answer.can_solve;
    action_->setText(solves_ ? tr("Solve") : tr("Show it"));
    action_->setToolTip(solves_ ? tr("With the solver and the time limit that are set under Solve")
                                : QString());
    action_->setVisible(solves_ || shows);
    action_->setEnabled(!session_.solver.running());
    fit_height();
}

void AnswerStrip::act() {
    if (!solves_) return session_.plans.show(plan_);
    session_.solve_for(session_.budget.budget());
}

}  // namespace rematlas::explorer
