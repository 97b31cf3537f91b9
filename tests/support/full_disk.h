// Imitates a full disk: while an object of this class exists, this process cannot write files longer than the
// given number of bytes.
//
//     const FullDisk full(1000);
//     EXPECT_FALSE(write_file(path, text));
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace rematlas {

class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit little{bytes, before_.rlim_max};
        handler_ = std::signal(SIGXFSZ, SIG_IGN);  // otherwise the failing write would end the process
        setrlimit(RLIMIT_FSIZE, &little);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

  private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
};

}  // namespace rematlas
