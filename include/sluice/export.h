// What the shared library exports. Everything else in it is hidden.
#ifndef SLUICE_EXPORT_H_
#define SLUICE_EXPORT_H_

#define SLUICE_EXPORT __attribute__((visibility("default")))

#endif  // SLUICE_EXPORT_H_
