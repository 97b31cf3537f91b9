// Offers device profiles in a list of devices: planning from shapes for a card that need not be installed.
#pragma once

#include <QComboBox>
#include <QString>
#include <QStringList>

namespace rematlas::explorer {

/// Returns "CUDA", with the names of the GPUs if they are known: "CUDA: NVIDIA H200 (8 of them)".
QString cuda_title(const QStringList& gpus);

/// Adds the profiles below a separator, each with the data "meta".
void add_profiles(QComboBox& devices);

/// Returns the name of the chosen profile; empty if another device is chosen.
QString profile_chosen(const QComboBox& devices);

/// Chooses a device by its data, and a profile ("meta") by its name too. Does nothing if it is not on the
/// list.
void choose_device(QComboBox& devices, const QString& device, const QString& profile);

}  // namespace rematlas::explorer
