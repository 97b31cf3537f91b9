#include <gtest/gtest.h>

#include <QApplication>
#include <QIcon>
#include <QImage>
#include <QLabel>
#include <QTest>
#include <QTextBrowser>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "app/explorer/look/shades.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/window/view_picture.h"
#include "app/explorer/words/wording.h"
#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {
namespace {

/// Tests with different themes. After each test the theme is light again.
class Looks : public Windows {
  protected:
    void TearDown() override {
        window.reset();
        theme::choose(theme::Choice::light);
    }
    QImage picture_of(QWidget& widget) { return widget.grab().toImage(); }
};

/// Returns the median brightness of the pixels, from 0 to 255.
int median_brightness(const QImage& image) {
    std::vector<int> all;
    for (int y = 0; y < image.height(); y += 3)
        for (int x = 0; x < image.width(); x += 3) all.push_back(qGray(image.pixel(x, y)));
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

double luminance_of(const QColor& color) {
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

double contrast_of(const QColor& a, const QColor& b) {
    const double high = std::max(luminance_of(a), luminance_of(b)),
                 low = std::min(luminance_of(a), luminance_of(b));
    return (high + 0.05) / (low + 0.05);
}

TEST(Shades, TextCanBeReadOnItsGrounds) {
    for (const theme::Shades* s : {&theme::light_shades(), &theme::dark_shades()}) {
        for (const QColor& ground : {s->base, s->panel})
            for (const QColor& text : {s->ink, s->muted, s->accent, s->danger, s->good})
                EXPECT_GE(contrast_of(text, ground), 4.5)
                    << text.name().toStdString() << " on " << ground.name().toStdString();
        for (const QColor& ground : {s->hover, s->selected, s->pressed, s->danger_ground})
            EXPECT_GE(contrast_of(s->ink, ground), 4.5) << ground.name().toStdString();
        EXPECT_GE(contrast_of(s->on_accent, s->accent), 4.5);
    }
}

TEST_F(Looks, EveryPaintedViewIsDarkInTheDarkAndLightAgain) {
    open(write_chain(folder, 6));
    window->session().set_schedule(window->session().all_kept());
    QWidget* views[] = {window.get(),
                        &window->lanes(),
                        window->dock("flame"),
                        window->dock("lifetimes"),
                        window->graph_view().viewport(),
                        window->dock("details"),
                        window->dock("blocks"),
                        window->dock("solve")};
    for (QWidget* view : views)
        EXPECT_GT(median_brightness(picture_of(*view)), 200) << view->metaObject()->className();
    theme::choose(theme::Choice::dark);
    process_events();
    for (QWidget* view : views)
        EXPECT_LT(median_brightness(picture_of(*view)), 60) << view->metaObject()->className();
    theme::choose(theme::Choice::light);
    process_events();
    for (QWidget* view : views)
        EXPECT_GT(median_brightness(picture_of(*view)), 200) << view->metaObject()->className();
}

TEST_F(Looks, ColoursWrittenIntoTextsChangeWithTheTheme) {
    open(write_chain(folder, 4));
    auto* details = window->dock("details")->findChild<QTextBrowser*>();
    const QString light = theme::muted.name();
    EXPECT_TRUE(details->toHtml().contains(light));
    theme::choose(theme::Choice::dark);
    EXPECT_TRUE(details->toHtml().contains(theme::muted.name()));
    EXPECT_FALSE(details->toHtml().contains(light));
}

TEST_F(Looks, IconsAreDrawnInTheThemesColour) {
    const QIcon icon = theme::icon("open");
    const auto brightest = [&] {
        const QImage image = icon.pixmap(24, 24).toImage();
        int brightest = 0;
        for (int y = 0; y < 24; ++y)
            for (int x = 0; x < 24; ++x)
                if (qAlpha(image.pixel(x, y)) > 200)
                    brightest = std::max(brightest, qGray(image.pixel(x, y)));
        return brightest;
    };
    EXPECT_LT(brightest(), 128);
    theme::choose(theme::Choice::dark);
    EXPECT_GT(brightest(), 128);
}

TEST_F(Looks, PicturesForFilesStayOnWhitePaper) {
    open(write_chain(folder, 4));
    theme::choose(theme::Choice::dark);
    const QString path = folder.filePath("view.png");
    ASSERT_TRUE(write_view_picture(window->graph_view(), path.toStdString()));
    EXPECT_GT(median_brightness(QImage(path)), 200);
}

TEST_F(Looks, TheChoiceIsKept) {
    child<QAction>("theme_dark")->trigger();
    EXPECT_TRUE(theme::is_dark());
    window.reset();
    theme::choose(theme::Choice::light);
    make_window();
    EXPECT_TRUE(theme::is_dark());
    EXPECT_TRUE(child<QAction>("theme_dark")->isChecked());
}

TEST_F(Looks, ADesktopThatTellsEveryWidgetOfAChangeIsLookedAtOnce) {
    theme::choose(theme::Choice::dark);
    theme::choose(theme::Choice::system);
    ASSERT_FALSE(theme::is_dark()) << "here is no desktop, which is light";
    int changes = 0;
    QObject context;
    theme::on_change(&context, [&] { ++changes; });
    theme::choose(theme::Choice::dark);
    theme::choose(theme::Choice::system);
    EXPECT_EQ(changes, 2);
    for (QWidget* widget : window->findChildren<QWidget*>()) {
        QEvent change(QEvent::ThemeChange);
        QCoreApplication::sendEvent(widget, &change);
    }
    process_events();
    EXPECT_EQ(changes, 2) << "nothing is drawn anew where the desktop is what it was";
}

TEST(Theme, TellsADarkDesktopByItsPalette) {
    EXPECT_FALSE(theme::is_dark(theme::palette_of(theme::light_shades())));
    EXPECT_TRUE(theme::is_dark(theme::palette_of(theme::dark_shades())));
}

TEST(Words, ThatTurnTheOrderOfWritingAreShownAsEscapes) {
    EXPECT_EQ(text("x\u202egnp.py"), "x\\u202egnp.py");
    EXPECT_EQ(text("\u2066a\u2069"), "\\u2066a\\u2069");
    EXPECT_EQ(text("gr\u00fc\u00df"), QString::fromUtf8("gr\u00fc\u00df"));
}

TEST(Tips, ShowTextAsItIs) {
    QToolTip::showText({10, 10}, "Net <b>x</b>");
    QLabel* tip = nullptr;
    for (QWidget* widget : QApplication::topLevelWidgets())
        if (widget->inherits("QTipLabel")) tip = static_cast<QLabel*>(widget);
    ASSERT_TRUE(tip);
    EXPECT_EQ(tip->textFormat(), Qt::PlainText);
    QToolTip::hideText();
}

}  // namespace
}  // namespace rematlas::explorer
