// Plays a user who clicks, types, drags and turns the wheel at random places. The program must not crash, and
// all places of the window must show the same numbers (one_figure.h). REMATLAS_EVENTS sets the number of
// events for each graph, and REMATLAS_SEED the seed of the random choices.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QSpinBox>
#include <QTest>
#include <QTimer>
#include <QWheelEvent>
#include <random>

#include "tests/app/explorer/one_figure.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

constexpr int events_between_looks = 25;

/// Returns the value of an environment variable that is a positive number, else `otherwise`.
int asked_for(const char* variable, int otherwise) {
    const int asked = qEnvironmentVariableIntValue(variable);
    return asked > 0 ? asked : otherwise;
}

/// Answers each menu and dialog that opens: triggers a random item of a menu, or closes the menu or dialog.
class Answers : public QObject {
  public:
    explicit Answers(std::mt19937& random) : random_(random) {
        timer_.setInterval(1);
        connect(&timer_, &QTimer::timeout, this, [this] { answer(); });
        timer_.start();
    }

  private:
    void answer() {
        if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) {
            QList<QAction*> can;
            for (QAction* action : menu->actions())
                if (action->isEnabled() && !action->isSeparator() && !action->menu() &&
                    action->objectName() != "close_graph")
                    can << action;
            menu->close();
            if (can.isEmpty() || random_() % 2 == 0) return;
            // Triggers the item after this function has returned. If it were triggered here and opened a
            // dialog, nothing would close the dialog, because the timer does not call this function again
            // before it returns.
            QTimer::singleShot(0, can[static_cast<int>(random_() % can.size())], &QAction::trigger);
            return;
        }
        if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
        if (auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget())) dialog->reject();
    }

    std::mt19937& random_;
    QTimer timer_;
};

class RandomWalks : public Windows {
  protected:
    Session& session() { return window->session(); }
    int any(int count) { return static_cast<int>(random() % static_cast<unsigned>(std::max(1, count))); }

    QWidget* some_widget() {
        QList<QWidget*> seen;
        for (QWidget* widget : window->findChildren<QWidget*>())
            if (widget->isVisible() && widget->isEnabled() && widget->width() > 4 && widget->height() > 4 &&
                widget->window() == window.get() && !qobject_cast<QMenu*>(widget))
                seen << widget;
        return seen.isEmpty() ? nullptr : seen[any(seen.size())];
    }
    static void send(QWidget* to, QEvent::Type type, const QPoint& at, Qt::MouseButton button,
                     Qt::KeyboardModifiers keys) {
        QMouseEvent event(type, at, to->mapToGlobal(at), button,
                          type == QEvent::MouseButtonRelease ? Qt::NoButton : button, keys);
        QApplication::sendEvent(to, &event);
    }
    void use_mouse(QWidget* widget) {
        const QPoint at(any(widget->width()), any(widget->height())),
            to(any(widget->width()), any(widget->height()));
        const Qt::KeyboardModifiers keys = any(4) == 0 ? Qt::ShiftModifier : Qt::NoModifier;
        const QPointer<QWidget> alive(widget);
        switch (any(5)) {
            case 0: {
                QWheelEvent turn(at, widget->mapToGlobal(at), {}, {0, any(2) ? 240 : -240}, Qt::NoButton,
                                 keys, Qt::NoScrollPhase, false);
                QApplication::sendEvent(widget, &turn);
                break;
            }
            case 1:
                send(widget, QEvent::MouseButtonPress, at, Qt::LeftButton, keys);
                if (alive) send(widget, QEvent::MouseMove, (at + to) / 2, Qt::LeftButton, keys);
                if (alive) send(widget, QEvent::MouseMove, to, Qt::LeftButton, keys);
                if (alive) send(widget, QEvent::MouseButtonRelease, to, Qt::LeftButton, keys);
                break;
            case 2:
                send(widget, QEvent::MouseButtonDblClick, at, Qt::LeftButton, keys);
                if (alive) send(widget, QEvent::MouseButtonRelease, at, Qt::LeftButton, keys);
                break;
            case 3: {
                QContextMenuEvent menu(QContextMenuEvent::Mouse, at, widget->mapToGlobal(at));
                QApplication::sendEvent(widget, &menu);
                break;
            }
            default:
                send(widget, QEvent::MouseButtonPress, at, Qt::LeftButton, keys);
                if (alive) send(widget, QEvent::MouseButtonRelease, at, Qt::LeftButton, keys);
        }
    }
    void use_keys(QWidget* widget) {
        static const Qt::Key keys[] = {
            Qt::Key_Left,   Qt::Key_Right, Qt::Key_Up,  Qt::Key_Down,   Qt::Key_Return, Qt::Key_Space,
            Qt::Key_Home,   Qt::Key_End,   Qt::Key_Tab, Qt::Key_Escape, Qt::Key_Plus,   Qt::Key_Minus,
            Qt::Key_Delete, Qt::Key_F,     Qt::Key_W,   Qt::Key_A,      Qt::Key_S,      Qt::Key_D};
        widget->setFocus();
        QTest::keyClick(widget, keys[any(static_cast<int>(std::size(keys)))]);
    }
    void use_values(QWidget* widget) {
        if (auto* box = qobject_cast<QComboBox*>(widget); box && box->count() > 0) {
            box->setCurrentIndex(any(box->count()));
            emit box->activated(box->currentIndex());
        } else if (auto* line = qobject_cast<QLineEdit*>(widget); line && !line->isReadOnly()) {
            static const char* const texts[] = {"60%", "2MiB",     "",         "1e99",
                                                "-5",  "blocks.*", "nonsense", "40% of activations"};
            line->setText(texts[any(static_cast<int>(std::size(texts)))]);
            emit line->textEdited(line->text());
            emit line->editingFinished();
        } else if (auto* spin = qobject_cast<QSpinBox*>(widget)) {
            spin->setValue(spin->minimum() + any(spin->maximum() - spin->minimum() + 1));
        } else if (auto* list = qobject_cast<QAbstractItemView*>(widget); list && list->model()) {
            list->setCurrentIndex(list->model()->index(any(list->model()->rowCount()), 0));
        } else if (auto* button = qobject_cast<QAbstractButton*>(widget)) {
            button->click();
        }
    }
    void trigger_some_action() {
        QList<QAction*> can;
        for (QAction* action : window->findChildren<QAction*>())
            if (action->isEnabled() && !action->menu() && !action->isSeparator() &&
                action->shortcut() != QKeySequence::Quit)
                can << action;
        if (!can.isEmpty()) can[any(can.size())]->trigger();
    }
    void one_event() {
        const int kind = any(10);
        if (kind == 0) return trigger_some_action();
        QWidget* widget = some_widget();
        if (!widget) return;
        kind < 5 ? use_mouse(widget) : kind < 7 ? use_keys(widget) : use_values(widget);
    }
    void walk(const QString& graph) {
        open(graph);
        const Answers answers(random);
        const int events = asked_for("REMATLAS_EVENTS", 250);
        for (int event = 0; event < events; ++event) {
            one_event();
            process_events();
            if (event % events_between_looks != 0) continue;
            session().cancel_all();
            ASSERT_TRUE(eventually([&] { return idle() && !session().opening(); }))
                << "after event " << event;
            expect_one_figure(*window);
            if (HasFailure()) FAIL() << "after event " << event;
            if (!session().graph()) open(graph);
            window->show();
        }
        session().cancel_all();
        ASSERT_TRUE(eventually([&] { return idle(); }));
    }

    std::mt19937 random{static_cast<unsigned>(asked_for("REMATLAS_SEED", 17))};
};

TEST_F(RandomWalks, OverAChainFindNoTwoFigures) {
    walk(write_chain(folder, 8));
}
TEST_F(RandomWalks, OverATransformerFindNoTwoFigures) {
    walk(sample("gpt"));
}
TEST_F(RandomWalks, OverAConvolutionalNetworkFindNoTwoFigures) {
    walk(sample("unet"));
}

}  // namespace
}  // namespace rematlas::explorer
