#include "runtime/training/python_error.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "runtime/training/python_lock.h"

namespace rematlas {
namespace {

struct ErrorFunctions {
    int (*check_signals)() = python_symbol<int()>("PyErr_CheckSignals");
    void (*fetch)(void**, void**, void**) = python_symbol<void(void**, void**, void**)>("PyErr_Fetch");
    void (*restore)(void*, void*, void*) = python_symbol<void(void*, void*, void*)>("PyErr_Restore");
    void (*normalize)(void**, void**,
                      void**) = python_symbol<void(void**, void**, void**)>("PyErr_NormalizeException");
    int (*append)(void*, void*) = python_symbol<int(void*, void*)>("PyList_Append");
    std::ptrdiff_t (*size)(void*) = python_symbol<std::ptrdiff_t(void*)>("PyList_Size");
    bool all_there() const {
        return python_basics().are_there() && check_signals && fetch && restore && normalize && append &&
               size;
    }
};

const ErrorFunctions& python() {
    static const ErrorFunctions functions;
    return functions;
}

std::atomic<void*> kept_errors{nullptr};

template <class Exception>
[[noreturn]] void throw_one(const Error& error) {
    throw Exception({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, "rematlas: " + error.message);
}

}  // namespace

void clear_python_error() {
    if (!python().all_there()) return;
    const PythonLock locked;
    python_basics().clear_error();
}

void keep_python_errors_in(std::int64_t list) {
    kept_errors = reinterpret_cast<void*>(list);
}

bool is_main_thread() {
    thread_local const bool is_main = getpid() == gettid();
    return is_main;
}

void look_for_signals() {
    void* const kept = kept_errors;
    if (!kept || !is_main_thread() || !python().all_there()) return;
    const PythonLock locked;
    if (python().check_signals() == 0) return;
    void *type = nullptr, *value = nullptr, *trace = nullptr;
    python().fetch(&type, &value, &trace);
    python().normalize(&type, &value, &trace);
    if (value) python().append(kept, value);
    for (void* part : {type, value, trace})
        if (part) python_basics().drop(part);
}

void raise_python_errors() {
    void* const kept = kept_errors;
    if (!kept || !python().all_there()) return;
    {
        const PythonLock locked;
        if (python().size(kept) == 0) return;
    }
    // A Python function raises the kept exception. libtorch turns it into a C++ exception, which libtorch's
    // callers turn back into Python's.
    if (const auto raise = c10::Dispatcher::singleton().findSchema({"rematlas::raise_kept", ""})) {
        torch::jit::Stack nothing;
        raise->redispatchBoxed(c10::DispatchKeySet(), &nothing);
    }
}

void raise_what_signals_raise() {
    if (!is_main_thread()) return;
    using Clock = std::chrono::steady_clock;
    thread_local Clock::time_point last;
    const Clock::time_point now = Clock::now();
    if (now - last < std::chrono::nanoseconds(signal_interval)) return;
    last = now;
    look_for_signals();
    raise_python_errors();
}

PythonErrorAside::PythonErrorAside() {
    if (!python().all_there()) return;
    const PythonLock locked;
    python().fetch(&type_, &value_, &trace_);
}

PythonErrorAside::~PythonErrorAside() {
    if (!type_) return;
    const PythonLock locked;
    python().restore(type_, value_, trace_);
}

void throw_as_torch_does(const Error& error) {
    try {
        if (error.thrown) std::rethrow_exception(error.thrown);
    } catch (const c10::IndexError&) {
        throw_one<c10::IndexError>(error);
    } catch (const c10::ValueError&) {
        throw_one<c10::ValueError>(error);
    } catch (const c10::TypeError&) {
        throw_one<c10::TypeError>(error);
    } catch (const c10::NotImplementedError&) {
        throw_one<c10::NotImplementedError>(error);
    } catch (const c10::LinAlgError&) {
        throw_one<c10::LinAlgError>(error);
    } catch (const c10::OutOfMemoryError&) {
        throw_one<c10::OutOfMemoryError>(error);
    } catch (...) {  // Python sees an exception of any other class as it would see a c10::Error
    }
    throw_one<c10::Error>(error);
}

}  // namespace rematlas
