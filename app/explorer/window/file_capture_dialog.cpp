#include "app/explorer/window/file_capture_dialog.h"

#include <QFileInfo>
#include <utility>

#include "app/explorer/files/input_specs.h"
#include "app/explorer/files/model_file.h"
#include "app/explorer/look/device_choice.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {

FileCaptureDialog::FileCaptureDialog(const QString& model, CaptureController& capture, RecentFiles& recent,
                                     QWidget* parent)
    : FileCaptureDialog(model, model, std::nullopt, capture, recent, parent) {
    graph_field().setText(free_graph_file(model));
}

FileCaptureDialog::FileCaptureDialog(const RemoteModel& model, CaptureController& capture,
                                     RecentFiles& recent, QWidget* parent)
    : FileCaptureDialog(url_of(model.file), model.stand_in(), model, capture, recent, parent) {
    set_host(model.file.host, model.survey.graph, model.survey.graphs);
}

FileCaptureDialog::FileCaptureDialog(const QString& model, const QString& looked_at,
                                     std::optional<RemoteModel> there, CaptureController& capture,
                                     RecentFiles& recent, QWidget* parent)
    : CaptureDialog(QFileInfo(looked_at).fileName(),
                    there ? tr("One training step of the model is run once on %1 with random inputs of these "
                               "shapes.")
                                .arg(there->file.host.name)
                          : tr("One training step of the model is run once with random inputs of these "
                               "shapes, in a process of its own."),
                    capture, recent, parent),
      model_(model),
      looked_at_(looked_at),
      there_(std::move(there)),
      has_inputs_of_its_own_(look_at_model(looked_at.toStdString()).kind ==
                             ModelFile::Kind::exported_program),
      inputs_(new QPlainTextEdit),
      loss_(new QComboBox),
      optimizer_(new QComboBox),
      device_(new QComboBox) {
    inputs_->setObjectName("inputs");
    inputs_->setPlaceholderText(has_inputs_of_its_own_ ? tr("those that it was exported with")
                                                       : "f32[8,3,224,224]\ni64[8,256]<4096");
    inputs_->setPlainText(known_inputs());
    inputs_->setFixedHeight(84);
    inputs_->setTabChangesFocus(true);
    fill_choices();
    form().addRow(tr("Inputs"), inputs_);
    form().addRow({}, theme::quiet_label(tr("One a line: dtype[shape]; <4096 bounds integers; int:3, "
                                            "bool:true or none for what is no tensor")));
    form().addRow(tr("Loss"), loss_);
    form().addRow(tr("Optimizer"), optimizer_);
    form().addRow(tr("Device"), device_);
    add_graph_row({});
}

void FileCaptureDialog::fill_choices() {
    loss_->addItem(tr("outside the model: gradients of the outputs come in"), "output");
    loss_->addItem(tr("sum of the outputs"), "sum");
    loss_->addItem(tr("mean of the outputs"), "mean");
    loss_->addItem(tr("cross entropy"), "cross_entropy");
    optimizer_->setObjectName("optimizer");
    optimizer_->addItem(tr("none: its states and updates are not counted"), "none");
    for (const QString& name : captured_optimizers()) optimizer_->addItem(name, name);
    device_->addItem(tr("CPU"), "cpu");
    if (!there_ || there_->survey.has_gpu)
        device_->addItem(cuda_title(there_ ? there_->survey.gpus : QStringList()), "cuda");
    add_profiles(*device_);
}

QString FileCaptureDialog::known_inputs() {
    // The inputs that the user typed last are used first, then the inputs in the file next to the model.
    const QString remembered = recent().typed_for(model_);
    if (!remembered.isEmpty()) return remembered;
    const auto beside = specs_beside(looked_at_.toStdString());
    return beside ? beside->join('\n') : QString();
}

QString FileCaptureDialog::problem() const {
    const Result<QStringList> specs = checked_input_specs(inputs_->toPlainText());
    if (!specs) return text(specs.error().message);
    if (specs->isEmpty() && !has_inputs_of_its_own_)
        return tr("Give the shape of at least one input, for example f32[8,3,224,224].");
    return {};
}

void FileCaptureDialog::start(CaptureController& capture) {
    capture.start(CaptureRequest{.model = there_ ? there_->file.path : model_,
                                 .inputs = *checked_input_specs(inputs_->toPlainText()),
                                 .output = graph_file(),
                                 .device = device_->currentData().toString(),
                                 .device_profile = profile_chosen(*device_),
                                 .loss = loss_->currentData().toString(),
                                 .optimizer = optimizer_->currentData().toString(),
                                 .host = there_ ? std::optional(there_->file.host) : std::nullopt,
                                 .python = there_ ? there_->survey.python : QString(),
                                 .replace = may_replace()});
}

QString FileCaptureDialog::words_for(const QString& message) const {
    if (!message.contains("not a TorchScript file")) return message;
    const std::string looked_at = looked_at_.toStdString();
    const ModelHelp help = help_with(look_at_model(looked_at), looked_at);
    return QStringList{help.what, help.script_lines, help.function_lines, help.command}.join("\n\n");
}

void FileCaptureDialog::remember() {
    recent().add(model_);
    if (const Result<QStringList> specs = checked_input_specs(inputs_->toPlainText()))
        recent().remember_typed(model_, specs->join('\n'));
}

}  // namespace rematlas::explorer
