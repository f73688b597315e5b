// The settings of traces: a part of the catalog.
#ifndef SLUICE_CONFIG_TRACE_CATALOG_H_
#define SLUICE_CONFIG_TRACE_CATALOG_H_

#include <span>

#include "config/catalog.h"

namespace sluice::config {

std::span<const Setting> trace_catalog();

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_TRACE_CATALOG_H_
