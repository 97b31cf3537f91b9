// The bytes of a file, or of a text in memory, read once from the front in small pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

/// The readers of this folder throw this. The functions in which reading begins catch it and turn it into an
/// Error. The message is one sentence that names the position.
struct SnapshotFault {
    std::string message;
};

class ByteStream {
  public:
    /// The text must outlive the stream.
    explicit ByteStream(std::string_view text);
    /// Errors name the path and the system's reason. After a request to stop, the stream reads no further
    /// piece and throws SnapshotFault.
    static Result<ByteStream> of_file(const std::filesystem::path& path, std::stop_token stop = {});

    ByteStream(ByteStream&&) noexcept = default;

    /// The position of the next byte.
    std::int64_t position() const { return passed_ + (at_ - begin_); }
    std::int64_t left() const { return size_ - position(); }

    std::uint8_t byte() {
        if (at_ == end_) refill(1);
        return static_cast<std::uint8_t>(*at_++);
    }
    /// A little-endian number of at most eight bytes.
    std::uint64_t number(int bytes);
    /// The next bytes, at most `kMostInOnePiece`; the view is valid until the next call.
    std::string_view bytes(std::size_t count);
    void skip(std::uint64_t count);

    static constexpr std::size_t kMostInOnePiece = std::size_t{1} << 16;

  private:
    struct OpenFile;
    ByteStream(std::shared_ptr<OpenFile> file, std::int64_t size, std::stop_token stop);

    /// Makes at least so many bytes readable in one piece. Throws SnapshotFault where the file ends
    /// before.
    void refill(std::size_t count);

    std::shared_ptr<OpenFile> file_;  ///< none where the whole text is in memory
    std::vector<char> buffer_;
    const char *begin_, *at_, *end_;
    std::int64_t passed_ = 0;  ///< bytes before `begin_`
    std::int64_t size_;
    std::stop_token stop_;
};

}  // namespace rematlas
