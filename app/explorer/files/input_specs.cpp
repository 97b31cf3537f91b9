#include "app/explorer/files/input_specs.h"

#include <QRegularExpression>
#include <nlohmann/json.hpp>

#include "app/explorer/words/wording.h"
#include "core/base/files.h"

namespace rematlas::explorer {
namespace {

const QStringList& dtypes() {
    static const QStringList names{"f32", "f64", "f16", "bf16", "c64", "c128",
                                   "i64", "i32", "i16", "i8",   "u8",  "bool"};
    return names;
}

std::optional<QString> spec_from(const nlohmann::json& entry) {
    if (entry.is_string()) {
        const Result<QString> spec = checked_input_spec(text(entry.get<std::string>()));
        return spec ? std::optional(*spec) : std::nullopt;
    }
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape")) return std::nullopt;
    if (!entry["dtype"].is_string() || !entry["shape"].is_array()) return std::nullopt;
    QStringList shape;
    for (const auto& size : entry["shape"]) {
        if (!size.is_number_integer()) return std::nullopt;
        shape << QString::number(size.get<std::int64_t>());
    }
    QString spec = text(entry["dtype"].get<std::string>()) + '[' + shape.join(',') + ']';
    if (entry.contains("below") && entry["below"].is_number_integer()) {
        spec += '<' + QString::number(entry["below"].get<std::int64_t>());
    }
    const Result<QString> checked = checked_input_spec(spec);
    return checked ? std::optional(*checked) : std::nullopt;
}

}  // namespace

Result<QString> checked_input_spec(const QString& written) {
    static const QRegularExpression fixed("^(int:-?[0-9]+|float:\\S+|bool:(true|false)|str:.*|none)$");
    if (fixed.match(written.trimmed()).hasMatch()) return written.trimmed();
    QString spec = written;
    spec.remove(QRegularExpression("\\s"));
    static const QRegularExpression form("^([a-z0-9]+)\\[((?:[0-9]+(?:,[0-9]+)*)?)\\](?:<([0-9]+))?$");
    const QRegularExpressionMatch match = form.match(spec);
    if (!match.hasMatch()) {
        return Error{.message =
                         ("'" + written.trimmed() +
                          "' is not an input; expected for example f32[8,3,224,224] or i64[4,256]<4096")
                             .toStdString()};
    }
    if (!dtypes().contains(match.captured(1))) {
        return Error{
            .message =
                ("'" + match.captured(1) + "' is no dtype; there are " + dtypes().join(", ")).toStdString()};
    }
    for (const QString& size : match.captured(2).split(',', Qt::SkipEmptyParts)) {
        bool fits = false;
        if (size.toInt(&fits) <= 0 || !fits) {
            return Error{.message =
                             ("'" + spec + "': every size must be a whole number above 0").toStdString()};
        }
    }
    return spec;
}

Result<QStringList> checked_input_specs(const QString& written) {
    QStringList specs;
    for (const QString& part : written.split(QRegularExpression("[\\n;]"), Qt::SkipEmptyParts)) {
        if (part.trimmed().isEmpty()) continue;
        Result<QString> spec = checked_input_spec(part);
        if (!spec) return spec.error();
        specs << *spec;
    }
    return specs;
}

std::optional<QStringList> specs_beside(const std::filesystem::path& model) {
    std::filesystem::path replaced = model;
    replaced.replace_extension(".json");
    for (const std::filesystem::path& path : {replaced, std::filesystem::path(model.string() + ".json")}) {
        const Result<std::string> content = read_file(path);
        if (!content) continue;
        const Result<nlohmann::json> json = parse_json(*content, path.string());
        if (!json || !json->is_object() || !json->contains("inputs") || !(*json)["inputs"].is_array())
            continue;
        QStringList specs;
        for (const auto& entry : (*json)["inputs"]) {
            const std::optional<QString> spec = spec_from(entry);
            if (!spec) return std::nullopt;
            specs << *spec;
        }
        if (!specs.isEmpty()) return specs;
    }
    return std::nullopt;
}

}  // namespace rematlas::explorer
