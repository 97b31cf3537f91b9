#include "core/snapshots/memory_snapshot.h"

#include "core/snapshots/byte_stream.h"
#include "core/snapshots/pickle_op.h"
#include "core/snapshots/snapshot_objects.h"

namespace rematlas {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 25;  ///< most values on the stack at one time
constexpr std::size_t kDeepest = 1000;
constexpr unsigned kMemoBits = 30;
constexpr std::size_t kMostInMemo = std::size_t{1} << 28;

/// The machine that carries out a pickle: its stack, the marks on the stack, and the memo.
class SnapshotMachine {
  public:
    explicit SnapshotMachine(ByteStream& bytes) : bytes_(bytes) {}

    MemorySnapshot run() {
        expect_pickle_protocol(bytes_);
        while (true) {
            const PickleStep step = next_pickle_step(bytes_);
            position_ = step.position;
            if (step.op == PickleOp::stop) break;
            make(step);
        }
        if (!marks_.empty() || stack_.size() != 1) fail("the pickle ends with a value that is not complete");
        return objects_.take(stack_.back());
    }

  private:
    using Kind = PickleValue::Kind;

    [[noreturn]] void fail(const std::string& what) const { throw SnapshotFault{at_byte(position_) + what}; }

    void make(const PickleStep& step) {
        switch (step.op) {
            case PickleOp::mark:
                if (marks_.size() >= kDeepest) fail("values are nested deeper than 1000 levels");
                marks_.push_back(stack_.size());
                return;
            case PickleOp::empty_dict:
                return push({Kind::object, objects_.dict()});
            case PickleOp::empty_list:
                return push({Kind::object, objects_.list()});
            case PickleOp::integer:
                return push({Kind::integer, step.number});
            case PickleOp::flag:
                return push({Kind::flag, step.number});
            case PickleOp::text:
                return push({Kind::text, objects_.texts().add(step.text).value});
            case PickleOp::other:
                return push({});
            case PickleOp::get:
                return push(remembered(step.number));
            default:
                return change(step);
        }
    }

    /// Carries out an instruction that changes or remembers values on the stack.
    void change(const PickleStep& step) {
        switch (step.op) {
            case PickleOp::append:
                return fill_last(1, false);
            case PickleOp::set_item:
                return fill_last(2, true);
            case PickleOp::appends:
                return fill_last(above_mark(), false);
            case PickleOp::set_items:
                return fill_last(above_mark(), true);
            case PickleOp::tuple:
                stack_.resize(stack_.size() - above_mark());
                return push({Kind::object, objects_.other()});
            case PickleOp::tuple_n:
                expect(static_cast<std::size_t>(step.number));
                stack_.resize(stack_.size() - static_cast<std::size_t>(step.number));
                return push({Kind::object, objects_.other()});
            case PickleOp::put:
                return remember(static_cast<std::size_t>(step.number));
            default:
                return remember(memo_.size());
        }
    }

    void push(PickleValue value) {
        if (stack_.size() >= kMostValues) fail("more than 2^25 values wait for their list");
        stack_.push_back(value);
    }

    /// Fails unless at least `values` values are above the last mark.
    void expect(std::size_t values) const {
        if (stack_.size() - (marks_.empty() ? 0 : marks_.back()) < values)
            fail("a value is missing on the stack of the pickle");
    }

    /// Removes the last mark, and returns how many values were above it.
    std::size_t above_mark() {
        if (marks_.empty()) fail("a mark is missing on the stack of the pickle");
        const std::size_t values = stack_.size() - marks_.back();
        marks_.pop_back();
        return values;
    }

    /// Moves the last `values` values into the dictionary or list below them.
    void fill_last(std::size_t values, bool pairs) {
        expect(values + 1);
        const std::span<const PickleValue> last = std::span(stack_).last(values);
        const PickleValue into = stack_[stack_.size() - values - 1];
        if (!into.is(Kind::object)) fail("what is neither a dictionary nor a list is filled");
        if (pairs && values % 2 != 0) fail("a key of a dictionary has no value");
        if (pairs)
            objects_.fill(static_cast<std::uint32_t>(into.number), last, position_);
        else
            objects_.append(static_cast<std::uint32_t>(into.number), last, position_);
        stack_.resize(stack_.size() - values);
    }

    /// Stores the last value in the memo. Only texts and objects keep their value in the memo, because no
    /// writer of pickles reads other values from it.
    void remember(std::size_t number) {
        expect(1);
        if (number > memo_.size()) fail("the memo of the pickle leaves out numbers");
        if (number >= kMostInMemo) fail("the file holds more objects than fit in this reader (2^28)");
        if (number == memo_.size()) memo_.push_back(0);
        const PickleValue value = stack_.back();
        const bool kept = value.is(Kind::text) || value.is(Kind::object);
        const auto kind = static_cast<std::uint32_t>(!kept ? 0 : value.is(Kind::text) ? 1 : 2);
        memo_[number] = kind << kMemoBits | (kept ? static_cast<std::uint32_t>(value.number) : 0);
    }

    PickleValue remembered(std::int64_t number) const {
        if (number >= static_cast<std::int64_t>(memo_.size()))
            fail("number " + std::to_string(number) + " of the memo is used before it is there");
        const std::uint32_t packed = memo_[static_cast<std::size_t>(number)];
        const std::uint32_t kind = packed >> kMemoBits;
        if (kind == 0) return {};
        return {kind == 1 ? Kind::text : Kind::object, packed & ((std::uint32_t{1} << kMemoBits) - 1)};
    }

    ByteStream& bytes_;
    SnapshotObjects objects_;
    std::vector<PickleValue> stack_;
    std::vector<std::size_t> marks_;  ///< size of the stack at each mark
    std::vector<std::uint32_t> memo_;
    std::int64_t position_ = 0;
};

Result<MemorySnapshot> read_pickle(ByteStream& bytes, const std::string& name) {
    try {
        return SnapshotMachine(bytes).run();
    } catch (const SnapshotFault& fault) {
        return Error{name + ": " + fault.message};
    } catch (const std::bad_alloc&) {
        return Error{name + ": this machine has too little memory to read it", ErrorKind::failure};
    }
}

}  // namespace

Result<MemorySnapshot> read_memory_snapshot(const std::filesystem::path& path, std::stop_token stop) {
    Result<ByteStream> bytes = ByteStream::of_file(path, std::move(stop));
    if (!bytes) return bytes.error();
    return read_pickle(*bytes, path.string());
}

Result<MemorySnapshot> parse_memory_snapshot(std::string_view bytes, const std::string& name) {
    ByteStream stream(bytes);
    return read_pickle(stream, name);
}

}  // namespace rematlas
