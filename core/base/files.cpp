#include "core/base/files.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

namespace rematlas {
namespace {

constexpr std::int64_t kLargestFile = std::int64_t{4} << 30;
constexpr int kDeepestJson = 200;
constexpr int kMostLinks = 40;  // most symbolic links in a row, as in the kernel

Error system_error(const std::filesystem::path& path, const char* action) {
    return {path.string() + ": cannot " + action + ": " + std::strerror(errno)};
}

/// Closes the descriptor when it goes out of scope.
struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// Writes into a device, a pipe or a socket, which must not be replaced by a file.
Result<void> write_through(const std::filesystem::path& path, std::string_view bytes) {
    const Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (file.fd < 0 || !write_all(file.fd, bytes)) return system_error(path, "write");
    return {};
}

/// Returns the path to which the symbolic links lead, whether or not a file exists there.
std::filesystem::path behind_links(std::filesystem::path path) {
    std::error_code failed;
    for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, failed); ++links)
        path = path.parent_path() / std::filesystem::read_symlink(path, failed);
    return path;
}

/// Refuses repeated keys and deep nesting while the parser builds the document.
class StrictCallback {
  public:
    using Event = nlohmann::json::parse_event_t;

    bool operator()(int depth, Event event, nlohmann::json& parsed) {
        if (depth > kDeepestJson) throw std::runtime_error("nested deeper than 200 levels");
        if (event == Event::object_start) keys_.emplace_back();
        if (event == Event::object_end) keys_.pop_back();
        if (event == Event::key && !keys_.back().insert(parsed.get_ref<const std::string&>()).second) {
            throw std::runtime_error("key '" + parsed.get<std::string>() + "' occurs twice in one object");
        }
        return true;
    }

  private:
    std::vector<std::unordered_set<std::string>> keys_;
};

/// Returns the parser's message without its id, on one line.
std::string one_line(const std::string& what) {
    std::string text = what;
    if (const auto end = text.find("] "); text.starts_with("[json.exception") && end != std::string::npos) {
        text.erase(0, end + 2);
    }
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
        if (static_cast<unsigned char>(c) > 0x7e) c = '?';  // may be a byte that is not valid UTF-8
    }
    return text.substr(0, 300);
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0) return system_error(path, "open");
    struct stat status {};
    if (::fstat(file.fd, &status) != 0) return system_error(path, "read");
    if (S_ISDIR(status.st_mode)) return Error{path.string() + ": is a directory"};
    if (status.st_size > kLargestFile) return Error{path.string() + ": larger than 4 GiB"};
    std::string bytes;
    bytes.reserve(static_cast<std::size_t>(status.st_size) + 1);
    std::array<char, 1 << 16> chunk;
    for (;;) {
        const ssize_t n = ::read(file.fd, chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return system_error(path, "read");
        if (n == 0) return bytes;
        bytes.append(chunk.data(), static_cast<std::size_t>(n));
        if (static_cast<std::int64_t>(bytes.size()) > kLargestFile)
            return Error{path.string() + ": larger than 4 GiB"};
    }
}

Result<void> write_file(const std::filesystem::path& named, std::string_view bytes) {
    struct stat status {};
    if (::stat(named.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return write_through(named, bytes);
    const std::filesystem::path path = behind_links(named);
    std::string temporary = path.string() + ".XXXXXX";
    Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
    if (file.fd < 0) return system_error(path, "write");
    const mode_t mask = ::umask(0);
    ::umask(mask);
    const bool written = write_all(file.fd, bytes) && ::fchmod(file.fd, 0666 & ~mask) == 0 &&
                         ::fsync(file.fd) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
    if (written) return {};
    const Error error = system_error(path, "write");
    ::unlink(temporary.c_str());
    return error;
}

Result<void> check_can_write(const std::filesystem::path& path) {
    const std::filesystem::path folder =
        path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    if (::access(folder.c_str(), W_OK | X_OK) != 0) return system_error(path, "write");
    if (std::filesystem::is_directory(path)) return Error{path.string() + ": is a directory"};
    return {};
}

std::filesystem::path cache_folder() {
    if (const char* named = std::getenv("REMATLAS_CACHE")) return named;
    // The XDG base directory specification says that relative paths must be ignored.
    for (const auto& [variable, below] : {std::pair("XDG_CACHE_HOME", ""), std::pair("HOME", ".cache")}) {
        const char* const named = std::getenv(variable);
        if (named && std::filesystem::path(named).is_absolute())
            return std::filesystem::path(named) / below / "rematlas";
    }
    return {};
}

std::string sha256_bytes(std::string_view bytes) {
    std::string digest(crypto_hash_sha256_BYTES, '\0');
    crypto_hash_sha256(reinterpret_cast<unsigned char*>(digest.data()),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    return digest;
}

std::string sha256(std::string_view bytes) {
    const std::string digest = sha256_bytes(bytes);
    std::string hex(2 * digest.size() + 1, '\0');
    sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(digest.data()),
                   digest.size());
    hex.pop_back();
    return hex;
}

Result<nlohmann::json> parse_json(std::string_view text, std::string_view name) {
    if (text.empty()) return Error{std::string(name) + ": not valid JSON: " + std::string(kEmptyJson)};
    try {
        return nlohmann::json::parse(text, StrictCallback());
    } catch (const nlohmann::json::parse_error& failure) {
        const bool is_cut = failure.byte > text.size();
        return Error{std::string(name) +
                     ": not valid JSON: " + (is_cut ? std::string(kCutJson) : one_line(failure.what()))};
    } catch (const std::exception& failure) {
        return Error{std::string(name) + ": not valid JSON: " + one_line(failure.what())};
    }
}

}  // namespace rematlas
