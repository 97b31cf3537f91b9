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
#include <vector>

#include "core/base/one_line.h"

namespace rematlas {
namespace {

constexpr std::int64_t kLargestFile = std::int64_t{4} << 30;
constexpr std::size_t kDeepestJson = 200;
constexpr int kMostLinks = 40;  // most symbolic links that are followed one after another, as in Linux

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

/// Builds the document, and refuses repeated keys and deep nesting. The library's own parser with a callback
/// would take time quadratic in the length of an array: it looks at all elements again after each element.
class StrictBuilder : public nlohmann::json_sax<nlohmann::json> {
  public:
    using json = nlohmann::json;

    json take() { return std::move(root_); }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(json::number_integer_t value) override { return put(value); }
    bool number_unsigned(json::number_unsigned_t value) override { return put(value); }
    bool number_float(json::number_float_t value, const std::string&) override { return put(value); }
    bool string(std::string& value) override { return put(std::move(value)); }
    bool binary(json::binary_t& value) override { return put(std::move(value)); }
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(std::string& key) override {
        const auto [place, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(key);
        if (!is_new) throw std::runtime_error("key '" + key + "' occurs twice in one object");
        value_ = &place->second;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& failure) override {
        if (const auto* known = dynamic_cast<const json::parse_error*>(&failure)) throw *known;
        throw std::runtime_error(failure.what());
    }

  private:
    /// Puts the value at its place in the document, and returns a pointer to it.
    json* place(json value) {
        if (open_.empty()) return &(root_ = std::move(value));
        if (open_.back()->is_object()) return &(*value_ = std::move(value));
        open_.back()->push_back(std::move(value));
        return &open_.back()->back();
    }
    bool put(json value) {
        place(std::move(value));
        return true;
    }
    bool open(json container) {
        if (open_.size() >= kDeepestJson) throw std::runtime_error("nested deeper than 200 levels");
        open_.push_back(place(std::move(container)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    json root_;
    std::vector<json*> open_;  ///< the objects and arrays that have begun and have not ended
    json* value_ = nullptr;    ///< where the value of the last key belongs
};

/// Returns the parser's message without its id, on one line.
std::string one_line(const std::string& what) {
    std::string text = what;
    if (const auto end = text.find("] "); text.starts_with("[json.exception") && end != std::string::npos) {
        text.erase(0, end + 2);
    }
    for (char& c : text)
        if (static_cast<unsigned char>(c) > 0x7e) c = '?';  // may be a byte that is not valid UTF-8
    return on_one_line(text.substr(0, 300));
}

Result<nlohmann::json> parsed(std::string_view text, std::string_view name,
                              nlohmann::json::input_format_t format) {
    const std::string not_valid = std::string(name) + ": not valid JSON: ";
    if (text.empty()) return Error{not_valid + std::string(kEmptyJson)};
    try {
        StrictBuilder builder;
        nlohmann::json::sax_parse(text, &builder, format);
        return builder.take();
    } catch (const nlohmann::json::parse_error& failure) {
        const bool is_cut = failure.byte > text.size();
        return Error{not_valid + (is_cut ? std::string(kCutJson) : one_line(failure.what()))};
    } catch (const std::exception& failure) {
        return Error{not_valid + one_line(failure.what())};
    }
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
    return parsed(text, name, nlohmann::json::input_format_t::json);
}

Result<nlohmann::json> parse_cbor(std::string_view bytes, std::string_view name) {
    return parsed(bytes, name, nlohmann::json::input_format_t::cbor);
}

}  // namespace rematlas
