// Command docgen writes docs/config.md from the Go type of the config file, its doc
// comments and its defaults. Run it by go generate in the folder runconfig.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	src := flag.String("src", ".", "folder of package runconfig")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	text, err := render(*src)
	if err == nil {
		err = os.WriteFile(*out, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}
