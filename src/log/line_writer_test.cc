#include "log/line_writer.h"

#include <array>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kTimeout{30};

// A pipe that holds one page, or as little as the system allows.
class Pipe {
  public:
    Pipe() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) std::abort();
        ::fcntl(ends_[1], F_SETPIPE_SZ, 4096);
    }
    ~Pipe() {
        close_reader();
        ::close(ends_[1]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int writer() const { return ends_[1]; }

    // Writes until no more fits.
    void fill() const {
        ::fcntl(writer(), F_SETFL, O_NONBLOCK);
        const std::string bytes(4096, '.');
        while (::write(writer(), bytes.data(), bytes.size()) > 0) {
        }
        ::fcntl(writer(), F_SETFL, 0);
    }

    // Reads until `is_enough` of all that was read.
    template <class Enough>
    std::string read_to(Enough is_enough) const {
        std::string text;
        std::array<char, 4096> piece;
        while (!is_enough(text)) {
            const ssize_t size = ::read(ends_[0], piece.data(), piece.size());
            if (size <= 0) break;
            text.append(piece.data(), static_cast<std::size_t>(size));
        }
        return text;
    }

    // Reads until `end` has come; all of it.
    std::string read_until(const std::string& end) const {
        return read_to(
            [&](const std::string& text) { return text.find(end) != std::string::npos; });
    }

    void close_reader() {
        if (ends_[0] >= 0) ::close(ends_[0]);
        ends_[0] = -1;
    }

  private:
    std::array<int, 2> ends_{-1, -1};
};

std::string notice(std::uint64_t lines) {
    return "dropped " + std::to_string(lines) + "\n";
}

TEST(LineWriter, WritesLinesInOrder) {
    const Pipe pipe;
    LineWriter writer({.descriptor = pipe.writer()});
    std::string expected;
    for (int i = 0; i < 100; ++i) {
        const std::string line = std::to_string(i) + "\n";
        writer.append(line);
        expected += line;
    }
    EXPECT_EQ(pipe.read_until("99\n"), expected);
    EXPECT_TRUE(writer.flush(kTimeout));
    EXPECT_EQ(writer.dropped(), 0U);
}

TEST(LineWriter, DropsAndCountsLinesWhileThePipeIsBlocked) {
    const Pipe pipe;
    pipe.fill();
    const std::string line(99, 'x');
    LineWriter writer({.descriptor = pipe.writer(), .capacity = 1000, .close_timeout = 0ms});
    for (int i = 0; i < 1000; ++i)
        writer.append(line + "\n");
    // Ten wait in the queue and up to ten more in the hands of the thread.
    EXPECT_GE(writer.dropped(), 980U);
    EXPECT_LE(writer.dropped(), 990U);
    EXPECT_FALSE(writer.flush(1ms));
}

// The sum of what all notices in `text` say.
std::uint64_t reported_in(const std::string& text) {
    const std::string word = "dropped ";
    std::uint64_t lines = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
        at += word.size();
        lines += std::stoull(text.substr(at));
    }
    return lines;
}

std::size_t count_of(const std::string& text, const std::string& line) {
    std::size_t lines = 0;
    for (std::size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1))
        ++lines;
    return lines;
}

// One notice or two: the writing thread may take the first line together with the start of a gap.
TEST(LineWriter, ReportsDroppedLinesInTheirPlace) {
    const Pipe pipe;
    pipe.fill();
    LineWriter writer({.descriptor = pipe.writer(), .capacity = 100, .describe_dropped = notice});
    writer.append("first\n");
    for (int i = 0; i < 1000; ++i)
        writer.append("middle\n");
    const std::uint64_t dropped = writer.dropped();
    ASSERT_GT(dropped, 0U);
    const std::string before = pipe.read_to([dropped](const std::string& text) {
        return text.ends_with('\n') && reported_in(text) >= dropped;
    });
    EXPECT_EQ(reported_in(before), dropped);
    EXPECT_EQ(count_of(before, "first\n"), 1U);
    EXPECT_EQ(count_of(before, "middle\n"), 1000U - dropped);
    EXPECT_LT(before.find("first\n"), before.find("middle\ndropped "));
    EXPECT_NE(before.find("middle\ndropped "), std::string::npos);
    writer.append("last\n");
    EXPECT_EQ(pipe.read_until("last\n"), "last\n");
    EXPECT_EQ(writer.dropped(), dropped) << "the line that reports them is not among them";
}

TEST(LineWriter, EndsInTimeWhileThePipeIsBlocked) {
    const Pipe pipe;
    pipe.fill();
    const auto began = std::chrono::steady_clock::now();
    {
        LineWriter writer({.descriptor = pipe.writer(), .close_timeout = 10ms});
        writer.append("unread\n");
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, kTimeout);
}

TEST(LineWriter, WritesQueuedLinesBeforeItEnds) {
    const Pipe pipe;
    pipe.fill();
    auto reader = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(20ms);
        return pipe.read_until("last\n");
    });
    {
        LineWriter writer({.descriptor = pipe.writer(), .close_timeout = kTimeout});
        writer.append("last\n");
    }
    EXPECT_TRUE(reader.get().ends_with("last\n"));
}

TEST(LineWriter, CountsLinesThatTheDescriptorRefuses) {
    Pipe pipe;
    pipe.close_reader();
    LineWriter writer({.descriptor = pipe.writer(), .describe_dropped = notice});
    writer.append("one\n");
    EXPECT_TRUE(writer.flush(kTimeout));
    writer.append("two\n");
    EXPECT_TRUE(writer.flush(kTimeout));
    EXPECT_EQ(writer.dropped(), 2U);

    LineWriter without({.descriptor = -1});
    without.append("one\n");
    EXPECT_TRUE(without.flush(kTimeout));
    EXPECT_EQ(without.dropped(), 1U);
}

// Not by operator+, in which GCC sees copies out of bounds where there are none.
std::string line_of(std::size_t letters, char letter) {
    std::string line(letters + 1, letter);
    line.back() = '\n';
    return line;
}

TEST(LineWriter, WritesALineThatIsLongerThanOneWrite) {
    const Pipe pipe;
    LineWriter writer({.descriptor = pipe.writer()});
    const std::string line = line_of(100'000, 'x');
    writer.append(line);
    EXPECT_EQ(pipe.read_until("\n"), line);
}

TEST(LineWriter, LinesOfSeveralThreadsStayWhole) {
    const Pipe pipe;
    LineWriter writer({.descriptor = pipe.writer()});
    std::vector<std::thread> threads;
    for (const char letter : {'a', 'b', 'c', 'd'}) {
        threads.emplace_back([&writer, letter] {
            for (int i = 0; i < 500; ++i)
                writer.append(line_of(50, letter));
        });
    }
    auto reader = std::async(std::launch::async, [&] { return pipe.read_until("end\n"); });
    for (std::thread& thread : threads)
        thread.join();
    writer.append("end\n");
    const std::string text = reader.get();
    ASSERT_EQ(text.size(), 4U * 500U * 51U + 4U);
    for (std::size_t at = 0; at + 4 < text.size(); at += 51) {
        EXPECT_EQ(text.substr(at, 51), line_of(50, text[at]));
        if (testing::Test::HasFailure()) break;
    }
}

}  // namespace
}  // namespace sluice
