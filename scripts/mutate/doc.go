// Command mutate measures how much the tests notice. It draws functions uniformly from
// the packages below some folders, breaks one thing in each, and runs the tests
// of the package and of the packages that import it. A mutant that no test
// notices survives: it is a missing test, or the mutant is equivalent.
//
//	go run ./scripts/mutate -seed 1 -n 100 -results mutants.jsonl
//	go run ./scripts/mutate -seed 1 -n 100 -list      # shows the mutants, runs nothing
//	go run ./scripts/mutate -seed 1 -only 17          # runs one of them again
//
// The working tree is not changed: the compiler reads broken files through an
// overlay. A run that is started again with the same results file goes on. A
// mutant stays in the list of its seed while its function is not changed, so
// that a survivor can be run again once there is a test for it; its line in the
// file of results is deleted for that.
package main
