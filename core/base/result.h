// Expected failures are values: `Result<T>` holds a T or an Error with one line for the user.
//
//     Result<Graph> graph = read_graph(path);
//     if (!graph) return graph.error();
//     use(*graph);
#pragma once

#include <cassert>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace rematlas {

/// The kind of a failure. It decides the exit status of the command line.
enum class ErrorKind {
    input,     ///< a file, a flag or a value is wrong: exit 2
    negative,  ///< the question was well-formed and the answer is no: exit 1
    failure,   ///< something failed half way, e.g. because memory ran out: exit 2
};

struct Error {
    std::string message;  ///< one line that names the file, the field or the flag
    ErrorKind kind = ErrorKind::input;
    std::exception_ptr thrown = nullptr;  ///< the exception of a library, if one caused the error
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    explicit operator bool() const { return std::holds_alternative<T>(state_); }
    T& operator*() {
        assert(*this);
        return *std::get_if<T>(&state_);
    }
    const T& operator*() const {
        assert(*this);
        return *std::get_if<T>(&state_);
    }
    T* operator->() { return &**this; }
    const T* operator->() const { return &**this; }
    T take() { return std::move(**this); }
    const Error& error() const {
        assert(!*this);
        return *std::get_if<Error>(&state_);
    }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const { return !error_; }
    const Error& error() const {
        assert(error_);
        return *error_;
    }

  private:
    std::optional<Error> error_;
};

}  // namespace rematlas
