#include "core/snapshots/pickle_op.h"

#include <array>
#include <string>

namespace rematlas {
namespace {

constexpr int kOldestProtocol = 2, kNewestProtocol = 5;
constexpr const char* kWriteAgain = "; write the snapshot again with torch.cuda.memory._dump_snapshot";

/// An instruction of the pickle machine that this reader refuses, and the reason.
struct RefusedOp {
    unsigned char code;
    const char* name;
    const char* reason;
};

constexpr const char* kCalls = "would import or call code, and nothing in a file is executed here";
constexpr const char* kPersistent = "names an object that lies outside the file";
constexpr const char* kText = "belongs to protocol 0 or 1";
constexpr const char* kUnused = "stands in no memory snapshot";

constexpr std::array kRefused{
    RefusedOp{'c', "GLOBAL", kCalls},
    RefusedOp{0x93, "STACK_GLOBAL", kCalls},
    RefusedOp{'R', "REDUCE", kCalls},
    RefusedOp{'b', "BUILD", kCalls},
    RefusedOp{'i', "INST", kCalls},
    RefusedOp{'o', "OBJ", kCalls},
    RefusedOp{0x81, "NEWOBJ", kCalls},
    RefusedOp{0x92, "NEWOBJ_EX", kCalls},
    RefusedOp{0x82, "EXT1", kCalls},
    RefusedOp{0x83, "EXT2", kCalls},
    RefusedOp{0x84, "EXT4", kCalls},
    RefusedOp{'P', "PERSID", kPersistent},
    RefusedOp{'Q', "BINPERSID", kPersistent},
    RefusedOp{0x97, "NEXT_BUFFER", kPersistent},
    RefusedOp{0x98, "READONLY_BUFFER", kPersistent},
    RefusedOp{'I', "INT", kText},
    RefusedOp{'L', "LONG", kText},
    RefusedOp{'F', "FLOAT", kText},
    RefusedOp{'S', "STRING", kText},
    RefusedOp{'T', "BINSTRING", kText},
    RefusedOp{'U', "SHORT_BINSTRING", kText},
    RefusedOp{'V', "UNICODE", kText},
    RefusedOp{'g', "GET", kText},
    RefusedOp{'p', "PUT", kText},
    RefusedOp{'d', "DICT", kText},
    RefusedOp{'l', "LIST", kText},
    RefusedOp{'0', "POP", kUnused},
    RefusedOp{'1', "POP_MARK", kUnused},
    RefusedOp{'2', "DUP", kUnused},
    RefusedOp{0x8f, "EMPTY_SET", kUnused},
    RefusedOp{0x90, "ADDITEMS", kUnused},
    RefusedOp{0x91, "FROZENSET", kUnused},
    RefusedOp{0x80, "PROTO", "stands in the middle of the file"},
};

[[noreturn]] void refuse(unsigned char code, std::int64_t position) {
    for (const RefusedOp& op : kRefused)
        if (op.code == code)
            throw SnapshotFault{at_byte(position) + "the pickle instruction " + op.name + " " + op.reason +
                                kWriteAgain};
    throw SnapshotFault{at_byte(position) + std::to_string(code) + " is no instruction of a pickle" +
                        kWriteAgain};
}

void skip_value(ByteStream& bytes, PickleStep& step, std::uint64_t length) {
    bytes.skip(length);
    step.op = PickleOp::other;
}

/// Reads a text. Skips texts that are longer than any field of a snapshot.
void read_text(ByteStream& bytes, PickleStep& step, std::uint64_t length) {
    if (length > ByteStream::kMostInOnePiece) return skip_value(bytes, step, length);
    step.op = PickleOp::text;
    step.text = bytes.bytes(static_cast<std::size_t>(length));
}

/// Reads a number of `length` bytes in two's complement. Skips numbers of more than eight bytes.
void read_long(ByteStream& bytes, PickleStep& step, std::uint64_t length) {
    if (length > 8) return skip_value(bytes, step, length);
    std::uint64_t value = bytes.number(static_cast<int>(length));
    if (length > 0 && length < 8 && (value >> (8 * length - 1) & 1) != 0)
        value |= ~std::uint64_t{0} << (8 * length);
    step.op = PickleOp::integer;
    step.number = static_cast<std::int64_t>(value);
}

void integer(PickleStep& step, std::int64_t number, PickleOp op = PickleOp::integer) {
    step.op = op;
    step.number = number;
}

/// The effect of an instruction that has no argument in the file. `kBare` has an entry for each code.
struct BareOp {
    bool known = false;
    PickleOp op = PickleOp::other;
    std::int64_t number = 0;
};

constexpr std::array<BareOp, 256> kBare = [] {
    std::array<BareOp, 256> ops = {};
    const auto set = [&](unsigned char code, PickleOp op, std::int64_t number = 0) {
        ops[code] = {true, op, number};
    };
    set('(', PickleOp::mark);
    set('.', PickleOp::stop);
    set('}', PickleOp::empty_dict);
    set(']', PickleOp::empty_list);
    set('a', PickleOp::append);
    set('e', PickleOp::appends);
    set('s', PickleOp::set_item);
    set('u', PickleOp::set_items);
    set('t', PickleOp::tuple);
    set(')', PickleOp::tuple_n, 0);
    set(0x85, PickleOp::tuple_n, 1);
    set(0x86, PickleOp::tuple_n, 2);
    set(0x87, PickleOp::tuple_n, 3);
    set('N', PickleOp::other);
    set(0x88, PickleOp::flag, 1);
    set(0x89, PickleOp::flag, 0);
    set(0x94, PickleOp::memoize);
    return ops;
}();

/// Reads the argument of an instruction: a number, or a length followed by that many bytes. Returns false if
/// the code is not such an instruction.
bool read_with_argument(unsigned char code, ByteStream& bytes, PickleStep& step) {
    switch (code) {
        case 'K':
            return integer(step, bytes.byte()), true;
        case 'M':
            return integer(step, static_cast<std::int64_t>(bytes.number(2))), true;
        case 'J':
            return integer(step, static_cast<std::int32_t>(bytes.number(4))), true;
        case 0x8a:
            return read_long(bytes, step, bytes.byte()), true;
        case 0x8b:
            return read_long(bytes, step, bytes.number(4)), true;
        case 'G':
            return skip_value(bytes, step, 8), true;
        case 0x8c:
            return read_text(bytes, step, bytes.byte()), true;
        case 'X':
            return read_text(bytes, step, bytes.number(4)), true;
        case 0x8d:
            return read_text(bytes, step, bytes.number(8)), true;
        case 'C':
            return skip_value(bytes, step, bytes.byte()), true;
        case 'B':
            return skip_value(bytes, step, bytes.number(4)), true;
        case 0x8e:
        case 0x96:
            return skip_value(bytes, step, bytes.number(8)), true;
        case 'h':
            return integer(step, bytes.byte(), PickleOp::get), true;
        case 'j':
            return integer(step, static_cast<std::int64_t>(bytes.number(4)), PickleOp::get), true;
        case 'q':
            return integer(step, bytes.byte(), PickleOp::put), true;
        case 'r':
            return integer(step, static_cast<std::int64_t>(bytes.number(4)), PickleOp::put), true;
        default:
            return false;
    }
}

constexpr unsigned char kProtocol = 0x80, kFrame = 0x95;

}  // namespace

std::string at_byte(std::int64_t position) {
    return "byte " + std::to_string(position) + ": ";
}

void expect_pickle_protocol(ByteStream& bytes) {
    if (bytes.left() < 2 || bytes.byte() != kProtocol)
        throw SnapshotFault{"is no pickle of protocol 2 to 5; torch.cuda.memory._dump_snapshot writes one"};
    const int protocol = bytes.byte();
    if (protocol < kOldestProtocol || protocol > kNewestProtocol)
        throw SnapshotFault{"is a pickle of protocol " + std::to_string(protocol) + "; 2 to 5 are read" +
                            kWriteAgain};
}

PickleStep next_pickle_step(ByteStream& bytes) {
    PickleStep step;
    while (true) {
        step.position = bytes.position();
        const unsigned char code = bytes.byte();
        if (code == kFrame) {
            bytes.number(8);  // skips the length of the frame, which only readers of whole frames need
            continue;
        }
        if (kBare[code].known)
            integer(step, kBare[code].number, kBare[code].op);
        else if (!read_with_argument(code, bytes, step))
            refuse(code, step.position);
        return step;
    }
}

}  // namespace rematlas
