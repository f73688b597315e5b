// Finds where an HTTP answer ends, as far as a load generator cares.
#ifndef SLUICE_CLI_ANSWER_READER_H_
#define SLUICE_CLI_ANSWER_READER_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::cli {

struct AnswerExtent {
    int status;
    std::size_t size;  // of head and body together
    bool closes;       // the server closes the connection after it
};

enum class AnswerFault { kNone, kMore, kMalformed };

struct AnswerFound {
    AnswerFault fault;
    AnswerExtent extent;
};

// Looks at the bytes received so far. kMore: the answer is not complete. kMalformed: no HTTP, or
// without a length.
AnswerFound find_answer(std::string_view received);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_ANSWER_READER_H_
