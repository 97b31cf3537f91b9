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

    /// What was typed last to capture a model, a file or a function of Python; empty when there is nothing.
    QString typed_for(const QString& model) const;
    void remember_typed(const QString& model, const QString& text);

    /// The interpreter, or the environment, that a person has chosen for captures on this machine, or on the
    /// one that is named "user@host"; empty: none.
    QString python(const QString& host = {}) const;
    void remember_python(const QString& python, const QString& host = {});

  signals:
    void changed();

  private:
    void store();
    QSettings* settings_;
    QStringList paths_;
};

}  // namespace rematlas::explorer
