#include "app/explorer/session/qt_ruler.h"

#include <algorithm>
#include <map>

#include "app/explorer/session/wording.h"

namespace rematlas::explorer {
namespace {

class QtRuler final : public TextRuler {
  public:
    double text_width(std::string_view words, const TextStyle& style) const override {
        return font_for(style).metrics.horizontalAdvance(text(words)) / font_scale;
    }
};

}  // namespace

const SizedFont& font_for(const TextStyle& style) {
    static thread_local std::map<std::pair<int, bool>, SizedFont> fonts;
    const std::pair key(qRound(style.size * font_scale), style.bold);
    const auto found = fonts.find(key);
    if (found != fonts.end()) return found->second;
    QFont font("DejaVu Sans");
    font.setStyleHint(QFont::SansSerif);
    font.setPixelSize(std::max(1, key.first));
    font.setBold(style.bold);
    font.setHintingPreference(QFont::PreferNoHinting);
    return fonts.emplace(key, SizedFont{font, QFontMetricsF(font)}).first->second;
}

const TextRuler& qt_ruler() {
    static const QtRuler ruler;
    return ruler;
}

}  // namespace rematlas::explorer
