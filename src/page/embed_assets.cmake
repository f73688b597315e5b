# Writes the files of the web page as C++ arrays to OUTPUT, each as it is and compressed.
#
#     cmake -DFILES=index.html;app.js -DFOLDER=web -DGZIP=/bin/gzip -DOUTPUT=assets.cc -P embed_assets.cmake
function(content_type_of name result)
    set(types_html "text/html; charset=utf-8")
    set(types_css "text/css; charset=utf-8")
    set(types_js "text/javascript; charset=utf-8")
    set(types_svg "image/svg+xml")
    cmake_path(GET name EXTENSION LAST_ONLY extension)
    string(SUBSTRING "${extension}" 1 -1 extension)
    if(NOT DEFINED types_${extension})
        message(FATAL_ERROR "${name}: the page has no content type for .${extension}")
    endif()
    set(${result} "${types_${extension}}" PARENT_SCOPE)
endfunction()

function(bytes_of file result)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    set(${result} "${bytes}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(entries "")
set(index 0)
foreach(name IN LISTS FILES)
    set(source "${FOLDER}/${name}")
    # -n leaves out the name and the time, so that the same input gives the same output.
    execute_process(
        COMMAND "${GZIP}" -9 -n -c "${source}" OUTPUT_FILE "${OUTPUT}.gz" COMMAND_ERROR_IS_FATAL ANY)
    bytes_of("${source}" plain)
    bytes_of("${OUTPUT}.gz" compressed)
    file(SHA256 "${source}" digest)
    string(SUBSTRING "${digest}" 0 16 digest)
    content_type_of("${name}" type)
    set(path "/${name}")
    if(name STREQUAL "index.html")
        set(path "/")
    elseif(name MATCHES "^report/")
        # No request has a path without a slash at its start.
        set(path "${name}")
    endif()
    string(APPEND arrays "constexpr unsigned char kPlain${index}[] = {${plain}};\n"
           "constexpr unsigned char kGzip${index}[] = {${compressed}};\n")
    string(APPEND entries "    Asset{\"${path}\", \"${type}\", \"${digest}\", text_of(kPlain${index}), "
           "text_of(kGzip${index})},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(REMOVE "${OUTPUT}.gz")
file(
    WRITE "${OUTPUT}"
    "#include <array>
#include <cstddef>

#include \"page/assets.h\"

namespace sluice::page {

namespace {

template <std::size_t kSize>
std::string_view text_of(const unsigned char (&bytes)[kSize]) {
    return {reinterpret_cast<const char*>(bytes), kSize};
}

${arrays}
}  // namespace

std::span<const Asset> assets() {
    static const std::array<Asset, ${index}> kAssets = {{
${entries}    }};
    return kAssets;
}

}  // namespace sluice::page
")
