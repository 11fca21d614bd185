// Package accept holds the tests that run the binary for a long time: training
// to a given accuracy, kills at random moments, crashes at every step of saving.
// They run with GOESTIMATOR_ACCEPT=1 (`make accept`). GOESTIMATOR_ACCEPT=short
// runs a form of about a minute each, as CI does. Otherwise they are skipped. The
// tests of exports and serving have a form of a few seconds that always runs.
package accept
