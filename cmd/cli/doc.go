// Package cli is the command line of goestimator. It is importable, so that
// a binary with its own models and inputs has every command:
//
//	func main() { cli.Main(cli.WithModel("mine", modelFn), cli.WithInput("mydata", inputFn)) }
//
// Logs go to standard error, results to standard output. Exit codes: 0 done, 1
// a run-time error, 2 usage or configuration, 138 retryable, 143 stopped by a
// signal after a checkpoint was written.
package cli
