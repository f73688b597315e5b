// Measures how long a thread is busy with one request body of 1 MiB, of a harmless shape and of
// those that a hostile client would send: reading it, and writing the answer to the errors found.
//
//     body_bench [FILE]      writes the figures as JSON to FILE
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "http/api/body_reader.h"
#include "http/api/body_shapes.h"
#include "http/api/error_answer.h"

namespace {

using namespace sluice::http;

constexpr int kRounds = 25;

// CPU time of this thread: other processes may share the machine.
double milliseconds_of_thread() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The median of several rounds; a reader and a reply are reused, as by a serving thread.
double milliseconds_for(const BodyShape& shape) {
    BodyReader reader;
    FieldErrors errors;
    std::vector<Fields> items;
    Reply reply;
    std::vector<double> rounds;
    for (int i = 0; i < kRounds; ++i) {
        const double start = milliseconds_of_thread();
        errors.clear();
        if (shape.schema.empty()) {
            reader.read_array(shape.body, kBatchItemSchema, items, errors);
        } else {
            Fields fields;
            reader.read_object(shape.body, shape.schema, fields, errors);
        }
        if (!errors.empty()) {
            write_error({.status = 400,
                         .request_id = "req",
                         .detail = "",
                         .accept = "",
                         .field_errors = &errors},
                        reply);
        }
        rounds.push_back(milliseconds_of_thread() - start);
    }
    std::ranges::sort(rounds);
    return rounds[rounds.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    std::string json;
    double longest = 0;
    for (const BodyShape& shape : body_shapes(std::size_t{1} << 20U)) {
        const double took = milliseconds_for(shape);
        longest = std::max(longest, took);
        std::printf("%7.3f ms  %s\n", took, std::string(shape.name).c_str());
        json += "\"" + std::string(shape.name) + "\": " + std::to_string(took) + ",\n ";
    }
    std::printf("%7.3f ms  the longest\n", longest);
    if (argc > 1) std::ofstream(argv[1]) << "{" << json << "\"longest_ms\": " << longest << "}\n";
    return 0;
}
