// Defines what keys and mouse gestures do in a view. The list of shortcuts is made from the same entries, so
// that it always agrees with the view.
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
        QList<QKeySequence> keys;  ///< each of these keys calls `act`; empty if the entry is for the mouse
        QString gesture;           ///< the gesture of the mouse
        QString what;
        std::function<void()> act;
    };

    /// The view owns this object.
    ViewKeys(QWidget& view, const QString& title);

    void add(const QList<QKeySequence>& keys, const QString& what, std::function<void()> act);
    /// Adds an entry for a gesture of the mouse. The entry is only shown in the list of shortcuts.
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
