// Adds device profiles to a list of devices. With a profile, a step is planned from shapes for a card that
// need not be installed.
#pragma once

#include <QComboBox>
#include <QString>
#include <QStringList>

namespace rematlas::explorer {

/// Returns "CUDA", with the names of the GPUs if they are known: "CUDA: NVIDIA H200 (8 of them)".
QString cuda_title(const QStringList& gpus);

/// Adds the profiles below a separator. Each entry has the data "meta".
void add_profiles(QComboBox& devices);

/// Returns the name of the chosen profile; empty if the choice is no profile.
QString profile_chosen(const QComboBox& devices);

/// Chooses the device with this data. For "meta" the name of the profile must match, too. Does nothing if
/// there is no such entry.
void choose_device(QComboBox& devices, const QString& device, const QString& profile);

}  // namespace rematlas::explorer
