// The files that were opened last, newest first. The list is kept between runs of the program.
#pragma once

#include <QObject>
#include <QSettings>
#include <QStringList>

namespace rematlas::explorer {

class RecentFiles : public QObject {
    Q_OBJECT
  public:
    static constexpr int most = 10;
    /// `settings` must outlive this object. If it is null, nothing is kept.
    explicit RecentFiles(QSettings* settings);

    const QStringList& paths() const { return paths_; }
    void add(const QString& path);
    void clear();

    /// Returns the text that was last typed to capture this model, which is a file or a Python function;
    /// empty if there is none.
    QString typed_for(const QString& model) const;
    void remember_typed(const QString& model, const QString& text);

    /// Returns the Python interpreter or environment that the user has chosen for captures on the machine
    /// `host` ("user@host"; empty for this machine). Returns an empty text if none was chosen.
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
