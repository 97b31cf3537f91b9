#include "app/explorer/window/capture_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/explorer/files/input_specs.h"
#include "app/explorer/files/model_file.h"
#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"
#include "core/costs/device_profile.h"

namespace rematlas::explorer {
namespace {

constexpr int kProfileRole = Qt::UserRole + 1;

}  // namespace

CaptureDialog::CaptureDialog(const QString& model, RecentFiles& recent, QWidget* parent)
    : QDialog(parent),
      model_(model),
      has_inputs_of_its_own_(look_at_model(model.toStdString()).kind == ModelFile::Kind::exported_program),
      recent_(recent),
      inputs_(new QPlainTextEdit),
      loss_(new QComboBox),
      optimizer_(new QComboBox),
      device_(new QComboBox),
      output_(new QLineEdit),
      error_(theme::danger_label()) {
    setWindowTitle(tr("Capture a model"));
    const QFileInfo file(model);
    inputs_->setObjectName("inputs");
    inputs_->setPlaceholderText(has_inputs_of_its_own_ ? tr("those that it was exported with")
                                                       : "f32[8,3,224,224]\ni64[8,256]<4096");
    inputs_->setPlainText(known_inputs());
    inputs_->setFixedHeight(84);
    inputs_->setTabChangesFocus(true);
    fill_choices();
    output_->setText(free_graph_file(model));
    output_->setObjectName("graph_file");
    auto* browse = new QToolButton;
    browse->setText(tr("Choose"));
    browse->setProperty("boxed", true);
    auto* output_row = new QHBoxLayout;
    output_row->addWidget(output_);
    output_row->addWidget(browse);
    error_->setObjectName("capture_error");
    error_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    error_->hide();

    auto* form = new QFormLayout;
    form->setVerticalSpacing(10);
    form->setHorizontalSpacing(14);
    form->addRow(tr("Inputs"), inputs_);
    form->addRow({}, theme::quiet_label(tr("One a line: dtype[shape]; <4096 bounds integers; int:3, "
                                           "bool:true or none for what is no tensor")));
    form->addRow(tr("Loss"), loss_);
    form->addRow(tr("Optimizer"), optimizer_);
    form->addRow(tr("Device"), device_);
    form->addRow(tr("Graph file"), output_row);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    auto* start = buttons->addButton(tr("Capture"), QDialogButtonBox::AcceptRole);
    start->setProperty("primary", true);
    start->setDefault(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(20, 18, 20, 18);
    layout->setSpacing(12);
    layout->addWidget(theme::heading(file.fileName()));
    layout->addWidget(theme::quiet_label(
        tr("One training step of the model is run once with random inputs of these shapes, "
           "in a process of its own."),
        true));
    layout->addLayout(form);
    layout->addWidget(error_);
    layout->addWidget(buttons);
    setMinimumWidth(560);

    connect(buttons, &QDialogButtonBox::accepted, this, &CaptureDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &CaptureDialog::reject);
    connect(browse, &QToolButton::clicked, this, [this] {
        const QString path = QFileDialog::getSaveFileName(this, tr("Graph file"), output_->text(),
                                                          tr("Training graphs (*.graph.json)"));
        if (path.isEmpty()) return;
        output_->setText(path);
        overwrite_ = path;  // the file dialog has asked
    });
}

void CaptureDialog::fill_choices() {
    loss_->addItem(tr("outside the model: gradients of the outputs come in"), "output");
    loss_->addItem(tr("sum of the outputs"), "sum");
    loss_->addItem(tr("mean of the outputs"), "mean");
    loss_->addItem(tr("cross entropy"), "cross_entropy");
    optimizer_->setObjectName("optimizer");
    optimizer_->addItem(tr("none: its states and updates are not counted"), "none");
    for (const QString& name : captured_optimizers()) optimizer_->addItem(name, name);
    device_->addItem(tr("CPU"), "cpu");
    device_->addItem(tr("CUDA"), "cuda");
    device_->insertSeparator(device_->count());
    for (const std::string& name : device_profile_names()) {
        const Result<DeviceProfile> profile = device_profile(name);
        if (!profile) continue;
        device_->addItem(tr("from shapes alone, as on %1").arg(text(profile->name)), "meta");
        device_->setItemData(device_->count() - 1, text(name), kProfileRole);
    }
}

QString CaptureDialog::known_inputs() const {
    // What the user typed last counts more than what came with the model.
    const QString remembered = recent_.inputs_of(model_);
    if (!remembered.isEmpty()) return remembered;
    const auto beside = specs_beside(model_.toStdString());
    return beside ? beside->join('\n') : QString();
}

void CaptureDialog::accept() {
    const Result<QStringList> specs = checked_input_specs(inputs_->toPlainText());
    QString problem;
    if (!specs) {
        problem = text(specs.error().message);
    } else if (specs->isEmpty() && !has_inputs_of_its_own_) {
        problem = tr("Give the shape of at least one input, for example f32[8,3,224,224].");
    } else if (const QString path = output_->text().trimmed(); path.isEmpty()) {
        problem = tr("Say where the graph file goes.");
    } else if (path != overwrite_ && QFileInfo::exists(path)) {
        problem = tr("%1 is there already, and schedules and sweeps may belong to it. Press Capture again to "
                     "replace it.")
                      .arg(QFileInfo(path).fileName());
        overwrite_ = path;
    }
    error_->setText(problem);
    error_->setVisible(!problem.isEmpty());
    if (!problem.isEmpty()) return;
    hide();
    emit capture_requested({.model = model_,
                            .inputs = *specs,
                            .output = output_->text().trimmed(),
                            .device = device_->currentData().toString(),
                            .device_profile = device_->currentData(kProfileRole).toString(),
                            .loss = loss_->currentData().toString(),
                            .optimizer = optimizer_->currentData().toString()});
}

void CaptureDialog::show_failure(const QString& message) {
    QString words = message;
    if (message.contains("not a TorchScript file")) {
        const ModelHelp help = help_with(look_at_model(model_.toStdString()), model_.toStdString());
        words = QStringList{help.what, help.script_lines, help.function_lines, help.command}.join("\n\n");
    }
    error_->setText(words);
    error_->show();
    open();
}

void CaptureDialog::remember() {
    if (const Result<QStringList> specs = checked_input_specs(inputs_->toPlainText()))
        recent_.remember_inputs(model_, specs->join('\n'));
}

}  // namespace rematlas::explorer
