#include "app/explorer/look/device_choice.h"

#include <QCoreApplication>

#include "app/explorer/words/wording.h"
#include "core/costs/builtin_profiles.h"
#include "core/costs/device_profile.h"

namespace rematlas::explorer {
namespace {

constexpr int profile_role = Qt::UserRole + 1;

}  // namespace

QString cuda_title(const QStringList& gpus) {
    const QString cuda = QCoreApplication::translate("DeviceChoice", "CUDA");
    if (gpus.isEmpty()) return cuda;
    QStringList kinds = gpus;
    kinds.removeDuplicates();
    if (kinds.size() == 1 && gpus.size() > 1)
        return QCoreApplication::translate("DeviceChoice", "%1: %2 (%3 of them)")
            .arg(cuda, kinds.front())
            .arg(gpus.size());
    return QStringLiteral("%1: %2").arg(cuda, gpus.join(", "));
}

void add_profiles(QComboBox& devices) {
    devices.insertSeparator(devices.count());
    for (const std::string& name : names_of(builtin_profiles())) {
        const Result<DeviceProfile> profile = device_profile(name);
        if (!profile) continue;
        devices.addItem(QCoreApplication::translate("DeviceChoice", "from shapes alone, as on %1")
                            .arg(text(profile->name)),
                        "meta");
        devices.setItemData(devices.count() - 1, text(name), profile_role);
    }
}

QString profile_chosen(const QComboBox& devices) {
    return devices.currentData(profile_role).toString();
}

void choose_device(QComboBox& devices, const QString& device, const QString& profile) {
    for (int at = 0; at < devices.count(); ++at) {
        const QVariant of = devices.itemData(at);
        if (!of.isValid() || of.toString() != device) continue;
        if (devices.itemData(at, profile_role).toString() != profile) continue;
        return devices.setCurrentIndex(at);
    }
}

}  // namespace rematlas::explorer
