#include "app/explorer/window/function_capture_dialog.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardItemModel>
#include <QStyle>
#include <QVBoxLayout>
#include <utility>

#include "app/explorer/files/model_file.h"
#include "app/explorer/files/python_source.h"
#include "app/explorer/look/device_choice.h"
#include "app/explorer/look/theme.h"

namespace rematlas::explorer {
namespace {

const char* const masters = "masters";  ///< entry of the precisions: parameters of 16 bits with master
                                        ///< weights in f32

QString title_of(const PythonSource& source) {
    return source.file.isEmpty() ? source.module : QFileInfo(source.file).fileName();
}

QString name_of_host(const PythonSource& source) {
    return source.host ? source.host->name : QString();
}

void choose_by_data(QComboBox& list, const QString& data) {
    if (const int at = list.findData(data); at >= 0) list.setCurrentIndex(at);
}

void set_enabled(QComboBox& list, int row, bool enabled) {
    if (auto* model = qobject_cast<QStandardItemModel*>(list.model())) model->item(row)->setEnabled(enabled);
}

/// Returns the graph file that is proposed at first. It is next to the Python file, or in the current folder
/// if the Python file's folder is not writable.
QString graph_beside(const QString& file) {
    const QFileInfo info(file);
    if (QFileInfo(info.absolutePath()).isWritable()) return free_graph_file(file);
    return free_graph_file(QDir::current().filePath(info.fileName()));
}

}  // namespace

FunctionCaptureDialog::FunctionCaptureDialog(const PythonSource& source, CaptureController& capture,
                                             RecentFiles& recent, QWidget* parent)
    : CaptureDialog(title_of(source),
                    source.host ? tr("The function is called on %1, and one training step of the model that "
                                     "it returns is recorded there.")
                                      .arg(source.host->name)
                                : tr("The function is called, and one training step of the model that it "
                                     "returns is recorded, in a process of its own."),
                    capture, recent, parent),
      source_(source),
      function_(new QComboBox),
      optimizer_(new QComboBox),
      device_(new QComboBox),
      precision_(new QComboBox),
      about_(theme::quiet_label({}, true)),
      told_by_python_(theme::quiet_label({}, true)),
      keywords_(new QLineEdit),
      python_(new QLineEdit(recent.python(name_of_host(source)))),
      values_(new QCheckBox(tr("the arguments keep their values, which the program may read"))) {
    fill_choices();
    lay_out();
    connect_all();
    follow_device();
    ask_python();
}

void FunctionCaptureDialog::fill_choices() {
    optimizer_->addItem(tr("none: its states and updates are not counted"), "none");
    for (const QString& name : planned_optimizers()) optimizer_->addItem(name, name);
    device_->addItem(tr("where the function puts its model"), "");
    device_->addItem(tr("CPU"), "cpu");
    add_profiles(*device_);
    precision_->addItem(tr("as the program says"), "");
    precision_->addItem(tr("autocast to bf16"), "bf16");
    precision_->addItem(tr("autocast to f16"), "f16");
    precision_->addItem(tr("parameters of 16 bits, updated as weights in f32"), masters);
}

void FunctionCaptureDialog::lay_out() {
    function_->setObjectName("function");
    about_->setObjectName("function_about");
    keywords_->setObjectName("keywords");
    optimizer_->setObjectName("optimizer");
    device_->setObjectName("device");
    precision_->setObjectName("precision");
    values_->setObjectName("values");
    python_->setObjectName("python");
    told_by_python_->setObjectName("python_told");
    for (QComboBox* list : {function_, device_}) {
        list->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        list->setMinimumContentsLength(30);
    }
    python_->setPlaceholderText(source_.host ? tr("the one there that has rematlas") : python_in({}));
    QToolButton* browse = theme::boxed_button(tr("Choose"));
    browse->setVisible(!source_.host);
    auto* python_row = new QHBoxLayout;
    python_row->setSpacing(theme::gap);
    python_row->addWidget(python_);
    python_row->addWidget(browse);
    auto* function_column = new QVBoxLayout;
    function_column->addWidget(function_);
    function_column->addWidget(about_);
    form().addRow(tr("Function"), function_column);
    form().addRow(tr("Keywords"), keywords_);
    form().addRow(tr("Optimizer"), optimizer_);
    form().addRow(tr("Device"), device_);
    form().addRow(tr("Precision"), precision_);
    form().addRow(tr("Values"), values_);
    add_graph_row({});
    form().addRow(tr("Python"), python_row);
    form().addRow({}, told_by_python_);
    connect(browse, &QToolButton::clicked, this, [this] {
        const QString folder =
            QFileDialog::getExistingDirectory(this, tr("Folder of a Python environment"), python_->text());
        if (folder.isEmpty()) return;
        python_->setText(folder);
        ask_python();
    });
}

void FunctionCaptureDialog::connect_all() {
    connect(&reader_, &PythonReader::found, this, &FunctionCaptureDialog::show_survey);
    connect(&reader_, &PythonReader::failed, this, [this](const QString& message) {
        survey_.reset();
        is_asking_ = false;
        tell_of_python(message, true);
        show_functions();
        go_on();
    });
    connect(python_, &QLineEdit::editingFinished, this, [this] {
        if (python_->isModified()) ask_python();
    });
    connect(function_, qOverload<int>(&QComboBox::currentIndexChanged), this,
            &FunctionCaptureDialog::show_function);
    connect(device_, qOverload<int>(&QComboBox::currentIndexChanged), this,
            &FunctionCaptureDialog::follow_device);
}

void FunctionCaptureDialog::ask_python() {
    python_->setModified(false);
    survey_.reset();
    is_asking_ = true;
    const QString named = python_->text().trimmed();
    tell_of_python(source_.host ? tr("Asking Python on %1").arg(source_.host->name) : tr("Asking Python"),
                   false);
    reader_.read(source_.host ? named : python_in(named), source_);
}

void FunctionCaptureDialog::tell_of_python(const QString& words, bool is_wrong) {
    told_by_python_->setText(words);
    told_by_python_->setProperty("danger", is_wrong);
    told_by_python_->style()->unpolish(told_by_python_);
    told_by_python_->style()->polish(told_by_python_);
}

void FunctionCaptureDialog::show_survey(const PythonSurvey& survey) {
    survey_ = survey;
    is_asking_ = false;
    const QString lacks = what_is_lacking(survey);
    tell_of_python(lacks.isEmpty()
                       ? tr("%1, Python %2 with torch %3").arg(survey.python, survey.version, survey.torch)
                       : lacks,
                   !lacks.isEmpty());
    if (survey.has_gpu && device_->findData("cuda") < 0)
        device_->insertItem(2, cuda_title(survey.gpus), "cuda");
    if (source_.host && !survey.file.isEmpty())
        set_host(*source_.host, survey.graph, survey.graphs);
    else if (graph_file().isEmpty() && !survey.file.isEmpty())
        graph_field().setText(graph_beside(survey.file));
    show_functions();
    go_on();
}

void FunctionCaptureDialog::show_functions() {
    const QString before = function_->currentData().toString();
    {
        const QSignalBlocker quiet(function_);
        function_->clear();
        if (survey_)
            for (const PythonFunction& one : survey_->functions)
                function_->addItem(one.about.isEmpty() ? one.name : one.name + ": " + one.about, one.name);
        function_->setEnabled(function_->count() > 0);
        const QString choice = before.isEmpty() ? first_choice() : before;
        if (!choice.isEmpty()) function_->setCurrentIndex(function_->findData(choice));
    }
    show_function();
}

/// Returns the function that is chosen at first. It is the function that the user has named, else the
/// function that was captured last, else the first function that returns as many values as a capture takes.
QString FunctionCaptureDialog::first_choice() const {
    if (!survey_ || !source_.function.isEmpty()) return source_.function;
    for (const QString& path : recent().paths()) {
        const QString function = path.section(':', -1);
        if (path == reopened_by(source_.host, survey_->file, function) && function_->findData(function) >= 0)
            return function;
    }
    for (const PythonFunction& one : survey_->functions)
        if (one.likely) return one.name;
    return {};
}

void FunctionCaptureDialog::show_function() {
    const int at = function_->currentIndex();
    about_->setVisible(at < 0);
    if (at < 0) {
        about_->setText(survey_ ? why_no_function() : QString());
        keywords_->setPlaceholderText({});
        return fit_height();
    }
    const PythonFunction& chosen = survey_->functions[static_cast<std::size_t>(at)];
    keywords_->setPlaceholderText(chosen.keywords);
    if (std::exchange(shown_, chosen.name) != chosen.name) restore(recent().typed_for(word()));
}

/// Disables the options that only a step from shapes has, unless a device "from shapes" is chosen.
void FunctionCaptureDialog::follow_device() {
    const bool from_shapes = device_->currentData().toString() == "meta";
    const QStringList captured = captured_optimizers();
    for (int row = 1; row < optimizer_->count(); ++row)
        set_enabled(*optimizer_, row, from_shapes || captured.contains(optimizer_->itemData(row).toString()));
    if (!from_shapes && !captured.contains(optimizer_->currentData().toString()))
        optimizer_->setCurrentIndex(0);
    precision_->setEnabled(from_shapes);
    values_->setEnabled(from_shapes);
    if (from_shapes) return;
    precision_->setCurrentIndex(0);
    values_->setChecked(false);
}

QString FunctionCaptureDialog::why_no_function() const {
    if (function_->currentIndex() >= 0) return {};
    if (!survey_->problem.isEmpty()) return QString("%1: %2").arg(title_of(source_), survey_->problem);
    if (function_->count() > 0)
        return tr("%1 is no function of this file that can be called without arguments. Choose another one.")
            .arg(source_.function);
    return tr("No function of this file can be called without arguments. Write one that returns the model "
              "and its arguments:") +
           "\n\n" + help_with({ModelFile::Kind::python}, survey_->file.toStdString()).function_lines;
}

QString FunctionCaptureDialog::problem() const {
    if (!survey_) return told_by_python_->text();
    if (const QString why = why_no_function(); !why.isEmpty()) return why;
    if (const QString lacks = what_is_lacking(*survey_); !lacks.isEmpty()) return lacks;
    if (const Keywords typed = keywords_in(keywords_->text()); !typed.wrong.isEmpty())
        return tr("'%1' is no keyword of a function; expected for example batch=8").arg(typed.wrong);
    if (precision_->currentData() == masters && optimizer_->currentData() == "none")
        return tr("Weights in f32 are the optimizer's: choose one.");
    return {};
}

QString FunctionCaptureDialog::word() const {
    return reopened_by(source_.host, survey_->file, function_->currentData().toString());
}

FunctionRequest FunctionCaptureDialog::request() const {
    const QString precision = precision_->currentData().toString();
    return {.python = survey_->python,
            .folder = survey_->folder,
            .function = survey_->module + ':' + function_->currentData().toString(),
            .output = source_.host ? graph_file() : QFileInfo(graph_file()).absoluteFilePath(),
            .keywords = keywords_in(keywords_->text()).words,
            .device = device_->currentData().toString(),
            .device_profile = profile_chosen(*device_),
            .optimizer = optimizer_->currentData().toString(),
            .autocast = precision == masters ? QString() : precision,
            .master_weights = precision == masters ? "f32" : QString(),
            .values = values_->isChecked(),
            .host = source_.host,
            .replace = may_replace()};
}

void FunctionCaptureDialog::start(CaptureController& capture) {
    capture.start(request());
}

/// Returns the words that users see. A message of the package rematlas is shown without its prefix
/// "rematlas: ". Before any other message, the words name the interpreter.
QString FunctionCaptureDialog::words_for(const QString& message) const {
    const QString own = "rematlas: ";
    if (message.startsWith(own)) return message.mid(own.size());
    return tr("%1 could not capture the function: %2").arg(survey_ ? survey_->python : QString(), message);
}

void FunctionCaptureDialog::remember() {
    recent().remember_python(python_->text().trimmed(), name_of_host(source_));
    const QJsonObject typed{{"keywords", keywords_->text()},
                            {"optimizer", optimizer_->currentData().toString()},
                            {"device", device_->currentData().toString()},
                            {"profile", profile_chosen(*device_)},
                            {"precision", precision_->currentData().toString()},
                            {"values", values_->isChecked()}};
    recent().remember_typed(word(), QString::fromUtf8(QJsonDocument(typed).toJson(QJsonDocument::Compact)));
    recent().add(word());
}

void FunctionCaptureDialog::restore(const QString& typed) {
    const QJsonObject kept = QJsonDocument::fromJson(typed.toUtf8()).object();
    if (kept.isEmpty()) return;
    keywords_->setText(kept["keywords"].toString());
    choose_device(*device_, kept["device"].toString(), kept["profile"].toString());
    choose_by_data(*optimizer_, kept["optimizer"].toString());
    choose_by_data(*precision_, kept["precision"].toString());
    values_->setChecked(kept["values"].toBool());
}

}  // namespace rematlas::explorer
