#include "runtime/training/python_places.h"

#include <memory>
#include <string_view>

#include "runtime/model/source_line.h"
#include "runtime/training/python_lock.h"

namespace rematlas {
namespace {

bool is_model_source(std::string_view file) {
    return !is_of_torch(file) && file.find("/rematlas/") == file.npos && !file.starts_with('<');
}

/// Functions of CPython's stable interface; an object is a `void*`.
struct FrameFunctions {
    void* (*current)() = python_symbol<void*()>("PyEval_GetFrame");  // a borrowed reference
    void* (*caller)(void*) = python_symbol<void*(void*)>("PyFrame_GetBack");
    void* (*code)(void*) = python_symbol<void*(void*)>("PyFrame_GetCode");
    int (*line)(void*) = python_symbol<int(void*)>("PyFrame_GetLineNumber");
    void* (*attribute)(void*,
                       const char*) = python_symbol<void*(void*, const char*)>("PyObject_GetAttrString");
    const char* (*text)(void*) = python_symbol<const char*(void*)>("PyUnicode_AsUTF8");
    void (*keep)(void*) = python_symbol<void(void*)>("Py_IncRef");

    bool all_there() const {
        return python_basics().are_there() && current && caller && code && line && attribute && text && keep;
    }
};

const FrameFunctions& interpreter() {
    static const FrameFunctions functions;
    return functions;
}

struct DropReference {
    void operator()(void* object) const { python_basics().drop(object); }
};
/// A reference that Rematlas owns, or null.
using Reference = std::unique_ptr<void, DropReference>;

std::string file_of(void* frame) {
    const Reference code(interpreter().code(frame));
    const Reference name(code ? interpreter().attribute(code.get(), "co_filename") : nullptr);
    const char* text = name ? interpreter().text(name.get()) : nullptr;
    if (!text) python_basics().clear_error();
    return text ? text : "";
}

std::string line_in_model() {
    void* innermost = interpreter().current();
    if (innermost) interpreter().keep(innermost);
    for (Reference frame(innermost); frame; frame.reset(interpreter().caller(frame.get()))) {
        const std::string file = file_of(frame.get());
        if (!file.empty() && is_model_source(file))
            return line_text(file, std::to_string(interpreter().line(frame.get())));
    }
    return {};
}

}  // namespace

std::string PythonPlaces::line() {
    if (!interpreter().all_there()) return {};
    const PythonLock locked;
    return line_in_model();
}

}  // namespace rematlas
