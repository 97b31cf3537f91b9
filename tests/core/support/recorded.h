// Answers as they were when somebody last looked at them, in a text file beside the test: a line each.
//
//     Recorded recorded(__FILE__, "bounds");
//     recorded.expect("a GPT at 40 %, one moment", bound.time, "ns");
//
// What an answer must be is said by other tests. These say that it did not change unnoticed: equal arguments
// give equal answers on every machine, so a change of a search, of a tie or of a rounding shows here, and how
// much better or worse it made the answers. Where a change is meant, run the tests with REMATLAS_RECORD=1,
// which writes the files anew, and look at the difference before it is committed.
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
    /// Of the file `name`.txt in the folder of `test`, a source file.
    Recorded(const char* test, std::string_view name);
    /// Where it was asked for: writes the file.
    ~Recorded();
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

    /// The parts of the answer, with spaces between, must be what stands in the file under this name.
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

/// A few letters that differ when the numbers do.
std::string digest(std::span<const std::int64_t> numbers);
std::string digest(std::span<const std::int32_t> numbers);
std::string digest(std::span<const Step> steps);

}  // namespace rematlas
