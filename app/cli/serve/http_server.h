// HTTP on 127.0.0.1, by libmicrohttpd, in one thread: it hands over heads and whole bodies, and sends
// answers.
//
// Whoever connects gets little to hold on to: a head must fit in 32 KiB, a request must be there as a whole
// 10 seconds after it began, of very many connections without a whole request the oldest are closed, and so
// is each after a refusal. Nobody waits for anybody else, and neither does the end.
//
//     Result<std::unique_ptr<HttpServer>> server = HttpServer::listen(0);
//     server->get()->serve(handler, end);
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/cli/serve/request_gate.h"
#include "core/base/result.h"

namespace rematlas {

struct HttpAnswer {
    int status = 200;
    std::string type;
    std::string body;
    std::string policy = "default-src 'none'; frame-ancestors 'none'";  ///< Content-Security-Policy
    std::string file_name = {};  ///< where the answer is a file to keep
};

/// Called from the thread that serves.
class HttpHandler {
  public:
    virtual ~HttpHandler() = default;
    /// Before the body of a request is read. None: the request is admitted.
    virtual std::optional<HttpAnswer> refuse(const RequestHead& head) = 0;
    /// None: there is nothing to tell yet. Then it is asked again after each `HttpServer::wake`, and at last
    /// with `must` after 20 seconds.
    virtual std::optional<HttpAnswer> answer(const RequestHead& head, const std::string& body, bool must) = 0;
};

class HttpServer {
  public:
    /// Port 0 takes a free one. Errors: the port is taken, or not ours.
    static Result<std::unique_ptr<HttpServer>> listen(int port);
    ~HttpServer();

    int port() const;
    /// Returns as soon as the descriptor `end` can be read.
    void serve(HttpHandler& handler, int end);
    /// Requests that wait are asked for again. May be called from any thread.
    void wake();

  private:
    class Daemon;
    explicit HttpServer(std::unique_ptr<Daemon> daemon);

    std::unique_ptr<Daemon> daemon_;
};

}  // namespace rematlas
