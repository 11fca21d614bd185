// Package snippets reads the fenced blocks of the Markdown pages; its tests run them.
//
// A fence's info string is the language and then options:
//
//	sh                     commands, run by bash; the blocks of a page run in order, in one new folder
//	text output            the output of the block before; "..." stands for any lines, and numbers with a fraction are not compared
//	yaml file=NAME         a file, written before the blocks after it run; also for go, python and others
//	go file=NAME           the same; a program that imports goestimator is built and run
//	yaml                   a part of a config; the test fails if it does not load
//	sh skip="REASON"       not run, for this reason
package snippets
