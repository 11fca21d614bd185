//go:build unix

// Command entrypoint is the first process of the project's containers. It executes goestimator with the container's
// arguments, and makes `serve` listen on all addresses, since connections from outside do not reach a
// container's loopback address. A --host among the arguments takes precedence.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// program is the path of goestimator in the image.
const program = "/usr/local/bin/goestimator"

func main() {
	err := syscall.Exec(program, append([]string{program}, arguments(os.Args[1:])...), os.Environ())
	fmt.Fprintf(os.Stderr, "entrypoint: start %s: %v\n", program, err)
	os.Exit(1)
}

// arguments converts a container's arguments to goestimator's. The command is the first word that is neither a flag nor a flag's value.
func arguments(args []string) []string {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		if args[i] == "--log-format" { // the only flag before commands that takes a value
			i++
		}
		i++
	}
	if i >= len(args) || args[i] != "serve" {
		return args
	}
	return slices.Insert(slices.Clone(args), i+1, "--host", "0.0.0.0")
}
