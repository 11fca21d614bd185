package main

import (
	"debug/buildinfo"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	kinds := map[string]func([]module, *buildinfo.BuildInfo) ([]byte, error){"notices": notices, "sbom": sbom}
	if len(args) == 0 || kinds[args[0]] == nil {
		return fmt.Errorf("got %q, expected notices or sbom", args)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	out := flags.String("o", "", "the file that is written; empty: standard output")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("got %q, expected one binary", flags.Args())
	}
	info, err := buildinfo.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	modules, err := linked(info)
	if err != nil {
		return err
	}
	text, err := kinds[args[0]](modules, info)
	if err != nil {
		return err
	}
	if *out == "" {
		_, err = stdout.Write(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(*out, text, 0o644)
}
