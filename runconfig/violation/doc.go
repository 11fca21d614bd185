// Package violation collects all mistakes in a configuration, so that they are reported
// at once: the key or option, the value found, and what was expected. Each package
// checks its own section with a [List]. The package that composes sections includes
// their errors under the names of the sections.
package violation
