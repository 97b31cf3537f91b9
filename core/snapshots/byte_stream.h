// Reads the bytes of a file, or of a text in memory, once from front to back in small pieces.
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

/// The exception of the readers in this folder. The functions that start the reading catch it and turn it
/// into an Error. The message is one sentence that names the position.
struct SnapshotFault {
    std::string message;
};

class ByteStream {
  public:
    /// The text must outlive the stream.
    explicit ByteStream(std::string_view text);
    /// Opens a file. Errors name the path and the system's reason. After a request to stop, the stream throws
    /// SnapshotFault instead of reading another piece.
    static Result<ByteStream> of_file(const std::filesystem::path& path, std::stop_token stop = {});

    ByteStream(ByteStream&&) noexcept = default;

    /// The position of the next byte.
    std::int64_t position() const { return passed_ + (at_ - begin_); }
    std::int64_t left() const { return size_ - position(); }

    std::uint8_t byte() {
        if (at_ == end_) refill(1);
        return static_cast<std::uint8_t>(*at_++);
    }
    /// Reads a little-endian number of at most eight bytes.
    std::uint64_t number(int bytes);
    /// Reads the next bytes, at most `kMostInOnePiece`. The view is valid until the next call.
    std::string_view bytes(std::size_t count);
    void skip(std::uint64_t count);

    static constexpr std::size_t kMostInOnePiece = std::size_t{1} << 16;

  private:
    struct OpenFile;
    ByteStream(std::shared_ptr<OpenFile> file, std::int64_t size, std::stop_token stop);

    /// Makes at least `count` bytes readable in one piece. Throws SnapshotFault if the file has fewer bytes
    /// left.
    void refill(std::size_t count);

    std::shared_ptr<OpenFile> file_;  ///< null if the whole text is in memory
    std::vector<char> buffer_;
    const char *begin_, *at_, *end_;
    std::int64_t passed_ = 0;  ///< bytes before `begin_`
    std::int64_t size_;
    std::stop_token stop_;
};

}  // namespace rematlas
