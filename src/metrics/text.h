// Prometheus' text format, version 0.0.4.
#ifndef SLUICE_METRICS_TEXT_H_
#define SLUICE_METRICS_TEXT_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "metrics/names.h"

namespace sluice::metrics {

struct Label {
    std::string_view name;
    std::string_view value;  // any bytes; they are escaped, and what is not UTF-8 is replaced
};
using Labels = std::initializer_list<Label>;

// Appends one metric after the other to a text. All samples of a name must follow its heading.
//
// Thread-compatible.
class Text {
  public:
    explicit Text(std::string& out) : out_(out) {}

    // The help and type of the samples that follow.
    void begin(const Name& name);

    // `suffix` is appended to the name, as a histogram's samples have it.
    void sample(Labels labels, std::uint64_t value, std::string_view suffix = "");
    void sample(Labels labels, double value, std::string_view suffix = "");

    // A metric with a single sample.
    void single(const Name& name, std::uint64_t value);

  private:
    void write_name(Labels labels, std::string_view suffix);

    std::string& out_;
    std::string_view name_;
};

// A number in the format's notation, with the fewest digits that identify it.
std::string to_text(double value);

}  // namespace sluice::metrics

#endif  // SLUICE_METRICS_TEXT_H_
