// Command docgen writes docs/config.md from the Go type of the config file, its doc
// comments and its defaults. Run it by go generate in the folder of package config.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "../..", "folder of the module")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	text, err := render(*root)
	if err == nil {
		err = os.WriteFile(*out, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}
