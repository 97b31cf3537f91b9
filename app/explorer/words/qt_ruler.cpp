#include "app/explorer/words/qt_ruler.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

/// Caches the widths of texts. The items of a graph have few different texts, and without a cache each thread
/// that measures a text would load the fonts again.
class QtRuler final : public TextRuler {
  public:
    double text_width(std::string_view words, const TextStyle& style) const override {
        const std::pair font(qRound(style.size * font_scale), style.bold);
        const std::string key(words);
        {
            const std::lock_guard lock(mutex_);
            const Widths& known = widths_[font];
            if (const auto found = known.find(key); found != known.end()) return found->second;
        }
        const double width = font_for(style).metrics.horizontalAdvance(text(words)) / font_scale;
        const std::lock_guard lock(mutex_);
        Widths& known = widths_[font];
        if (known.size() >= most_texts) known.clear();
        known.emplace(key, width);
        return width;
    }

  private:
    using Widths = std::unordered_map<std::string, double>;
    static constexpr std::size_t most_texts = 50'000;  ///< maximum number of cached texts for each font; they
                                                       ///< take a few megabytes
    mutable std::mutex mutex_;
    mutable std::map<std::pair<int, bool>, Widths> widths_;
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
