#include "core/solving/option_reader.h"

#include <algorithm>

namespace rematlas {

OptionReader::OptionReader(std::string_view solver, const nlohmann::json* options)
    : solver_(solver), options_(options) {
    if (options_ && options_->is_null()) options_ = nullptr;
    if (options_ && !options_->is_object()) {
        error_ = solver_ + ": options must be an object";
        options_ = nullptr;
    }
}

const nlohmann::json* OptionReader::find(std::string_view key, nlohmann::json before) {
    defaults_.emplace(key, std::move(before));
    if (!options_) return nullptr;
    const auto at = options_->find(key);
    return at == options_->end() ? nullptr : &*at;
}

void OptionReader::fail(std::string_view key, const std::string& what) {
    reject("option '" + std::string(key) + "' " + what);
}

void OptionReader::reject(const std::string& what) {
    if (error_.empty()) error_ = solver_ + ": " + what;
}

void OptionReader::integer(std::string_view key, int& value, int least, int most) {
    const nlohmann::json* json = find(key, value);
    if (!json) return;
    const std::string range = std::to_string(least) + " to " + std::to_string(most);
    if (!json->is_number_integer()) return fail(key, "must be an integer");
    const bool huge =
        json->is_number_unsigned() && json->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    if (huge || json->get<std::int64_t>() < least || json->get<std::int64_t>() > most)
        return fail(key, "must be from " + range);
    value = static_cast<int>(json->get<std::int64_t>());
}

void OptionReader::unsigned_integer(std::string_view key, std::uint64_t& value) {
    const nlohmann::json* json = find(key, value);
    if (!json) return;
    if (!json->is_number_integer() || (!json->is_number_unsigned() && json->get<std::int64_t>() < 0)) {
        return fail(key, "must be an integer that is not negative");
    }
    value = json->get<std::uint64_t>();
}

void OptionReader::number(std::string_view key, double& value, double least, double most) {
    const nlohmann::json* json = find(key, value);
    if (!json) return;
    if (!json->is_number()) return fail(key, "must be a number");
    const double number = json->get<double>();
    if (!(number >= least && number <= most)) {
        return fail(key,
                    "must be from " + nlohmann::json(least).dump() + " to " + nlohmann::json(most).dump());
    }
    value = number;
}

void OptionReader::flag(std::string_view key, bool& value) {
    const nlohmann::json* json = find(key, value);
    if (!json) return;
    if (!json->is_boolean()) return fail(key, "must be true or false");
    value = json->get<bool>();
}

int OptionReader::word(std::string_view key, std::string_view before,
                       const std::vector<std::string_view>& words) {
    const nlohmann::json* json = find(key, before);
    if (!json) return -1;
    if (json->is_string()) {
        const auto at = std::find(words.begin(), words.end(), json->get_ref<const std::string&>());
        if (at != words.end()) return static_cast<int>(at - words.begin());
    }
    std::string list;
    for (std::string_view word : words) list += (list.empty() ? "" : ", ") + std::string(word);
    fail(key, "must be one of " + list);
    return -1;
}

Result<void> OptionReader::finish() const {
    if (!error_.empty()) return Error{error_};
    if (!options_) return {};
    for (const auto& [key, value] : options_->items()) {
        if (!defaults_.contains(key)) return Error{solver_ + ": unknown option '" + key + "'"};
    }
    return {};
}

}  // namespace rematlas
