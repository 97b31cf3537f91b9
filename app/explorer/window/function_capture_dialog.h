// The dialog that captures a Python function that returns a model and its arguments.
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <optional>

#include "app/explorer/jobs/python_survey.h"
#include "app/explorer/window/capture_dialog.h"

namespace rematlas::explorer {

class FunctionCaptureDialog : public CaptureDialog {
    Q_OBJECT
  public:
    FunctionCaptureDialog(const PythonSource& source, CaptureController& capture, RecentFiles& recent,
                          QWidget* parent = nullptr);

  protected:
    QString problem() const override;
    bool is_asking() const override { return is_asking_; }
    void start(CaptureController& capture) override;
    void remember() override;
    QString words_for(const QString& message) const override;

  private:
    void lay_out();
    void fill_choices();
    void connect_all();
    void ask_python();
    void tell_of_python(const QString& words, bool is_wrong);
    void show_survey(const PythonSurvey& survey);
    void show_functions();
    void show_function();
    void follow_device();
    QString first_choice() const;
    QString why_no_function() const;
    QString word() const;  ///< the word by which the function can be opened again
    FunctionRequest request() const;
    void restore(const QString& typed);

    PythonSource source_;
    PythonReader reader_;
    bool is_asking_ = false;  ///< whether the interpreter has not answered yet
    std::optional<PythonSurvey> survey_;
    QString shown_;  ///< the function to which the keywords and choices in the form belong
    QComboBox *function_, *optimizer_, *device_, *precision_;
    QLabel *about_, *told_by_python_;
    QLineEdit *keywords_, *python_;
    QCheckBox* values_;
};

}  // namespace rematlas::explorer
