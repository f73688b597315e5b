// Writes text in the man(7) macros of roff.
#ifndef SLUICE_CLI_ROFF_H_
#define SLUICE_CLI_ROFF_H_

#include <string>
#include <string_view>

namespace sluice::cli {

// A page in the making. Each method appends; text is escaped. Owned by one thread.
class RoffPage {
  public:
    struct Title {
        std::string_view name;     // "sluice-serve"
        std::string_view section;  // "1"
        std::string_view date;     // "2026-11-18"
        std::string_view source;   // "sluice 0.2.0"
        std::string_view manual;   // "Sluice manual"
    };
    explicit RoffPage(const Title& title);

    void section(std::string_view name);
    void subsection(std::string_view name);
    void paragraph(std::string_view text);
    // A tagged paragraph: the tag in bold, the rest of its line in italics, and text below.
    void item(std::string_view tag, std::string_view value, std::string_view text);
    // A further line of the last item.
    void more(std::string_view text);
    // Text as in --help: paragraphs, and lines that begin with spaces, which are shown as they are.
    void help(std::string_view text);

    const std::string& text() const { return out_; }

  private:
    void begin_paragraph();
    void prose(std::string_view text);

    std::string out_;
    bool is_at_heading_ = false;
};

}  // namespace sluice::cli

#endif  // SLUICE_CLI_ROFF_H_
