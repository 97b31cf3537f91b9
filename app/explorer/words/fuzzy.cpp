#include "app/explorer/words/fuzzy.h"

#include <QStringList>
#include <algorithm>
#include <vector>

namespace rematlas::explorer {
namespace {

constexpr int found = 1, following = 8, begins_word = 6, begins_name = 2;

bool is_word_start(const QString& name, int at) {
    return at == 0 || !name[at - 1].isLetterOrNumber() || (name[at - 1].isLower() && name[at].isUpper());
}

/// Returns the score of one word: the best score over all ways to find its letters in the name, in their
/// order. Uses dynamic programming. Cost: the product of the lengths.
int word_score(const QString& word, const QString& name) {
    constexpr int none = -1;
    std::vector<int> best(static_cast<std::size_t>(name.size()), none), before;
    for (int i = 0; i < word.size(); ++i) {
        before.swap(best);
        best.assign(static_cast<std::size_t>(name.size()), none);
        int reached = i == 0 ? 0 : none;  // best score of the previous letters, up to the current place in
                                          // the name
        for (int at = 0; at < name.size(); ++at) {
            const auto place = static_cast<std::size_t>(at);
            if (name[at].toCaseFolded() == word[i].toCaseFolded()) {
                int score = reached;
                if (i > 0 && at > 0 && before[place - 1] != none)
                    score = std::max(score, before[place - 1] + following);
                if (score != none)
                    best[place] = score + found + (is_word_start(name, at) ? begins_word : 0) +
                                  (at == 0 ? begins_name : 0);
            }
            if (i > 0) reached = std::max(reached, before[place]);
        }
    }
    return best.empty() ? 0 : std::max(0, *std::max_element(best.begin(), best.end()));
}

}  // namespace

int fuzzy_score(const QString& typed, const QString& name) {
    int sum = 0;
    for (const QString& word : typed.split(' ', Qt::SkipEmptyParts)) {
        const int score = word_score(word, name);
        if (score == 0) return 0;
        sum += score;
    }
    return sum;
}

}  // namespace rematlas::explorer
