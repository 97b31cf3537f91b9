// A frame is one forward of a planned step, with its backward.
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "runtime/training/plan_class.h"
#include "runtime/training/python_error.h"

namespace rematlas {
namespace {

// The values of the argument `what` of the callback `asked`. `set_callbacks` below says what the callback
// does for each of them.
enum class Asked { original = 0, taken = 1, over = 2, hooks = 3 };
using AskCallback = void (*)(std::int64_t frame, int what);
using ForgetCallback = void (*)(std::int64_t frame, void* nothing);
std::atomic<AskCallback> ask_callback{nullptr};
std::atomic<ForgetCallback> forget_callback{nullptr};
std::map<std::int64_t, std::vector<at::Tensor>> handed_inputs, handed_outputs;
std::map<std::int64_t, std::vector<bool>> handed_uses;
std::set<std::int64_t> handed_hooks;  ///< frames whose parameters have hooks
std::mutex handed_mutex;

/// Makes Python run the original's forward. An exception of the original is thrown as Python's own exception.
std::vector<at::Tensor> run_original(std::int64_t frame, const std::vector<at::Tensor>& inputs,
                                     const std::vector<bool>& used) {
    const AskCallback ask = ask_callback.load();
    TORCH_CHECK(ask, "rematlas: nobody runs the original");
    // Handles signals first. A pending signal would raise an exception in the first Python code that runs,
    // where nobody catches it.
    look_for_signals();
    raise_python_errors();
    {
        const std::lock_guard lock(handed_mutex);
        handed_inputs[frame] = inputs;
        handed_uses[frame] = used;
    }
    ask(frame, static_cast<int>(Asked::original));
    raise_python_errors();
    const std::lock_guard lock(handed_mutex);
    auto outputs = handed_outputs.extract(frame);
    TORCH_CHECK(outputs, "rematlas: the original gave no outputs");
    return std::move(outputs.mapped());
}

void forget_frame(std::int64_t frame) {
    const ForgetCallback forget = forget_callback.load();
    if (!forget) return;
    const PythonErrorAside aside;
    forget(frame, nullptr);
}

bool has_hooks(std::int64_t frame) {
    const AskCallback ask = ask_callback.load();
    if (!ask) return true;
    ask(frame, static_cast<int>(Asked::hooks));
    const std::lock_guard lock(handed_mutex);
    return handed_hooks.erase(frame) > 0;
}

void tell_of_taken(std::int64_t frame) {
    if (const AskCallback ask = ask_callback.load()) ask(frame, static_cast<int>(Asked::taken));
}

void tell_of_end(std::int64_t frame) {
    if (const AskCallback ask = ask_callback.load()) ask(frame, static_cast<int>(Asked::over));
    if (is_main_thread()) raise_python_errors();
}

}  // namespace

OriginalForward original_of_frames() {
    return {&run_original, &forget_frame, &tell_of_taken, &tell_of_end, &has_hooks};
}

void define_original(torch::Library& library) {
    using Tensors = std::vector<at::Tensor>;
    // `asked` and `forget` are addresses of C functions, or 0. `asked` takes the number of a frame, and
    // `what`:
    // - 0: run the original's forward of the frame with gradients, and call `original_outputs`;
    // - 1: the frame's backward has updated the parameters, or added to the sums of gradients;
    // - 2: the caller's whole backward, within which the frame's backward ran, is over;
    // - 3: call `tell_of_hooks` if some parameter of the frame has hooks.
    // `forget` takes the number of a frame that no longer exists, and null. `raised` is the address of a
    // Python list, in which Python functions that run below compiled code leave their exceptions. Python
    // implements `rematlas::raise_kept() -> ()`, which throws these exceptions.
    library.def("set_callbacks(int asked, int forget, int raised) -> ()",
                [](std::int64_t asked, std::int64_t forget, std::int64_t raised) {
                    ask_callback = reinterpret_cast<AskCallback>(asked);
                    forget_callback = reinterpret_cast<ForgetCallback>(forget);
                    keep_python_errors_in(raised);
                });
    library.def("tell_of_hooks(int frame) -> ()", [](std::int64_t frame) {
        const std::lock_guard lock(handed_mutex);
        handed_hooks.insert(frame);
    });
    library.def("original_inputs(int frame) -> Tensor[]", [](std::int64_t frame) {
        const std::lock_guard lock(handed_mutex);
        auto inputs = handed_inputs.extract(frame);
        return inputs ? std::move(inputs.mapped()) : Tensors();
    });
    library.def("original_uses(int frame) -> bool[]", [](std::int64_t frame) {
        const std::lock_guard lock(handed_mutex);
        const auto uses = handed_uses.extract(frame);
        c10::List<bool> list;
        if (uses)
            for (const bool used : uses.mapped()) list.push_back(used);
        return list;
    });
    library.def("original_outputs(int frame, Tensor[] outputs) -> ()",
                [](std::int64_t frame, Tensors outputs) {
                    const std::lock_guard lock(handed_mutex);
                    handed_outputs[frame] = std::move(outputs);
                });
}

}  // namespace rematlas
