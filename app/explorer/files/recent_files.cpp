#include "app/explorer/files/recent_files.h"

#include <QCryptographicHash>
#include <QFileInfo>

namespace rematlas::explorer {
namespace {

QString typed_key(const QString& model) {
    const QByteArray path = QFileInfo(model).absoluteFilePath().toUtf8();
    return "inputs/" + QString::fromLatin1(QCryptographicHash::hash(path, QCryptographicHash::Sha1).toHex());
}

}  // namespace

RecentFiles::RecentFiles(QSettings* settings, QObject* parent) : QObject(parent), settings_(settings) {
    if (settings_) paths_ = settings_->value("recent").toStringList();
}

void RecentFiles::add(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    paths_.removeAll(absolute);
    paths_.prepend(absolute);
    while (paths_.size() > most) paths_.removeLast();
    store();
}

void RecentFiles::remove(const QString& path) {
    if (paths_.removeAll(path) > 0) store();
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

QString RecentFiles::python() const {
    return settings_ ? settings_->value("python").toString() : QString();
}

void RecentFiles::remember_python(const QString& python) {
    if (settings_) settings_->setValue("python", python);
}

}  // namespace rematlas::explorer
