// Command mutate measures how many errors the tests find. It draws functions uniformly
// from the packages below some folders, makes one error in each, and runs the tests
// of the package and of the packages that import it. A mutant that no test
// finds survives: a test is missing, or the mutant is equivalent.
//
//	go run ./scripts/mutate -seed 1 -n 100 -results mutants.jsonl
//	go run ./scripts/mutate -seed 1 -n 100 -list      # prints the mutants without running tests
//	go run ./scripts/mutate -seed 1 -only 17          # runs one of them again
//
// The working tree is not changed: the compiler reads the changed files through an
// overlay. A run that is started again with the same results file continues. A
// mutant stays in the list of its seed as long as its function is not changed, so
// a survivor can be run again when there is a test for it: delete its line in the
// results file first.
package main
