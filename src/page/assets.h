// The files of the web page, embedded in the program when it is built.
#ifndef SLUICE_PAGE_ASSETS_H_
#define SLUICE_PAGE_ASSETS_H_

#include <span>
#include <string_view>

namespace sluice::page {

struct Asset {
    // As requested: "/" for index.html, "/app.js". What is not served, but used in reports, has no
    // slash at its start: "report/simulation.js".
    std::string_view path;
    std::string_view content_type;
    std::string_view digest;  // of the content, in hexadecimal digits
    std::string_view content;
    std::string_view gzip;  // the content, compressed
};

// All files of the folder web/. Thread-safe.
std::span<const Asset> assets();

// Returns the file that is served at `path`; null if there is none.
const Asset* find_asset(std::string_view path);

}  // namespace sluice::page

#endif  // SLUICE_PAGE_ASSETS_H_
