// Package snippets reads the fenced blocks of the Markdown pages; its tests run them.
//
// A fence's info string is the language and then options:
//
//	sh                     commands, run by bash; the blocks of a page run in order, in one new folder
//	text output            what the block before it prints, with "..." for any lines; numbers with a fraction are not compared
//	yaml file=NAME         a file, written before the blocks behind it run; go, python and others likewise
//	go file=NAME           likewise; a program that imports goestimator is built and run
//	yaml                   a part of a config, which must load
//	sh skip="REASON"       not run, and why
package snippets
