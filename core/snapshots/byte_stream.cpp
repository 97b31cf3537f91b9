#include "core/snapshots/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rematlas {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
static_assert(kPiece > ByteStream::kMostInOnePiece);

Error file_failure(const std::filesystem::path& path, const char* action) {
    return {path.string() + ": cannot " + action + ": " + std::strerror(errno)};
}

}  // namespace

struct ByteStream::OpenFile {
    explicit OpenFile(int opened) : descriptor(opened) {}
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() { ::close(descriptor); }

    int descriptor;
};

ByteStream::ByteStream(std::string_view text)
    : begin_(text.data()),
      at_(begin_),
      end_(begin_ + text.size()),
      size_(static_cast<std::int64_t>(text.size())) {}

ByteStream::ByteStream(std::shared_ptr<OpenFile> file, std::int64_t size, std::stop_token stop)
    : file_(std::move(file)),
      buffer_(kPiece),
      begin_(buffer_.data()),
      at_(begin_),
      end_(begin_),
      size_(size),
      stop_(std::move(stop)) {}

Result<ByteStream> ByteStream::of_file(const std::filesystem::path& path, std::stop_token stop) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return file_failure(path, "open");
    auto file = std::make_shared<OpenFile>(descriptor);
    struct stat facts = {};
    if (::fstat(descriptor, &facts) != 0) return file_failure(path, "open");
    if (!S_ISREG(facts.st_mode)) return Error{path.string() + ": is no regular file"};
    return ByteStream(std::move(file), facts.st_size, std::move(stop));
}

std::uint64_t ByteStream::number(int bytes) {
    const std::string_view raw = this->bytes(static_cast<std::size_t>(bytes));
    std::uint64_t value = 0;
    for (std::size_t i = raw.size(); i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(raw[i]);
    return value;
}

std::string_view ByteStream::bytes(std::size_t count) {
    if (static_cast<std::size_t>(end_ - at_) < count) refill(count);
    const std::string_view piece(at_, count);
    at_ += count;
    return piece;
}

void ByteStream::skip(std::uint64_t count) {
    if (count > static_cast<std::uint64_t>(left()))
        throw SnapshotFault{"byte " + std::to_string(position()) + ": " + std::to_string(count) +
                            " bytes are due and the file ends after " + std::to_string(left())};
    while (count > 0) {
        if (at_ == end_) refill(1);
        const std::uint64_t here = std::min<std::uint64_t>(count, static_cast<std::uint64_t>(end_ - at_));
        at_ += here;
        count -= here;
    }
}

void ByteStream::refill(std::size_t count) {
    const auto rest = static_cast<std::size_t>(end_ - at_);
    if (file_) {
        if (stop_.stop_requested()) throw SnapshotFault{"reading was stopped"};
        passed_ += at_ - begin_;
        std::memmove(buffer_.data(), at_, rest);
        begin_ = at_ = buffer_.data();
        std::size_t filled = rest;
        while (filled < count) {
            const ssize_t n = ::read(file_->descriptor, buffer_.data() + filled, buffer_.size() - filled);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) throw SnapshotFault{std::string("cannot read: ") + std::strerror(errno)};
            if (n == 0) break;
            filled += static_cast<std::size_t>(n);
        }
        end_ = begin_ + filled;
    }
    if (static_cast<std::size_t>(end_ - at_) < count)
        throw SnapshotFault{"byte " + std::to_string(position()) +
                            ": the file ends in the middle of a value; it was cut off or is still written"};
}

}  // namespace rematlas
