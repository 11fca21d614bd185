// Package cli is the command line of goestimator: every command, importable, so
// that a binary with models and inputs of its own has them all:
//
//	func main() { cli.Main(cli.WithModel("mine", modelFn), cli.WithInput("mydata", inputFn)) }
//
// Logs go to standard error, results to standard output. Exit codes: 0 done, 1
// a run-time error, 2 usage or configuration, 138 retryable, 143 stopped by a
// signal after a checkpoint was written.
package cli
