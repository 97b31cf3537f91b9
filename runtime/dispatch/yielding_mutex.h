// A mutex whose waiters give up Python's global interpreter lock while they wait.
//
// A thread that holds a mutex may drop the last handle of a tensor or storage that Python knows, or run an
// operator that is written in Python; then it waits for the interpreter lock. Another thread of the program
// may hold the interpreter lock, call an operator, and wait for the mutex. With an ordinary mutex the two
// threads would wait for each other for ever. A thread that waits for this mutex lets the other thread
// continue.
//
//     YieldingMutex<std::recursive_mutex> mutex;
//     const std::lock_guard lock(mutex);
#pragma once

namespace rematlas {

/// Releases the interpreter lock until the end of the scope, if this thread holds it. Does nothing in a
/// process without Python.
class InterpreterReleased {
  public:
    InterpreterReleased();
    ~InterpreterReleased();
    InterpreterReleased(const InterpreterReleased&) = delete;
    InterpreterReleased& operator=(const InterpreterReleased&) = delete;

  private:
    void* thread_state_;  ///< null if this thread did not hold the lock
};

template <class Mutex>
class YieldingMutex {
  public:
    void lock() {
        if (mutex_.try_lock()) return;
        const InterpreterReleased released;
        mutex_.lock();
    }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }

  private:
    Mutex mutex_;
};

}  // namespace rematlas
