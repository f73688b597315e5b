// The answers of a call that several servers answer in parts.
#ifndef SLUICE_REGIONAL_REDIS_ANSWER_BATCH_H_
#define SLUICE_REGIONAL_REDIS_ANSWER_BATCH_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace sluice {

// The answers of one call, by key. They are delivered together with the last of them.
template <class Answer>
struct AnswerBatch {
    using Done = std::function<void(std::vector<Answer>)>;

    AnswerBatch(std::size_t size, Done deliver)
        : answers(size), missing(size), done(std::move(deliver)) {}

    void count_down(std::size_t answered) {
        missing -= answered;
        if (missing == 0) done(std::move(answers));
    }

    std::vector<Answer> answers;
    std::size_t missing;
    Done done;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_ANSWER_BATCH_H_
