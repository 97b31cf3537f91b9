// Measures the time and the memory that reading a large memory snapshot takes. First writes the file, in the
// form in which Python pickles the result of torch.cuda.memory._snapshot(). The file has steps of allocations
// and releases; each event has its own list of frames, but the frames are shared. CSV on standard output:
// name,run,value,unit.
//
//     bench_snapshot [--megabytes 1000] [--runs 3] [--file /tmp/s.pickle]
// The file is removed at the end.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/snapshots/measured_memory.h"

namespace rematlas {
namespace {

constexpr int kDepth = 28;     ///< number of frames of a stack
constexpr int kFiles = 400;    ///< number of distinct frames
constexpr int kInStep = 2000;  ///< blocks that a step allocates in order and releases in reverse order
constexpr std::size_t kBatch = 1000;
constexpr std::int64_t kFirstAddress = 0x7f0000000000;

/// Writes the instructions of a pickle of protocol 4 into a file, one after the other.
class SnapshotFile {
  public:
    explicit SnapshotFile(const std::string& path) : file_(path, std::ios::binary) {}

    std::size_t size() const { return size_ + text_.size(); }

    void code(int code) { text_ += static_cast<char>(code); }
    void memoize() {
        code(0x94);
        ++memo_;
    }
    void number(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) code(static_cast<int>(value >> (8 * i) & 0xff));
    }
    void integer(std::int64_t value) {
        if (value >= 0 && value < 256) return code('K'), number(static_cast<std::uint64_t>(value), 1);
        if (value < INT32_MAX) return code('J'), number(static_cast<std::uint64_t>(value), 4);
        code(0x8a);
        code(8);
        number(static_cast<std::uint64_t>(value), 8);
    }
    void get(std::uint32_t number_in_memo) {
        code(number_in_memo < 256 ? 'h' : 'j');
        number(number_in_memo, number_in_memo < 256 ? 1 : 4);
    }
    /// Writes a text as a new object, even if it equals an earlier one.
    void text(const std::string& value) {
        code(0x8c);
        number(value.size(), 1);
        text_ += value;
        memoize();
    }
    void shared(const std::string& value) {
        const auto [known, is_new] = known_.try_emplace(value, memo_);
        is_new ? text(value) : get(known->second);
    }
    std::uint32_t next_in_memo() const { return memo_; }
    void flush() {
        size_ += text_.size();
        file_ << text_;
        text_.clear();
    }

  private:
    std::ofstream file_;
    std::string text_;
    std::size_t size_ = 0;
    std::uint32_t memo_ = 0;
    std::map<std::string, std::uint32_t> known_;
};

class SnapshotWriter {
  public:
    explicit SnapshotWriter(const std::string& path) : out_(path) {}

    void write(std::size_t bytes) {
        for (const char c : {'\x80', '\x04', '}'}) out_.code(c);
        out_.memoize();
        out_.code('(');
        out_.shared("segments");
        out_.code(']');
        out_.memoize();
        out_.shared("device_traces");
        out_.code(']');
        out_.memoize();
        out_.code(']');
        out_.memoize();
        std::size_t events = 0;
        for (int step = 0; out_.size() < bytes; ++step)
            for (int i = 0; i < 3 * kInStep; ++i) event(step, i, events++);
        if (events % kBatch != 0) out_.code('e');
        for (const char c : {'a', 'u', '.'}) out_.code(c);
        out_.flush();
    }

  private:
    /// Writes event `i` of a step. The first third of the events of a step allocate blocks; the others
    /// release them, two events for each block.
    void event(int step, int i, std::size_t number) {
        if (number % kBatch == 0) out_.code('(');
        const bool allocates = i < kInStep;
        const int block = allocates ? i : kInStep - 1 - (i - kInStep) / 2;
        const char* action = allocates                ? "alloc"
                             : (i - kInStep) % 2 == 0 ? "free_requested"
                                                      : "free_completed";
        out_.code('}');
        out_.memoize();
        out_.code('(');
        out_.shared("action");
        out_.shared(action);
        field("addr", kFirstAddress + block * std::int64_t{1 << 20});
        field("size", 1000 + 512 * (block % 1500));
        field("stream", 0);
        field("time_us", 1'700'000'000'000'000 + static_cast<std::int64_t>(3 * number));
        out_.shared("compile_context");
        out_.text("N/A");
        out_.shared("user_metadata");
        out_.text("");
        out_.shared("frames");
        frames(step % 3 + (allocates ? block % 200 : 7));
        out_.code('u');
        if (number % kBatch == kBatch - 1) out_.code('e');
        if (number % kBatch == 0) out_.flush();
    }

    void field(const char* name, std::int64_t value) {
        out_.shared(name);
        out_.integer(value);
    }

    void frames(int which) {
        out_.code(']');
        out_.memoize();
        out_.code('(');
        for (int depth = 0; depth < kDepth; ++depth) frame(depth < 6 ? (which + 31 * depth) % kFiles : depth);
        out_.code('e');
    }

    void frame(int which) {
        const auto [known, is_new] = frames_.try_emplace(which, out_.next_in_memo());
        if (!is_new) return out_.get(known->second);
        out_.code('}');
        out_.memoize();
        out_.code('(');
        out_.shared("name");
        out_.text("function_" + std::to_string(which));
        out_.shared("filename");
        out_.text("/home/me/model/part_" + std::to_string(which) + ".py");
        field("line", which);
        out_.code('u');
    }

    SnapshotFile out_;
    std::map<int, std::uint32_t> frames_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns the most memory that this process has held so far, in MB.
double peak_megabytes() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

int bench(std::size_t megabytes, int runs, const std::string& path) {
    SnapshotWriter(path).write(megabytes * 1'000'000);
    const std::string name = "snapshot of " + std::to_string(megabytes) + " MB";
    std::printf("name,run,value,unit\n%s,before reading,%.0f,MB held\n", name.c_str(), peak_megabytes());
    for (int run = 1; run <= runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        const Result<MeasuredMemory> measured = read_measured_memory(path);
        const double seconds = seconds_since(start);
        if (!measured) return std::fprintf(stderr, "%s\n", measured.error().message.c_str()), 1;
        std::printf("%s,%d,%.2f,s\n%s,%d,%.0f,MB held at most\n%s,%d,%zu,events\n", name.c_str(), run,
                    seconds, name.c_str(), run, peak_megabytes(), name.c_str(), run,
                    measured->devices[0].events());
    }
    std::remove(path.c_str());
    return 0;
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    std::map<std::string, std::string> flags{
        {"--megabytes", "1000"}, {"--runs", "3"}, {"--file", "/tmp/rematlas_bench_snapshot.pickle"}};
    for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
    return rematlas::bench(std::strtoul(flags["--megabytes"].c_str(), nullptr, 10),
                           std::atoi(flags["--runs"].c_str()), flags["--file"]);
}
