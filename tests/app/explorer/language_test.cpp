// Tests that all texts of the window and of its pictures go through a translator, and that there is a German
// translation for each of them.
#include "app/explorer/words/language.h"

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QCoreApplication>
#include <QFile>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenuBar>
#include <QRegularExpression>
#include <QTranslator>
#include <QXmlStreamReader>
#include <set>

#include "app/explorer/docks/sweep_plot.h"
#include "app/explorer/models/lifetime_rows.h"
#include "tests/app/explorer/window_fixture.h"
#include "tests/viz/recording_canvas.h"
#include "viz/paint/flame_painter.h"
#include "viz/paint/schedule_painter.h"
#include "viz/paint/sweep_painter.h"
#include "viz/paint/words.h"

namespace rematlas::explorer {
namespace {

/// A translator that puts each text in brackets.
class Brackets : public QTranslator {
  public:
    bool isEmpty() const override { return false; }
    QString translate(const char*, const char* source, const char*, int) const override {
        return "[" + QString::fromUtf8(source) + "]";
    }
};

/// A window in which all translated texts are in brackets.
class Bracketed : public Windows {
  protected:
    void SetUp() override {
        QCoreApplication::installTranslator(&brackets);
        make_window();
        open(write_chain(folder, 6));
        window->session().set_schedule(window->session().all_kept());
        process_events();
    }
    void TearDown() override {
        window.reset();
        QCoreApplication::removeTranslator(&brackets);
    }
    /// Notes the text if it is English and not in brackets, because then no translator has seen it. Ignores
    /// names and numbers.
    void look_at(const QString& where, const QString& text) {
        static const QRegularExpression word("[A-Za-z]{3,}");
        if (text.contains('[') || !text.contains(word) || is_data(text)) return;
        english << where + ": " + text;
    }
    bool is_data(const QString& text) const {
        const std::set<QString> names{"chain", "cpu", "Rematlas"};
        return names.count(text) > 0 || text.startsWith("Alt+") ||
               QRegularExpression("^[-+0-9., %]*[KMGT]iB$").match(text).hasMatch();
    }

    Brackets brackets;
    QStringList english;
};

TEST_F(Bracketed, NoMenuItemIsEnglish) {
    std::vector<const QMenu*> menus;
    for (const QMenu* menu : window->menuBar()->findChildren<QMenu*>()) menus.push_back(menu);
    int seen = 0;
    for (const QMenu* menu : menus) {
        look_at("menu", menu->title());
        for (const QAction* action : menu->actions()) {
            if (action->isSeparator()) continue;
            look_at("item", action->text());
            ++seen;
        }
    }
    EXPECT_GT(seen, 40);
    EXPECT_TRUE(english.isEmpty()) << english.join("\n").toStdString();
}

TEST_F(Bracketed, NoTextOrTipOrNameOfAWidgetIsEnglish) {
    int seen = 0;
    for (const QWidget* widget : window->findChildren<QWidget*>()) {
        if (widget->objectName().startsWith("qt_") || widget->inherits("QDockWidgetTitleButton")) continue;
        const QString where = QString(widget->metaObject()->className()) + " " + widget->objectName();
        if (const auto* label = qobject_cast<const QLabel*>(widget)) look_at(where, label->text());
        if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) look_at(where, button->text());
        if (const auto* field = qobject_cast<const QLineEdit*>(widget))
            look_at(where, field->placeholderText());
        look_at(where + " tip", widget->toolTip());
        look_at(where + " name", widget->accessibleName());
        look_at(where + " title", widget->windowTitle());
        ++seen;
    }
    EXPECT_GT(seen, 100);
    EXPECT_TRUE(english.isEmpty()) << english.join("\n").toStdString();
}

TEST_F(Bracketed, NoHeaderOfATableIsEnglish) {
    int seen = 0;
    for (const QTreeView* list : window->findChildren<QTreeView*>()) {
        const QAbstractItemModel& model = *list->model();
        for (int column = 0; column < model.columnCount(); ++column) {
            look_at(list->accessibleName(), model.headerData(column, Qt::Horizontal).toString());
            look_at(list->accessibleName(),
                    model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString());
            ++seen;
        }
    }
    EXPECT_GT(seen, 50);
    EXPECT_TRUE(english.isEmpty()) << english.join("\n").toStdString();
}

std::string no_words(const char*, const char*) {
    return {};
}

TEST(Language, NoWordOfAPictureIsEnglish) {
    const GraphPtr graph = loaded_chain(6);
    const SchedulePtr schedule = prepare_schedule(graph, keep_all_schedule(*graph));
    const LaneData data =
        lane_data(graph->graph, schedule->schedule.steps, schedule->simulation, LaneAxis::time);
    std::vector<Step> away = schedule->schedule.steps;
    away.insert(away.begin() + 1, Step::offload(graph->graph.ops[OpId(0)].outputs.front()));
    const Result<Simulation> played = simulate(graph->graph, away, {}, Links{1e6, 1e6});
    ASSERT_TRUE(played) << played.error().message;
    const LaneData copied = lane_data(graph->graph, away, *played, LaneAxis::time);
    ASSERT_EQ(copied.lanes.size(), 5u) << "with waits and copies";
    Sweep sweep{"graph",
                "",
                {{"s1",
                  {{Bytes(50 << 20),
                    "feasible",
                    Bytes(40 << 20),
                    1.2,
                    Bound{1.1, 0, ScheduleClass::any_order},
                    {}}}}}};
    for (const Offload what : {Offload::activations, Offload::weights, Offload::all})
        for (const Links& links : {Links(), Links{1e9, 1e9}})
            sweep.curves.push_back({"s2", sweep.curves[0].points, {.what = what, .links = links}});
    const FlameData flame =
        flame_data(graph->graph, schedule->schedule.steps, schedule->simulation, LaneAxis::time);
    LifetimeBars bars = LifetimeRows(schedule).at({});
    for (LifetimeBar& bar : bars.bars) bar.name = "conv";
    bars.more = 3;
    const auto words = [&] {
        RecordingCanvas canvas;
        paint_schedule(canvas, {.graph = graph->graph,
                                .steps = schedule->schedule.steps,
                                .data = data,
                                .plain = &data,
                                .budget = Bytes(60 << 20),
                                .resident = Bytes(8 << 20),
                                .rect = {0, 0, 900, 320},
                                .axis_titles = true});
        paint_schedule(canvas, {.graph = graph->graph,
                                .steps = away,
                                .data = copied,
                                .host_budget = Bytes(60 << 20),
                                .rect = {0, 0, 900, 320},
                                .axis_titles = true});
        paint_sweep(canvas, {.sweep = sweep,
                             .keep_all = Bytes(70 << 20),
                             .least = Bytes(30 << 20),
                             .rect = {0, 0, 640, 400},
                             .budget = Bytes(45 << 20)});
        paint_flame(canvas, {.graph = graph->graph, .data = flame, .rect = {0, 0, 9000, 200}});
        paint_lifetimes(canvas, {.data = bars, .rect = {0, 0, 4000, 600}});
        return canvas.texts;
    };
    std::set<std::string> names{"ms", "us", "MiB", "KiB"};
    for (const Op& op : graph->graph.ops) {
        names.insert(op.name);
        for (const QString& part :
             QString::fromStdString(op.name + "." + op.module).split(QRegularExpression("[^A-Za-z_]+")))
            names.insert(part.toStdString());
    }
    const auto english_of = [&](const auto& texts) {
        QStringList english;
        for (const auto& text : texts)
            for (const QString& word : QString::fromStdString(text.text).split(
                     QRegularExpression("[^A-Za-z_]+"), Qt::SkipEmptyParts))
                if (word.size() > 2 && names.count(word.toStdString()) == 0) english << word;
        return english;
    };
    EXPECT_GT(english_of(words()).size(), 8) << "in English there are words";
    set_translation(no_words);
    const QStringList left = english_of(words());
    set_translation(nullptr);
    EXPECT_TRUE(left.isEmpty()) << left.join(", ").toStdString();
}

/// Returns the texts of a translation file with their translations. Sets `unfinished` to the number of texts
/// without a finished translation.
std::vector<std::pair<QString, QString>> messages_of(const QString& path, int* unfinished) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    QXmlStreamReader xml(&file);
    std::vector<std::pair<QString, QString>> messages;
    QString source;
    while (!xml.atEnd()) {
        xml.readNext();
        if (!xml.isStartElement()) continue;
        if (xml.name() == "source") source = xml.readElementText();
        if (xml.name() == "translation") {
            if (xml.attributes().value("type") == "unfinished") ++*unfinished;
            messages.emplace_back(source, xml.readElementText());
        }
    }
    return messages;
}

TEST(Language, TheGermanTranslationIsWholeAndKeepsThePlaces) {
    int unfinished = 0;
    const auto messages = messages_of(
        QStringLiteral(REMATLAS_SOURCE_DIR "/resources/translations/rematlas_de.ts"), &unfinished);
    EXPECT_GT(messages.size(), 400u);
    EXPECT_EQ(unfinished, 0);
    for (const auto& [source, german] : messages) {
        for (const char* place : {"%1", "%2", "%3", "%4", "%5", "%6"})
            EXPECT_EQ(source.contains(place), german.contains(place)) << source.toStdString();
        EXPECT_EQ(source.count(";;"), german.count(";;")) << source.toStdString();
        EXPECT_EQ(source.contains('&'), german.contains('&')) << source.toStdString();
    }
}

TEST(Language, UnknownOnesAreNotSpoken) {
    EXPECT_FALSE(speak("tlh"));
    EXPECT_FALSE(speak("en_GB"));
    EXPECT_FALSE(languages().contains("tlh"));
}

}  // namespace
}  // namespace rematlas::explorer
