// Package violation collects everything that is wrong in a configuration, so that
// all of it is reported at once: which key or option, the value found, what was
// expected. Each package checks its own section by a [List]; the package that
// composes sections includes their errors under the names of the sections.
package violation
