// Defines what keys and the mouse do in a view that has the focus. The view and the list of shortcuts both
// use these entries, so that the two agree.
//
//     auto* keys = new ViewKeys(*this, tr("Schedule"));
//     keys->add({Qt::Key_Right}, tr("Go to the next run"), [this] { go(1); });
//     keys->tell(tr("Wheel"), tr("Zoom"));
#pragma once

#include <QKeySequence>
#include <QObject>
#include <QWidget>
#include <functional>
#include <vector>

namespace rematlas::explorer {

class ViewKeys : public QObject {
    Q_OBJECT
  public:
    struct Entry {
        QList<QKeySequence> keys;  ///< any of these keys; empty: the entry is for the mouse
        QString gesture;           ///< the gesture of the mouse
        QString what;
        std::function<void()> act;
    };

    /// The view owns this object.
    ViewKeys(QWidget& view, const QString& title);

    void add(const QList<QKeySequence>& keys, const QString& what, std::function<void()> act);
    /// Adds an entry only to the list of shortcuts: a gesture of the mouse.
    void tell(const QString& gesture, const QString& what);

    const QString& title() const { return title_; }
    const std::vector<Entry>& entries() const { return entries_; }

  protected:
    bool eventFilter(QObject* object, QEvent* event) override;

  private:
    QString title_;
    std::vector<Entry> entries_;
};

}  // namespace rematlas::explorer
