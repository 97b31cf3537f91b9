#include "core/dtr/trace_log.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/base/numbers.h"

namespace rematlas {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargestSum = std::int64_t(1) << 60;

/// Reads the lines of the file, one object at a time. Empty lines are skipped.
class Lines {
  public:
    Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

    bool next() {
        while (!rest_.empty()) {
            const std::size_t end = rest_.find('\n');
            std::string_view line = rest_.substr(0, end);
            rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
            ++number_;
            if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
            Result<json> parsed = parse_json(line, place());
            if (!parsed) throw FieldError{parsed.error().message};
            object_ = parsed.take();
            return true;
        }
        return false;
    }

    Fields fields() const { return Fields(object_, place()); }
    [[noreturn]] void fail(const std::string& what) const { throw FieldError{place() + ": " + what}; }

  private:
    std::string place() const { return name_ + ": line " + std::to_string(number_); }

    std::string_view rest_;
    std::string name_;
    std::size_t number_ = 0;
    json object_;
};

std::string quoted(const std::string& name) {
    return "'" + name.substr(0, 60) + "'";
}

std::int64_t number(const Fields& fields, const char* key) {
    const json& value = fields.at(key);
    if (!value.is_string()) return fields.integer(key);
    const auto parsed = number_from<std::int64_t>(value.get_ref<const std::string&>());
    if (!parsed) fields.fail(std::string(key) + " is not an integer");
    return *parsed;
}

std::vector<std::string> names(const Fields& fields, const char* key) {
    std::vector<std::string> all;
    for (const json& name : fields.array(key)) {
        if (!name.is_string()) fields.fail(std::string(key) + " is not a list of names");
        all.push_back(name.get<std::string>());
    }
    return all;
}

class LogReader {
  public:
    LogReader(std::string_view text, const std::string& name) : lines_(text, name) {}

    Trace read() {
        while (lines_.next()) {
            const Fields line = lines_.fields();
            const std::string& instruction = line.text("INSTRUCTION");
            if (instruction == "ANNOTATE") {
                annotate(line);
            } else if (instruction == "CONSTANT") {
                constant(line);
            } else if (instruction == "CALL") {
                call(line);
            } else if (instruction == "MUTATE") {
                mutate(line);
            } else if (instruction == "COPY") {
                copy(line);
            } else if (instruction == "COPY_FROM" || instruction == "COPYFROM") {
                copy_from(line);
            } else if (instruction == "RELEASE") {
                release(line);
            } else if (instruction == "MEMORY" || instruction == "ALIAS") {
                line.fail(instruction + " does not follow what it describes");
            } else {
                line.fail("instruction " + quoted(instruction) + " is not known");
            }
        }
        for (const int tensor : named_) {
            if (tensor >= 0) trace_.pin(tensor);
        }
        return std::move(trace_);
    }

  private:
    // Names, in the order in which they were defined. Each name has its tensor, or -1 after its release.

    void define(const std::string& name, int tensor) {
        if (!slots_.try_emplace(name, static_cast<int>(named_.size())).second)
            lines_.fail(quoted(name) + " is defined twice");
        named_.push_back(tensor);
    }

    int& slot(const std::string& name) {
        const auto at = slots_.find(name);
        if (at == slots_.end()) lines_.fail(quoted(name) + " is not defined");
        if (named_[at->second] < 0) lines_.fail(quoted(name) + " was released before");
        return named_[at->second];
    }

    std::vector<int> tensors(const std::vector<std::string>& of) {
        std::vector<int> all;
        for (const std::string& name : of) all.push_back(slot(name));
        return all;
    }

    // Sizes and times. The sum of all sizes and the sum of all times must each be at most 2^60.

    std::int64_t checked(const Fields& line, const char* key, std::int64_t value, std::int64_t& sum) {
        if (value < 0) line.fail(std::string(key) + " is negative");
        if (value > kLargestSum - sum) line.fail(std::string(key) + ": the sum passes 2^60");
        sum += value;
        return value;
    }

    /// Returns the next line, which must be this instruction for this name.
    Fields expect(const char* instruction, const std::string& name) {
        const std::string wanted = std::string(instruction) + " of " + quoted(name);
        if (!lines_.next()) lines_.fail("the file ends where " + wanted + " is due");
        const Fields line = lines_.fields();
        if (line.text("INSTRUCTION") != instruction || line.text("NAME") != name)
            line.fail(wanted + " is due here");
        return line;
    }

    // Instructions.

    void annotate(const Fields& line) {
        if (line.text("ANNOTATION") != "START") return;
        if (started_) line.fail("START comes twice");
        started_ = true;
        trace_ = Trace();
        slots_.clear();
        named_.clear();
        time_ = bytes_ = 0;
    }

    void constant(const Fields& line) {
        const std::string name = line.text("NAME");
        const Fields memory = expect("MEMORY", name);
        define(name, trace_.constant(checked(memory, "MEMORY", number(memory, "MEMORY"), bytes_)));
    }

    void call(const Fields& line) {
        Trace::Op op{.time = checked(line, "TIME", number(line, "TIME"), time_),
                     .inputs = tensors(names(line, "ARGS"))};
        const std::vector<std::string> results = names(line, "RESULT");
        if (results.empty()) line.fail("RESULT is empty");
        std::vector<Trace::Output> outputs;
        for (const std::string& result : results) {
            outputs.push_back(output(result, static_cast<int>(op.inputs.size())));
        }
        const std::vector<int> made = trace_.call(std::move(op), outputs);
        for (std::size_t i = 0; i < results.size(); ++i) define(results[i], made[i]);
    }

    Trace::Output output(const std::string& name, int inputs) {
        const Fields memory = expect("MEMORY", name);
        const std::int64_t bytes = number(memory, "MEMORY");
        if (bytes < 0) memory.fail("MEMORY is negative");
        const Fields alias = expect("ALIAS", name);
        const std::int64_t of = number(alias, "ALIAS");
        if (of < -1 || of >= inputs) alias.fail("ALIAS names no argument");
        if (of >= 0) return {.bytes = 0, .view_of = static_cast<int>(of)};
        return {.bytes = checked(alias, "MEMORY", bytes, bytes_)};
    }

    void mutate(const Fields& line) {
        const std::vector<std::string> arguments = names(line, "ARGS");
        Trace::Op op{.time = checked(line, "TIME", number(line, "TIME"), time_),
                     .inputs = tensors(arguments)};
        std::vector<Trace::Output> outputs;
        std::vector<std::size_t> changed;
        for (const json& position : line.array("MUTATE")) {
            const std::int64_t at = line.whole(position, "MUTATE");
            if (at < 0 || at >= static_cast<std::int64_t>(arguments.size()))
                line.fail("MUTATE names no argument");
            changed.push_back(static_cast<std::size_t>(at));
            const std::int64_t bytes = trace_.bytes[trace_.tensors[op.inputs[changed.back()]].storage];
            outputs.push_back({.bytes = checked(line, "MUTATE", bytes, bytes_)});
        }
        if (outputs.empty()) line.fail("MUTATE is empty");
        const std::vector<int> made = trace_.call(std::move(op), outputs);
        for (std::size_t i = 0; i < made.size(); ++i) {
            int& tensor = slot(arguments[changed[i]]);
            trace_.release(tensor);
            tensor = made[i];
        }
    }

    void copy(const Fields& line) {
        const int tensor = slot(line.text("SRC"));
        define(line.text("DST"), tensor);
        trace_.retain(tensor);
    }

    void copy_from(const Fields& line) {
        const int source = slot(line.text("SRC"));
        int& destination = slot(line.text("DST"));
        trace_.retain(source);
        trace_.release(destination);
        destination = source;
    }

    void release(const Fields& line) {
        const auto at = slots_.find(line.text("NAME"));
        if (at == slots_.end()) return;
        int& tensor = slot(at->first);
        trace_.release(tensor);
        tensor = -1;
    }

    Lines lines_;
    Trace trace_;
    std::unordered_map<std::string, int> slots_;
    std::vector<int> named_;
    std::int64_t time_ = 0, bytes_ = 0;
    bool started_ = false;
};

}  // namespace

Result<Trace> read_trace_log(const std::filesystem::path& path) {
    return parsed_file(path, parse_trace_log);
}

Result<Trace> parse_trace_log(std::string_view text, const std::string& name) {
    try {
        Trace trace = LogReader(text, name).read();
        if (trace.ops.empty()) return Error{name + ": holds no instruction: this is no log of DTR"};
        return trace;
    } catch (const FieldError& failure) {
        return Error{failure.message};
    }
}

}  // namespace rematlas
