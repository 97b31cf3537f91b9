// What keys and the mouse do in a view that has the focus. The view acts by it and the list of shortcuts shows it, so
// that neither tells what the other does not do.
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
        QList<QKeySequence> keys;  ///< any of them; none: by the mouse
        QString gesture;           ///< of the mouse
        QString what;
        std::function<void()> act;
    };

    /// Belongs to the view.
    ViewKeys(QWidget& view, const QString& title);

    void add(const QList<QKeySequence>& keys, const QString& what, std::function<void()> act);
    /// For the list alone: something that the mouse does.
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
