// Marks what the shared library exports; all other symbols are hidden.
#ifndef SLUICE_EXPORT_H_
#define SLUICE_EXPORT_H_

#define SLUICE_EXPORT __attribute__((visibility("default")))

#endif  // SLUICE_EXPORT_H_
