// What a scrape reads of the limiter and the tracer, as the metrics show it.
#ifndef SLUICE_SERVER_READINGS_H_
#define SLUICE_SERVER_READINGS_H_

#include <sluice/types.h>

#include "metrics/metrics.h"
#include "trace/tracer.h"

namespace sluice::server {

metrics::OriginReadings readings_of(const OriginStats& stats);
metrics::GlobalReadings readings_of(const GlobalStats& stats);
metrics::BusReadings readings_of(const BusStats& stats);
metrics::TraceReadings readings_of(const trace::TracerStats& stats);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_READINGS_H_
