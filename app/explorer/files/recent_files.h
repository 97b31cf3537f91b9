// The files opened last, newest first, kept between runs.
#pragma once

#include <QObject>
#include <QSettings>
#include <QStringList>

namespace rematlas::explorer {

class RecentFiles : public QObject {
    Q_OBJECT
  public:
    static constexpr int most = 10;
    /// `settings` must outlive this; null: nothing is kept.
    explicit RecentFiles(QSettings* settings, QObject* parent = nullptr);

    const QStringList& paths() const { return paths_; }
    void add(const QString& path);
    void remove(const QString& path);
    void clear();

    /// The input shapes used last for a model, one a line; empty when there are none.
    QString inputs_of(const QString& model) const;
    void remember_inputs(const QString& model, const QString& inputs);

  signals:
    void changed();

  private:
    void store();
    QSettings* settings_;
    QStringList paths_;
};

}  // namespace rematlas::explorer
