// Package datasets downloads the public data sets of the example configs: each file is
// checked against a published checksum before it gets its name, a download that broke off
// goes on where it ended, and mirrors are tried in turn.
package datasets
