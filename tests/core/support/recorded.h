// Compares answers with those recorded in a text file next to the test, one answer per line.
//
//     Recorded recorded(__FILE__, "bounds");
//     recorded.expect("a GPT at 40 %, one moment", bound.time, "ns");
//
// Other tests check that an answer is right. These tests check that no answer changes unnoticed. Equal
// arguments give equal answers on every machine, so a change of a search, of a tie or of a rounding appears
// here, with the amount by which it made the answers better or worse. If a change is intended, run the tests
// with REMATLAS_RECORD=1, which writes the files anew, and review the difference before the commit.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/schedule/schedule.h"

namespace rematlas {

class Recorded {
  public:
    /// Reads the file `name`.txt in the folder of `test`, which is the path of a source file.
    Recorded(const char* test, std::string_view name);
    /// Writes the file if REMATLAS_RECORD is set.
    ~Recorded();
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

    /// Checks that the file has this answer under `name`. `parts` are the parts of the answer; they are
    /// joined by spaces.
    template <class... Parts>
    void expect(const std::string& name, const Parts&... parts) {
        std::ostringstream text;
        ((text << parts << ' '), ...);
        expect_text(name, std::move(text).str());
    }

  private:
    void expect_text(const std::string& name, std::string answer);

    std::string file_;
    bool writes_ = false;
    std::map<std::string, std::string> known_, seen_;
};

/// Returns a short text that almost certainly differs for different numbers.
std::string digest(std::span<const std::int64_t> numbers);
std::string digest(std::span<const std::int32_t> numbers);
std::string digest(std::span<const Step> steps);

}  // namespace rematlas
