#include "app/cli/serve/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rematlas {

using ServingClock = std::chrono::steady_clock;

/// A descriptor that is closed with the object.
class OwnedDescriptor {
  public:
    explicit OwnedDescriptor(int fd) : fd_(fd) {}
    OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    OwnedDescriptor& operator=(OwnedDescriptor&&) = delete;
    ~OwnedDescriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

/// A connection and its current request.
struct HttpPeer {
    int fd;
    ServingClock::time_point since;  ///< when the current request, its answer, or the pause after the
                                     ///< answer began
    RequestHead head = {};
    std::string body = {};
    bool has_head = false;
    bool is_answered = false;
    /// The time at which the handler must answer. Set when the handler was first asked and had no answer.
    std::optional<ServingClock::time_point> waits_until = {};
    bool is_suspended = false;
};

namespace {

using namespace std::chrono_literals;

constexpr unsigned most_connections = 768, most_unfinished = 512;
constexpr std::size_t most_memory =
    32 * 1024;  // bytes per connection, for the head of a request and the head of its answer
constexpr auto patience_with_requests = 10s, patience_with_readers = 60s;
constexpr auto longest_wait = 20s;
constexpr int pause_ms = 500;  // milliseconds between two checks for late connections

constexpr std::pair<const char*, const char*> headers_of_all[] = {
    {"Cache-Control", "no-store"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
};

MHD_Result take_header(void* head, MHD_ValueKind, const char* key, std::size_t key_size, const char* value,
                       std::size_t value_size) {
    static_cast<RequestHead*>(head)->headers.emplace_back(std::string(key, key_size),
                                                          std::string(value ? value : "", value_size));
    return MHD_YES;
}

/// Accepts only peers on this machine. Other machines cannot reach the address; this is a second check.
MHD_Result is_peer_accepted(void*, const sockaddr* address, socklen_t size) {
    sockaddr_in peer{};
    if (address->sa_family != AF_INET || size < sizeof peer) return MHD_NO;
    std::memcpy(&peer, address, sizeof peer);
    return ntohl(peer.sin_addr.s_addr) >> 24 == 127 ? MHD_YES : MHD_NO;
}

std::size_t leave_escaped(void*, MHD_Connection*, char* text) {
    return std::strlen(text);
}

Result<OwnedDescriptor> listening_socket(int port) {
    const auto failed = [&] {
        const std::string why =
            errno == EADDRINUSE ? "is taken; --port 0 takes a free one" : std::strerror(errno);
        return Error{"--port: " + std::to_string(port) + " " + why};
    };
    OwnedDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (listener.get() < 0) return failed();
    const int yes = 1;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failed();
    if (::listen(listener.get(), SOMAXCONN) != 0) return failed();
    return listener;
}

int port_of(int listener) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

MHD_Result send_answer(MHD_Connection* connection, const HttpAnswer& answer, bool is_refusal) {
    // The library copies the bytes and never writes to them, so the const_cast is safe.
    MHD_Response* response = MHD_create_response_from_buffer(
        answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    bool is_whole = true;
    const auto add = [&](const char* name, const std::string& value) {
        is_whole = is_whole && MHD_add_response_header(response, name, value.c_str()) == MHD_YES;
    };
    for (const auto& [name, value] : headers_of_all) add(name, value);
    add("Content-Type", answer.type);
    add("Content-Security-Policy", answer.policy);
    if (!answer.file_name.empty())
        add("Content-Disposition", "attachment; filename=\"" + answer.file_name + "\"");
    if (answer.status == 405) add("Allow", "GET, POST");
    if (is_refusal) add("Connection", "close");
    const MHD_Result sent =
        is_whole ? MHD_queue_response(connection, static_cast<unsigned>(answer.status), response) : MHD_NO;
    MHD_destroy_response(response);
    return sent;
}

}  // namespace

class HttpServer::Daemon {
  public:
    Daemon() = default;
    ~Daemon() {
        if (!mhd_) return;
        // The library must not be stopped while connections are suspended.
        for (auto& [connection, peer] : peers_)
            if (peer.is_suspended) MHD_resume_connection(connection);
        MHD_stop_daemon(mhd_);
    }

    Result<void> start(int port) {
        Result<OwnedDescriptor> listener = listening_socket(port);
        if (!listener) return listener.error();
        port_ = port_of(listener->get());
        if (changed_.get() < 0) return Error{std::string("serve: ") + std::strerror(errno)};
        mhd_ = MHD_start_daemon(
            MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, &is_peer_accepted, nullptr, &handle, this,
            MHD_OPTION_LISTEN_SOCKET, listener->get(), MHD_OPTION_CONNECTION_LIMIT, most_connections,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, most_memory, MHD_OPTION_STRICT_FOR_CLIENT, 1,
            MHD_OPTION_UNESCAPE_CALLBACK, &leave_escaped, nullptr, MHD_OPTION_URI_LOG_CALLBACK,
            &begin_request, this, MHD_OPTION_NOTIFY_COMPLETED, &end_request, this,
            MHD_OPTION_NOTIFY_CONNECTION, &begin_or_end_connection, this, MHD_OPTION_END);
        if (!mhd_) return Error{"serve: libmicrohttpd cannot start"};
        listener->release();  // the library closes the listening socket from now on
        return {};
    }

    int port() const { return port_; }

    void serve(HttpHandler& handler, int end) {
        handler_ = &handler;
        const MHD_DaemonInfo* info = MHD_get_daemon_info(mhd_, MHD_DAEMON_INFO_EPOLL_FD);
        while (true) {
            MHD_UNSIGNED_LONG_LONG wanted = 0;
            const bool is_limited = MHD_get_timeout(mhd_, &wanted) == MHD_YES;
            const int pause =
                is_limited ? static_cast<int>(std::min<std::uint64_t>(wanted, pause_ms)) : pause_ms;
            std::array<pollfd, 3> events{
                {{info->epoll_fd, POLLIN, 0}, {end, POLLIN, 0}, {changed_.get(), POLLIN, 0}}};
            if (::poll(events.data(), events.size(), pause) < 0 && errno != EINTR) return;
            if (events[1].revents != 0) return;
            std::uint64_t count = 0;
            const bool has_changed =
                events[2].revents != 0 && ::read(changed_.get(), &count, sizeof count) > 0;
            ask_again(has_changed);
            drop_late();
            MHD_run(mhd_);
        }
    }

    void wake() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(changed_.get(), &one, sizeof one);
    }

  private:
    static Daemon& of(void* daemon) { return *static_cast<Daemon*>(daemon); }

    static void begin_or_end_connection(void* daemon, MHD_Connection* connection, void**,
                                        MHD_ConnectionNotificationCode what) {
        auto& peers = of(daemon).peers_;
        if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
            peers.erase(connection);
            return;
        }
        const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        peers.insert_or_assign(connection, HttpPeer{.fd = info->connect_fd, .since = ServingClock::now()});
    }

    /// `target` is null if the request line has no target.
    static void* begin_request(void* daemon, const char* target, MHD_Connection* connection) {
        HttpPeer& peer = of(daemon).peers_.at(connection);
        peer = {.fd = peer.fd, .since = ServingClock::now()};
        if (target) peer.head.target = target;
        return nullptr;
    }

    static void end_request(void* daemon, MHD_Connection* connection, void**, MHD_RequestTerminationCode) {
        auto& peers = of(daemon).peers_;
        if (const auto peer = peers.find(connection); peer != peers.end())
            peer->second = {.fd = peer->second.fd, .since = ServingClock::now()};
    }

    static MHD_Result handle(void* daemon, MHD_Connection* connection, const char*, const char* method,
                             const char*, const char* upload, std::size_t* upload_size, void**) {
        try {
            return of(daemon).go_on(connection, method, std::string_view(upload ? upload : "", *upload_size),
                                    *upload_size);
        } catch (const std::exception&) {
            return MHD_NO;  // closes the connection
        }
    }

    /// Called by the library: first with the head, then with each part of the body, and then without a part
    /// until there is an answer.
    MHD_Result go_on(MHD_Connection* connection, const char* method, std::string_view part,
                     std::size_t& left) {
        HttpPeer& peer = peers_.at(connection);
        if (!peer.has_head) {
            peer.has_head = true;
            peer.head.method = method;
            MHD_get_connection_values_n(connection, MHD_HEADER_KIND, &take_header, &peer.head);
            if (const auto refusal = handler_->refuse(peer.head))
                return reply(connection, peer, *refusal, true);
            return MHD_YES;
        }
        if (!part.empty()) {
            if (peer.body.size() + part.size() > RequestGate::longest_body) return MHD_NO;
            peer.body += part;
            left = 0;
            return MHD_YES;
        }
        const bool must = peer.waits_until && ServingClock::now() >= *peer.waits_until;
        if (const auto answer = handler_->answer(peer.head, peer.body, must))
            return reply(connection, peer, *answer, false);
        if (!peer.waits_until) peer.waits_until = ServingClock::now() + longest_wait;
        peer.is_suspended = true;
        MHD_suspend_connection(connection);
        return MHD_YES;
    }

    static MHD_Result reply(MHD_Connection* connection, HttpPeer& peer, const HttpAnswer& answer,
                            bool is_refusal) {
        peer.is_answered = true;
        peer.since = ServingClock::now();
        return send_answer(connection, answer, is_refusal);
    }

    void ask_again(bool has_changed) {
        const auto now = ServingClock::now();
        for (auto& [connection, peer] : peers_) {
            if (!peer.is_suspended || !(has_changed || now >= *peer.waits_until)) continue;
            peer.is_suspended = false;
            MHD_resume_connection(connection);
        }
    }

    /// Shuts down connections that are too slow; the library notices this and removes them. If too many
    /// requests have no answer yet, also shuts down the connections of the oldest of these requests. Skips
    /// suspended connections, whose requests are complete and wait for the handler.
    void drop_late() {
        const auto now = ServingClock::now();
        std::vector<const HttpPeer*> unfinished;
        for (const auto& [connection, peer] : peers_) {
            if (peer.is_suspended) continue;
            if (now - peer.since > (peer.is_answered ? patience_with_readers : patience_with_requests))
                ::shutdown(peer.fd, SHUT_RDWR);
            else if (!peer.is_answered)
                unfinished.push_back(&peer);
        }
        if (unfinished.size() <= most_unfinished) return;
        const auto too_many = static_cast<std::ptrdiff_t>(unfinished.size() - most_unfinished);
        std::nth_element(unfinished.begin(), unfinished.begin() + too_many, unfinished.end(),
                         [](const HttpPeer* a, const HttpPeer* b) { return a->since < b->since; });
        std::for_each(unfinished.begin(), unfinished.begin() + too_many,
                      [](const HttpPeer* peer) { ::shutdown(peer->fd, SHUT_RDWR); });
    }

    HttpHandler* handler_ = nullptr;
    MHD_Daemon* mhd_ = nullptr;
    OwnedDescriptor changed_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    int port_ = 0;
    std::unordered_map<MHD_Connection*, HttpPeer> peers_;
};

HttpServer::HttpServer(std::unique_ptr<Daemon> daemon) : daemon_(std::move(daemon)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(int port) {
    auto daemon = std::make_unique<Daemon>();
    if (const Result<void> started = daemon->start(port); !started) return started.error();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(daemon)));
}

int HttpServer::port() const {
    return daemon_->port();
}

void HttpServer::serve(HttpHandler& handler, int end) {
    daemon_->serve(handler, end);
}

void HttpServer::wake() {
    daemon_->wake();
}

}  // namespace rematlas
