// Package accept holds the tests that run the binary for long: training to
// accuracy, kills at random moments, crashes inside every step of saving. They
// run with GOESTIMATOR_ACCEPT=1 (`make accept`); GOESTIMATOR_ACCEPT=short runs
// a form of about a minute each, as CI does; otherwise they are skipped. The
// tests of exports and of serving have a form of seconds, which always runs.
package accept
