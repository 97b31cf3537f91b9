#include "app/explorer/look/view_keys.h"

#include <QKeyEvent>

namespace rematlas::explorer {

ViewKeys::ViewKeys(QWidget& view, const QString& title) : QObject(&view), title_(title) {
    view.installEventFilter(this);
}

void ViewKeys::add(const QList<QKeySequence>& keys, const QString& what, std::function<void()> act) {
    entries_.push_back({.keys = keys, .gesture = {}, .what = what, .act = std::move(act)});
}

void ViewKeys::tell(const QString& gesture, const QString& what) {
    entries_.push_back({.keys = {}, .gesture = gesture, .what = what, .act = {}});
}

/// Handles a key of the view. While the view has the focus, its keys take precedence over the window's
/// shortcuts.
bool ViewKeys::eventFilter(QObject*, QEvent* event) {
    const bool asks_first = event->type() == QEvent::ShortcutOverride;
    if (event->type() != QEvent::KeyPress && !asks_first) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    // Enter and + of the keypad count as the keys of the main keyboard. On some keyboards + needs Shift, so
    // Shift is ignored for +.
    int modifiers = key->modifiers() & ~Qt::KeypadModifier;
    if (key->key() == Qt::Key_Plus) modifiers &= ~Qt::ShiftModifier;
    const int code = key->key() == Qt::Key_Enter ? int(Qt::Key_Return) : key->key();
    for (const Entry& entry : entries_) {
        if (!entry.keys.contains(QKeySequence(code | modifiers))) continue;
        if (asks_first)
            event->accept();
        else
            entry.act();
        return true;
    }
    return false;
}

}  // namespace rematlas::explorer
