// Device profiles among the devices that a list offers: from shapes alone, as on a card that need not be
// there.
#pragma once

#include <QComboBox>
#include <QString>
#include <QStringList>

namespace rematlas::explorer {

/// "CUDA", with the models of the GPUs where they are known: "CUDA: NVIDIA H200 (8 of them)".
QString cuda_title(const QStringList& gpus);

/// Below a separator, each with the data "meta".
void add_profiles(QComboBox& devices);

/// The name of the profile that is chosen; empty: another device is.
QString profile_chosen(const QComboBox& devices);

/// Chooses a device by its data, and of "meta" by its profile. Does nothing where it is not on the list.
void choose_device(QComboBox& devices, const QString& device, const QString& profile);

}  // namespace rematlas::explorer
