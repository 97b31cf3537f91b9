// Reads fields of a JSON object. Errors name the place and the field.
//
//     Fields op(json, "ops[3]");
//     std::int64_t time = op.integer("time_ns");   // throws FieldError "ops[3]: time_ns is not an integer"
#pragma once

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/files.h"
#include "core/base/ids.h"
#include "core/base/one_line.h"
#include "core/base/result.h"

namespace rematlas {

/// Writes an id as its number, and so a list of ids as a list of numbers.
template <class Tag>
void to_json(nlohmann::json& out, Id<Tag> id) {
    out = id.value;
}

/// Thrown by Fields. The reader of a file must catch it and return a Result instead.
struct FieldError {
    std::string message;
};

class Fields {
  public:
    Fields(const nlohmann::json& object, std::string place) : object_(object), place_(std::move(place)) {
        if (!object.is_object()) fail("is not an object");
    }

    bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
    const nlohmann::json& at(const char* key) const {
        const auto found = object_.find(key);
        if (found == object_.end()) fail(std::string(key) + " is missing");
        return *found;
    }
    std::int64_t integer(const char* key) const { return whole(at(key), key); }
    std::int64_t integer_or(const char* key, std::int64_t otherwise) const {
        return has(key) ? integer(key) : otherwise;
    }
    /// Like the functions above, but also fails if the integer is below `least` or above `most`.
    std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const {
        const std::int64_t value = integer(key);
        if (value < least || value > most) fail(std::string(key) + " is out of range");
        return value;
    }
    std::int64_t integer_or(const char* key, std::int64_t otherwise, std::int64_t least,
                            std::int64_t most) const {
        return has(key) ? integer(key, least, most) : otherwise;
    }
    double number(const char* key) const {
        const nlohmann::json& value = at(key);
        if (!value.is_number()) fail(std::string(key) + " is not a number");
        return value.get<double>();
    }
    bool boolean_or(const char* key, bool otherwise) const {
        if (!has(key)) return otherwise;
        if (!at(key).is_boolean()) fail(std::string(key) + " is neither true nor false");
        return at(key).get<bool>();
    }
    const std::string& text(const char* key) const {
        const nlohmann::json& value = at(key);
        if (!value.is_string()) fail(std::string(key) + " is not a string");
        return value.get_ref<const std::string&>();
    }
    std::string text_or(const char* key, std::string otherwise) const {
        return has(key) ? text(key) : otherwise;
    }
    const nlohmann::json& array(const char* key) const {
        const nlohmann::json& value = at(key);
        if (!value.is_array()) fail(std::string(key) + " is not a list");
        return value;
    }
    /// Returns an integer that is written as 3 or 3.0. Fails for other values and for numbers that do not fit
    /// in 64 bits.
    std::int64_t whole(const nlohmann::json& value, std::string_view key) const {
        if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t(INT64_MAX))
            fail(std::string(key) + " is too large");
        if (value.is_number_integer()) return value.get<std::int64_t>();
        if (value.is_number_float()) {
            const double number = value.get<double>();
            if (number >= -0x1p53 && number <= 0x1p53 &&
                number == static_cast<double>(static_cast<std::int64_t>(number))) {
                return static_cast<std::int64_t>(number);
            }
        }
        fail(std::string(key) + " is not an integer");
    }
    /// Fails if the object has a key that is not in `known`, a list with spaces between the keys.
    void refuse_unknown(const char* known) const {
        std::istringstream words(known);
        const std::set<std::string> keys{std::istream_iterator<std::string>(words), {}};
        for (const auto& [key, value] : object_.items())
            if (!keys.contains(key)) fail("key '" + key.substr(0, 60) + "' is not known");
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw FieldError{on_one_line(place_.empty() ? what : place_ + ": " + what)};
    }

  private:
    const nlohmann::json& object_;
    std::string place_;
};

/// Parses JSON, and returns what `read` makes of the fields of the object in it. `read` may throw FieldError.
/// Errors start with `name`.
template <class Read>
auto read_object(std::string_view text, std::string_view name, Read&& read)
    -> Result<decltype(read(std::declval<const Fields&>()))> {
    const Result<nlohmann::json> parsed = parse_json(text, name);
    if (!parsed) return parsed.error();
    try {
        return read(Fields(*parsed, ""));
    } catch (const FieldError& failure) {
        return Error{std::string(name) + ": " + failure.message};
    }
}

/// Checks the format and the version at the head of a file. Returns the version, which is from 1 to `newest`.
inline int expect_format(const Fields& file, std::string_view format, int newest) {
    if (!file.has("format")) file.fail("format is missing: this is no " + std::string(format) + " file");
    if (file.text("format") != format)
        file.fail("format is '" + file.text("format").substr(0, 60) + "', expected '" + std::string(format) +
                  "'");
    const std::int64_t version = file.integer("version");
    if (version < 1 || version > newest) {
        file.fail("version " + std::to_string(version) + " is not supported, expected " +
                  (newest > 1 ? "at most " : "") + std::to_string(newest));
    }
    return static_cast<int>(version);
}

}  // namespace rematlas
