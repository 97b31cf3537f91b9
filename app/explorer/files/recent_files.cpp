#include "app/explorer/files/recent_files.h"

#include <QCryptographicHash>
#include <QFileInfo>

#include "app/explorer/jobs/remote_host.h"

namespace rematlas::explorer {
namespace {

/// Returns the name of a file in the list: its absolute path. A path on another machine stays as it is.
QString recent_name(const QString& path) {
    return is_remote(path) ? path : QFileInfo(path).absoluteFilePath();
}

QString python_key(const QString& host) {
    return host.isEmpty() ? QStringLiteral("python") : QStringLiteral("python_on/%1").arg(host);
}

QString typed_key(const QString& model) {
    const QByteArray path = recent_name(model).toUtf8();
    return "inputs/" + QString::fromLatin1(QCryptographicHash::hash(path, QCryptographicHash::Sha1).toHex());
}

}  // namespace

RecentFiles::RecentFiles(QSettings* settings) : settings_(settings) {
    if (settings_) paths_ = settings_->value("recent").toStringList();
}

void RecentFiles::add(const QString& path) {
    const QString name = recent_name(path);
    paths_.removeAll(name);
    paths_.prepend(name);
    while (paths_.size() > most) paths_.removeLast();
    store();
}

void RecentFiles::clear() {
    paths_.clear();
    store();
}

void RecentFiles::store() {
    if (settings_) settings_->setValue("recent", paths_);
    emit changed();
}

QString RecentFiles::typed_for(const QString& model) const {
    return settings_ ? settings_->value(typed_key(model)).toString() : QString();
}

void RecentFiles::remember_typed(const QString& model, const QString& text) {
    if (settings_) settings_->setValue(typed_key(model), text);
}

QString RecentFiles::python(const QString& host) const {
    return settings_ ? settings_->value(python_key(host)).toString() : QString();
}

void RecentFiles::remember_python(const QString& python, const QString& host) {
    if (settings_) settings_->setValue(python_key(host), python);
}

}  // namespace rematlas::explorer
