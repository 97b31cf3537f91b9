#include "app/explorer/jobs/function_capture.h"

#include <QRegularExpression>

namespace rematlas::explorer {

QStringList capture_words(const FunctionRequest& request) {
    QStringList words{"-m", "rematlas", "capture", request.function};
    for (const QString& keyword : request.keywords) words << "--set" << keyword;
    const auto add = [&](const char* option, const QString& value) {
        if (!value.isEmpty()) words << option << value;
    };
    add("--device", request.device);
    add("--device-profile", request.device_profile);
    if (request.optimizer != "none") add("--optimizer", request.optimizer);
    add("--master-weights", request.master_weights);
    add("--autocast", request.autocast);
    if (request.values) words << "--values";
    return words << "--progress-json"
                 << "-o" << request.output;
}

QStringList planned_optimizers() {
    return {"sgd",       "adam",     "adamw",     "adagrad", "rmsprop",   "nadam", "radam",
            "adamax",    "adadelta", "asgd",      "rprop",   "adafactor", "muon",  "adam8bit",
            "adamw8bit", "adam4bit", "adamw4bit", "adamfp8", "adamwfp8"};
}

Keywords keywords_in(const QString& typed) {
    static const QRegularExpression between("[\\s,]+"), keyword("^[A-Za-z_][A-Za-z0-9_]*=.+$");
    Keywords keywords;
    for (const QString& word : typed.split(between, Qt::SkipEmptyParts)) {
        if (!keyword.match(word).hasMatch() && keywords.wrong.isEmpty()) keywords.wrong = word;
        keywords.words << word;
    }
    return keywords;
}

}  // namespace rematlas::explorer
