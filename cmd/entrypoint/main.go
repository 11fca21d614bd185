//go:build unix

// Command entrypoint is the first process of the project's containers. It becomes goestimator with the container's
// arguments, and has `serve` listen at all addresses, because what comes from outside does not come to a
// container's loopback. A later --host wins.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// program is where the Dockerfile puts goestimator.
const program = "/usr/local/bin/goestimator"

func main() {
	err := syscall.Exec(program, append([]string{program}, arguments(os.Args[1:])...), os.Environ())
	fmt.Fprintf(os.Stderr, "entrypoint: start %s: %v\n", program, err)
	os.Exit(1)
}

// arguments are goestimator's, from a container's. The command is the first word that is no flag, nor a flag's value.
func arguments(args []string) []string {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		if args[i] == "--log-format" { // the one flag before commands that has a value
			i++
		}
		i++
	}
	if i >= len(args) || args[i] != "serve" {
		return args
	}
	return slices.Insert(slices.Clone(args), i+1, "--host", "0.0.0.0")
}
