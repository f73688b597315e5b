// The metrics of a limiter and a tracer, read from their statistics.
#ifndef SLUICE_SERVER_READINGS_H_
#define SLUICE_SERVER_READINGS_H_

#include <sluice/limiter.h>

#include "metrics/metrics.h"
#include "trace/tracer.h"

namespace sluice::server {

// Leaves the readings of what is not the limiter's as they are by default.
metrics::Readings readings_of(const Stats& stats);
metrics::TraceReadings readings_of(const trace::TracerStats& stats);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_READINGS_H_
