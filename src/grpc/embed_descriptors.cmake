# Writes the bytes of INPUT as a C++ array to OUTPUT.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(
    WRITE "${OUTPUT}"
    "#include \"grpc/descriptor_index.h\"

namespace sluice::grpc {

namespace {
constexpr unsigned char kDescriptors[] = {
    ${bytes}};
}  // namespace

std::string_view embedded_descriptors() {
    return {reinterpret_cast<const char*>(kDescriptors), sizeof(kDescriptors)};
}

}  // namespace sluice::grpc
")
