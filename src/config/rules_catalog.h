// The settings of gRPC and of the rate-limit service: a part of the catalog.
#ifndef SLUICE_CONFIG_RULES_CATALOG_H_
#define SLUICE_CONFIG_RULES_CATALOG_H_

#include <span>

#include "config/catalog.h"

namespace sluice::config {

std::span<const Setting> rules_catalog();

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_RULES_CATALOG_H_
