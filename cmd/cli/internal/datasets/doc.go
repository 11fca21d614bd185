// Package datasets downloads the public data sets of the example configs. A file gets its
// name only after its published checksum was verified; an interrupted download resumes where it
// stopped; and mirrors are tried in turn.
package datasets
