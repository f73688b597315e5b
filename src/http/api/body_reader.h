// Reads the JSON body of a request and reports everything that is wrong with it.
#ifndef SLUICE_HTTP_API_BODY_READER_H_
#define SLUICE_HTTP_API_BODY_READER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "http/api/fields.h"
#include "http/api/problems.h"

namespace sluice::http {

// Thread-compatible: each serving thread has one, whose memory all its requests share. The texts in
// a result stay valid until the next call.
//
// A body is good if it is JSON, has the schema's fields and no other, each once, of the right type
// and within its range; text must be Unicode. Otherwise `problems` tells each fault: the first byte
// that is not JSON, or else every field that breaks a rule.
class BodyReader {
  public:
    BodyReader();
    ~BodyReader();
    BodyReader(const BodyReader&) = delete;
    BodyReader& operator=(const BodyReader&) = delete;

    // One object. `fields` is meaningful only if there is no problem.
    void read_object(std::string_view body, Schema schema, Fields& fields, Problems& problems);

    // An array of 1 to 100 objects.
    void read_array(std::string_view body,
                    Schema schema,
                    std::vector<Fields>& items,
                    Problems& problems);

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_BODY_READER_H_
